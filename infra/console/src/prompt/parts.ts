// What a prompt is made of, for the bars and for the line under an answer.
import type { Block, Item, PromptRecord } from '../api/types';

/** Where a block's tokens come from: rules of the app, this conversation, or the memory that all contexts share. */
export type Source = 'frame' | 'here' | 'memory';

const sources: Record<string, Source> = {
  role: 'frame', instruction: 'frame', now: 'frame', session_state: 'frame', expertise: 'frame',
  current_message: 'here', recent_messages: 'here',
};

export const sourceOf = (block: Block): Source => sources[block.name] ?? 'memory';

export const sourceLabels: Record<Source, string> = {
  frame: 'rules and time',
  here: 'this conversation',
  memory: 'shared memory',
};

export const isIncluded = (item: Item) => item.decision !== 'dropped';

export const tokensOf = (blocks: Block[], source: Source) =>
  blocks.filter((b) => sourceOf(b) === source).reduce((sum, b) => sum + b.tokens, 0);

/** Something that a prompt has from another context, as it is written there. */
export interface Quote {
  label: string;
  age: string;
  text: string;
}

// [Program Designer - just now]: text, or [Program Designer - just now, User] text
const quoted = /^\[([^\]\n]+?) - ([^\],\n]+)(?:, \w+)?\]:? (.+)$/gm;

export function quotesOf(prompt: PromptRecord): Quote[] {
  const text = [prompt.system ?? '', prompt.text ?? '', ...(prompt.messages ?? []).map((m) => m.content)].join('\n');
  const seen = new Set<string>();
  const quotes: Quote[] = [];
  for (const [, label = '', when = '', said = ''] of text.matchAll(quoted)) {
    if (!seen.has(label)) quotes.push({ label, age: when, text: said });
    seen.add(label);
  }
  return quotes;
}

/** The sessions, other than its own, whose records went into a prompt. */
export function otherSessions(prompt: PromptRecord): string[] {
  const items = (prompt.manifest?.blocks ?? []).flatMap((b) => b.items).filter(isIncluded);
  return [...new Set(items.map((i) => i.sessionId).filter((id): id is string => !!id && id !== prompt.sessionId))];
}
