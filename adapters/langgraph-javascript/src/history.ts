import type { Client, Message, NewMessage, Options } from '@throughline/client';
import { inSession, isProblem, type Place } from '@throughline/client/adapter';

/** A message of the nodes. */
export type Sent = NewMessage & { clientMessageId: string };

/** How many of the latest messages are compared with a state. One call replaces so many. */
const compared = 80;

/** How often a change is tried where others change the session at the same time. */
const attempts = 5;

/** The clientMessageId of a message of the nodes: its key, and what makes it new where a message with the key was deleted. */
const ours = /^([0-9a-f]{64}(?:-[0-9a-f]{16})?)(?:\.[0-9a-f]+)?$/;

const keyOf = ({ clientMessageId }: { clientMessageId?: string }): string => ours.exec(clientMessageId ?? '')?.[1] ?? '';

/**
 * Stores a message after the last of those before it, and returns its id. What follows there is replaced, as long as the nodes
 * have stored it: messages of others stay, and the new one comes after them. A repeat changes nothing.
 */
export async function mirror(client: Client, place: Place, before: string[], message: Sent, options: Options): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write(client, place, before, attempt === 1 ? message : renamed(message), options);
    } catch (error) {
      if (attempt === attempts || !isProblem(error, 'conflict')) throw error; // another one has changed the session, or a message with this id was deleted
    }
  }
}

async function write(client: Client, place: Place, before: string[], message: Sent, options: Options): Promise<string> {
  const { sessionId } = place;
  const latest = await newest(client, sessionId, options);
  const at = latest.findIndex((other) => before.includes(keyOf(other)));
  const isWhole = before.length === 0 && latest.length < compared;
  const newer = at >= 0 ? latest.slice(0, at) : isWhole ? latest : [];
  const first = newer.at(-1);
  const isThere = first !== undefined && keyOf(first) === keyOf(message);
  const replaced = isThere ? newer.slice(0, -1) : newer;
  if (replaced.length === 0 || !replaced.every(keyOf)) {
    return isThere ? first.messageId : append(client, place, message, options);
  }
  const cut = { lastN: replaced.length, expected: replaced.map(({ messageId }) => messageId).reverse() };
  if (isThere) {
    await client.truncateMessages(sessionId, cut, options);
    return first.messageId;
  }
  const { messages } = await client.truncateMessages(sessionId, { ...cut, replacement: [message] }, options);
  return messages[0]!.messageId;
}

/** Returns a message with another clientMessageId of the same key. */
function renamed(message: Sent): Sent {
  return { ...message, clientMessageId: `${keyOf(message)}.${crypto.randomUUID().slice(0, 8)}` };
}

async function append(client: Client, place: Place, message: Sent, options: Options): Promise<string> {
  const { messages } = await inSession(client, place, () =>
    client.appendMessages(place.sessionId, { messages: [message] }, options));
  return messages[0]!.messageId;
}

/** Returns the latest messages, the latest first. A session that does not exist has none. */
async function newest(client: Client, sessionId: string, options: Options): Promise<Message[]> {
  try {
    return (await client.listMessages(sessionId, { order: 'desc', limit: compared }, options).page()).items;
  } catch (error) {
    if (isProblem(error, 'not_found')) return [];
    throw error;
  }
}
