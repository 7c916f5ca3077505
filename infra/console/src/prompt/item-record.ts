// The records of the items of a prompt: what they say, and where one finds them.
import * as api from '../api/calls';
import type { Item, PromptRecord } from '../api/types';
import { nameOf } from '../names';
import { link, route } from '../route';

export interface ItemRecord {
  text: string;
  href?: string;
}

export type Records = ReadonlyMap<string, ItemRecord>;

/** Reads the records of a prompt's items, as far as a few calls bring them. */
export async function recordsOf(prompt: PromptRecord): Promise<Records> {
  const [messages, memories, todos, goals, sessions] = await Promise.all([
    messagesOf(prompt), api.listMemories(), api.listTodos(), api.listGoals(), api.listSessions(),
  ]);
  const { user } = route.value;
  const found = new Map<string, ItemRecord>();
  for (const m of messages) found.set(m.messageId, { text: m.content, href: link('session', m.sessionId, { message: m.messageId }) });
  for (const m of memories) found.set(m.id, { text: m.content, href: link('memory', '', { fact: m.id }) });
  for (const t of todos) found.set(t.id, { text: t.content, href: link('memory') });
  for (const g of goals) found.set(g.id, { text: g.title, href: link('memory') });
  for (const s of sessions) {
    found.set(s.sessionId, {
      // The name of a session may be known later than its record.
      get text() {
        return s.summary?.text ?? nameOf(s, user);
      },
      href: link('session', s.sessionId),
    });
  }
  return found;
}

const isMessage = (item: Item) => item.kind === 'message';

/** One page of the timeline around the messages of a prompt. A message that it does not reach is found on demand. */
async function messagesOf(prompt: PromptRecord) {
  const items = prompt.manifest!.blocks.flatMap((b) => b.items).filter(isMessage);
  const times = items.map((item) => Date.parse(item.occurredAt ?? '')).filter((time) => !Number.isNaN(time));
  if (times.length === 0) return [];
  const from = new Date(Math.min(...times) - 1000).toISOString();
  const to = new Date(Math.max(...times) + 1000).toISOString();
  return (await api.listTimeline({ from, to, limit: 200 })).items;
}

/** Finds the record of one item that recordsOf has not brought. */
export async function recordOf(item: Item): Promise<ItemRecord> {
  if (!isMessage(item)) return { text: 'Its words are in the prompt as sent.' };
  const m = await api.findMessage(item.id);
  if (!m) return { text: 'This message has been deleted since.' };
  return { text: m.content, href: link('session', m.sessionId, { message: m.messageId }) };
}
