// One block of a prompt with its items.
import { useSignal } from '@preact/signals';
import type { Block, Item, PromptRecord } from '../api/types';
import { age, contextLabel, count, itemKind, score, words } from '../format';
import { link } from '../route';
import { ItemDetail } from './item-detail';
import { sourceOf } from './parts';

export function BlockView({ block, prompt }: { block: Block; prompt: PromptRecord }) {
  return (
    <section class="block">
      <header>
        <i class={sourceOf(block)} />
        <h2>{words(block.name)}</h2>
        <span class="number">{count(block.tokens)} tokens</span>
        {block.cap && <span class="soft">at most {block.cap}</span>}
      </header>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Items of ${words(block.name)}`}>
        <table>
          <thead>
            <tr>
              <th>Item</th>
              <th>Source</th>
              <th>Age</th>
              <th class="number">Score</th>
              <th class="number">Tokens</th>
              <th>Decision</th>
            </tr>
          </thead>
          <tbody>
            {block.items.map((item, i) => (
              <Row key={`${item.id}-${i}`} item={item} prompt={prompt} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ item, prompt }: { item: Item; prompt: PromptRecord }) {
  const open = useSignal(false);
  return (
    <>
      <tr class={item.decision}>
        <td>
          <button type="button" class="quiet" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
            {itemKind(item)}
          </button>
        </td>
        <td>{item.sessionId ? <SessionLink item={item} /> : ''}</td>
        <td>{item.occurredAt ? age(item.occurredAt, Date.parse(prompt.createdAt)) : ''}</td>
        <td class="number">{item.score === undefined ? '' : score(item.score)}</td>
        <td class="number">{count(item.tokens)}</td>
        <td>
          <span class={`decision ${item.decision}`}>{item.decision}</span> <span class="soft">{item.reason}</span>
        </td>
      </tr>
      {open.value && (
        <tr class="detail">
          <td colSpan={6}>
            <ItemDetail item={item} />
          </td>
        </tr>
      )}
    </>
  );
}

const SessionLink = ({ item }: { item: Item }) => (
  <a href={link('session', item.sessionId!, item.kind === 'message' ? { message: item.id } : {})}>
    {item.context ? contextLabel(item.context) : item.sessionId}
  </a>
);
