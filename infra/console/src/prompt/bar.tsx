// A prompt's blocks as a bar of tokens.
import type { Block, PromptRecord } from '../api/types';
import { count, words } from '../format';
import { sourceLabels, sourceOf, tokensOf, type Source } from './parts';

interface Props {
  blocks: Block[];
  /** How many tokens the whole width means. */
  of: number;
  label: string;
}

export function Bar({ blocks, of, label }: Props) {
  const full = blocks.filter((b) => b.tokens > 0);
  return (
    <div class="bar" role="img" aria-label={label}>
      {full.map((b) => (
        <span
          key={b.name}
          class={sourceOf(b)}
          style={{ width: `${(100 * b.tokens) / of}%` }}
          title={`${words(b.name)}: ${count(b.tokens)} tokens`}
        />
      ))}
    </div>
  );
}

/** How much of a budget is used. */
export const Level = ({ part, of }: { part: number; of: number }) => (
  <div class="bar" aria-hidden="true">
    <span class="here" style={{ width: `${Math.min(100, (100 * part) / of)}%` }} />
  </div>
);

const order: Source[] = ['frame', 'here', 'memory'];

export function Legend({ blocks }: { blocks: Block[] }) {
  return (
    <ul class="legend">
      {order.map((source) => (
        <li key={source}>
          <i class={source} /> {sourceLabels[source]} <b>{count(tokensOf(blocks, source))}</b>
        </li>
      ))}
    </ul>
  );
}

export const usage = (p: PromptRecord) => `${count(p.tokens.total)} of ${count(p.tokens.budget)} tokens`;
