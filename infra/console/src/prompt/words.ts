// The words of a block that has no records, such as the rules: where they are in the prompt as it was sent.
import type { Block, Item, PromptRecord } from '../api/types';
import { sourceOf } from './parts';

/** Returns the words of a block. The blocks follow each other in the prompt, and each says how many characters it has. */
export function wordsOf(prompt: PromptRecord, block: Block): string {
  const sent = (prompt.system ?? '') + (prompt.text ?? '') + (prompt.messages ?? []).map((m) => m.content).join('');
  const blocks = prompt.manifest!.blocks;
  const start = blocks.slice(0, blocks.indexOf(block)).reduce((sum, b) => sum + b.chars, 0);
  return [...sent].slice(start, start + block.chars).join('').trim();
}

/**
 * Returns the words of an item that is not a record, or undefined where they cannot be distinguished from those of other items.
 * Of the items of the rules each has a paragraph, and the last one has the rest.
 */
export function wordsOfItem(prompt: PromptRecord, block: Block, item: Item): string | undefined {
  if (item.kind === 'tool') return prompt.tools?.find((tool) => tool.name === item.id)?.description;
  const items = block.items.filter((i) => i.kind !== 'tool' && i.decision !== 'dropped');
  const i = items.indexOf(item);
  if (i < 0 || (items.length > 1 && sourceOf(block) !== 'frame')) return undefined;
  const paragraphs = wordsOf(prompt, block).split('\n\n');
  const end = i === items.length - 1 ? paragraphs.length : i + 1;
  return paragraphs.slice(i, end).join('\n\n') || undefined;
}
