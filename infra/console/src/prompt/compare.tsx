// Two prompts beside each other: what each block took, and which items only one of them has.
import type { Item, PromptRecord } from '../api/types';
import { count, itemKind, plural, words } from '../format';
import { link, setQuery } from '../route';
import { Bar, usage } from './bar';
import { isIncluded } from './parts';

export function Compare({ a, b }: { a: PromptRecord; b: PromptRecord }) {
  const names = [...new Set([...a.manifest!.blocks, ...(b.manifest?.blocks ?? [])].map((block) => block.name))];
  const most = Math.max(a.tokens.total, b.tokens.total);
  const rows = names.map((name) => ({ name, a: blockOf(a, name), b: blockOf(b, name) })).filter((r) => r.a || r.b);
  return (
    <section class="compare">
      <h2>Compared</h2>
      <p>
        <button type="button" class="quiet" onClick={() => setQuery({ with: undefined })}>
          Back to one prompt
        </button>
      </p>
      <div class="two">
        <Title prompt={a} most={most} name="This one" />
        <Title prompt={b} most={most} name="The other" />
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Blocks compared">
        <table>
          <thead>
            <tr>
              <th>Block</th>
              <th class="number">This one</th>
              <th class="number">The other</th>
              <th class="number">Difference</th>
              <th>Only in this one</th>
              <th>Only in the other</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((r) => (
              <tr key={r.name}>
                <th scope="row">{words(r.name)}</th>
                <td class="number">{count(r.a?.tokens ?? 0)}</td>
                <td class="number">{count(r.b?.tokens ?? 0)}</td>
                <td class="number">{difference((r.b?.tokens ?? 0) - (r.a?.tokens ?? 0))}</td>
                <td>{only(r.a?.items, r.b?.items)}</td>
                <td>{only(r.b?.items, r.a?.items)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Title({ prompt, most, name }: { prompt: PromptRecord; most: number; name: string }) {
  return (
    <div>
      <h3>
        {name}: <a href={link('prompt', prompt.promptId)}>{prompt.recipe}</a>
      </h3>
      <Bar blocks={prompt.manifest?.blocks ?? []} of={most} label={usage(prompt)} />
      <p class="soft">{usage(prompt)}</p>
    </div>
  );
}

const blockOf = (p: PromptRecord, name: string) => p.manifest?.blocks.find((b) => b.name === name && b.items.some(isIncluded));

const difference = (n: number) => (n === 0 ? '' : n > 0 ? `+${count(n)}` : `−${count(-n)}`);

const pluralOf = (kind: string) => (kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : kind.endsWith('s') ? kind : `${kind}s`);

/** The kinds of the items that went into one prompt and not into the other. */
function only(items: Item[] = [], others: Item[] = []): string {
  const ids = new Set(others.filter(isIncluded).map((i) => i.id));
  const kinds = new Map<string, number>();
  for (const item of items.filter(isIncluded)) {
    if (!ids.has(item.id)) kinds.set(itemKind(item), (kinds.get(itemKind(item)) ?? 0) + 1);
  }
  return [...kinds].map(([kind, n]) => plural(n, kind.toLowerCase(), pluralOf(kind.toLowerCase()))).join(', ');
}
