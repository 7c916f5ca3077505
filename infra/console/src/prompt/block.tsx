// The blocks of a prompt with their items, as one table.
import { useSignal } from '@preact/signals';
import type { Block, Item, PromptRecord } from '../api/types';
import { age, contextLabel, count, itemKind, score, words } from '../format';
import { useLoad } from '../parts/load';
import { link } from '../route';
import { recordsOf, type ItemRecord, type Records } from './item-record';
import { ItemDetail } from './item-detail';
import { sourceOf, type Source } from './parts';
import { SessionName } from './session-name';
import { wordsOfItem } from './words';

/** What the blocks are read for, the most interesting first: what the prompt has of the user, and why. */
const groups: [Source, string][] = [
  ['memory', 'From the shared memory'],
  ['here', 'From this conversation'],
  ['frame', 'Rules and time'],
];

export function Blocks({ blocks, prompt }: { blocks: Block[]; prompt: PromptRecord }) {
  const records = useLoad(() => recordsOf(prompt), [prompt.promptId]);
  return (
    <table class="blocks">
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
      {groups.map(([source, label]) => {
        const own = blocks.filter((b) => sourceOf(b) === source);
        if (own.length === 0) return null;
        return [
          <tbody key={source} class="group">
            <tr>
              <th colSpan={6} scope="rowgroup">
                {label}
              </th>
            </tr>
          </tbody>,
          ...own.map((b) => <BlockRows key={b.name} block={b} prompt={prompt} records={records.data} />),
        ];
      })}
    </table>
  );
}

interface BlockProps {
  block: Block;
  prompt: PromptRecord;
  records?: Records;
}

function BlockRows({ block, prompt, records }: BlockProps) {
  return (
    <tbody>
      <tr class="block">
        <th colSpan={4} scope="rowgroup">
          <i class={sourceOf(block)} /> {words(block.name)} {block.cap && <small>at most {block.cap}</small>}
        </th>
        <td class="number">{count(block.tokens)}</td>
        <td />
      </tr>
      {block.items.map((item, i) => (
        <Row key={`${item.id}-${i}`} item={item} prompt={prompt} record={records?.get(item.id) ?? recordOfWords(prompt, block, item)} />
      ))}
    </tbody>
  );
}

function Row({ item, prompt, record }: { item: Item; prompt: PromptRecord; record?: ItemRecord }) {
  const open = useSignal(false);
  return (
    <>
      <tr class={`item ${item.decision}`}>
        <td>
          <button type="button" class="quiet" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
            <b>{itemKind(item)}</b> {record && <span>{record.text}</span>}
          </button>
        </td>
        <td>{item.sessionId ? <SessionLink item={item} /> : ''}</td>
        <td>{item.occurredAt ? age(item.occurredAt, Date.parse(prompt.createdAt)) : ''}</td>
        <td class="number">{item.score === undefined ? '' : score(item.score)}</td>
        <td class="number">{count(item.tokens)}</td>
        <td>
          <span class={`decision ${item.decision}`}>{item.decision}</span> <span class="soft">{item.reason.replaceAll('_', ' ')}</span>
        </td>
      </tr>
      {open.value && (
        <tr class="detail">
          <td colSpan={6}>
            <ItemDetail item={item} record={record} />
          </td>
        </tr>
      )}
    </>
  );
}

/** What an item says that is no record, such as a rule. */
function recordOfWords(prompt: PromptRecord, block: Block, item: Item): ItemRecord | undefined {
  const text = item.kind === 'message' ? undefined : wordsOfItem(prompt, block, item);
  return text === undefined ? undefined : { text };
}

function SessionLink({ item }: { item: Item }) {
  if (!item.context) return <SessionName id={item.sessionId!} />;
  return <a href={link('session', item.sessionId!, item.kind === 'message' ? { message: item.id } : {})}>{contextLabel(item.context)}</a>;
}
