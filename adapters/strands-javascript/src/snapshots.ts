import type { MessageData, SnapshotLocation, SnapshotStorage } from '@strands-agents/sdk';
import { type Client, encodeSessionId, type NewMessage, type Options } from '@throughline/client';
import { digest, inSession, isProblem, type Place, soft, type Softness } from '@throughline/client/adapter';
import { most, said, whole } from './messages.js';

/** Where conversations take place, and what is done where the memory fails. */
export interface SnapshotsOptions extends Pick<Place, 'context' | 'coachId'>, Softness {
  /** Acts for the user. */
  client: Client;
}

type Saving = Parameters<SnapshotStorage['saveSnapshot']>[0];
type Snapshot = Saving['snapshot'];
type Manifest = Parameters<SnapshotStorage['saveManifest']>[0]['manifest'];

/** A snapshot without its messages, as a document has it. ids names the messages. */
interface Kept {
  snapshot: Snapshot;
  ids: string[];
}

/** What is known of an agent in a session. */
interface Known {
  /** The ids of the messages that are stored, by their own ids. */
  stored: Map<string, string>;
  /** The messages of the latest snapshot. */
  latest: string[];
}

/**
 * Keeps the snapshots of a SessionManager. Each message of an agent is a message of the session in the memory, stored once, and
 * the rest of a snapshot is a document of the user's. Give it as `storage: { snapshot: … }`.
 */
export class ThroughlineSnapshots implements SnapshotStorage {
  readonly #client: Client;
  readonly #place: Omit<Place, 'sessionId'>;
  readonly #softness: Softness;
  readonly #known = new Map<string, Known>();
  /** The places whose latest snapshot could not be read. */
  readonly #unread = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  constructor({ client, context, coachId, timeout, onError }: SnapshotsOptions) {
    this.#client = client;
    this.#place = { context, coachId };
    this.#softness = { timeout, onError };
  }

  /** Stores what is new in a snapshot. Where the memory fails, the next one of the session stores it. */
  async saveSnapshot({ location, snapshotId, isLatest, snapshot }: Saving): Promise<void> {
    await this.#inTurn(() => soft(this.#softness, 'finish', async (options) => {
      const { messages = [], ...data } = snapshot.data as { messages?: MessageData[] };
      const ids = await this.#store(location, messages, isLatest, options);
      const place = await placeOf(location);
      // A snapshot that could not be read is not replaced by that of an agent that began without it.
      if (isLatest && this.#unread.has(place)) return;
      const kept = JSON.stringify({ snapshot: { ...snapshot, data }, ids } as Kept);
      await this.#client.putDocument(place, isLatest ? 'latest' : snapshotId, { value: { kept }, index: [] }, options);
    }, undefined));
  }

  /** Returns a snapshot, or null where there is none, and where the memory fails. */
  async loadSnapshot({ location, snapshotId }: { location: SnapshotLocation; snapshotId?: string }): Promise<Snapshot | null> {
    const place = await placeOf(location);
    if (snapshotId === undefined) this.#unread.add(place);
    return soft(this.#softness, 'begin', async (options) => {
      const kept = await this.#document<Kept>(place, snapshotId ?? 'latest', options);
      const messages = kept || snapshotId === undefined ? await this.#list(location, kept?.ids ?? [], snapshotId === undefined, options) : [];
      if (snapshotId === undefined) this.#unread.delete(place);
      if (!kept) return null;
      const data = location.scope === 'agent' ? { ...kept.snapshot.data, messages } : kept.snapshot.data;
      return { ...kept.snapshot, data } as Snapshot;
    }, null);
  }

  async listSnapshotIds({ location, limit, startAfter }: Parameters<SnapshotStorage['listSnapshotIds']>[0]): Promise<string[]> {
    const documents = await this.#client.listDocuments({ namespace: await placeOf(location) }).all();
    const ids = documents.map(({ key }) => key).filter((key) => key !== 'latest' && key !== 'manifest').sort();
    return ids.filter((id) => startAfter === undefined || id > startAfter).slice(0, limit);
  }

  /** Deletes a session with its messages, and all its snapshots. */
  async deleteSession({ sessionId }: { sessionId: string }): Promise<void> {
    await this.#client.deleteSession(encodeSessionId(sessionId)).catch(unlessMissing);
    for (const { namespace, key } of await this.#client.listDocuments({ namespace: await sessionOf(sessionId) }).all()) {
      await this.#client.deleteDocument(namespace, key);
    }
    this.#known.clear();
  }

  async loadManifest({ location }: { location: SnapshotLocation }): Promise<Manifest> {
    const found = await this.#document<Manifest>(await placeOf(location), 'manifest', {});
    return found ?? { schemaVersion: '1.0', updatedAt: new Date().toISOString() };
  }

  async saveManifest({ location, manifest }: { location: SnapshotLocation; manifest: Manifest }): Promise<void> {
    await this.#client.putDocument(await placeOf(location), 'manifest', { value: { kept: JSON.stringify(manifest) }, index: [] });
  }

  /** Stores the messages that are not yet, deletes those that others took the place of, and returns the ids of all. */
  async #store(location: SnapshotLocation, messages: MessageData[], isLatest: boolean, options: Options): Promise<string[]> {
    if (messages.length === 0) return [];
    const sessionId = encodeSessionId(location.sessionId);
    const known = this.#known.get(await placeOf(location)) ?? await this.#read(location, options);
    const given = new Map<string, NewMessage>();
    for (const message of messages) {
      const clientMessageId = (await digest(location.scopeId, JSON.stringify(message))).slice(0, 48);
      given.set(clientMessageId, { ...whole(message, location.scopeId), clientMessageId });
    }
    const fresh = [...given].flatMap(([id, message]) => known.stored.has(id) ? [] : [message]);
    for (let start = 0; start < fresh.length; start += most) {
      const batch = fresh.slice(start, start + most);
      const { messages: stored } = await inSession(this.#client, { ...this.#place, sessionId },
        () => this.#client.appendMessages(sessionId, { messages: batch }, options));
      for (const [n, { messageId }] of stored.entries()) known.stored.set(batch[n]!.clientMessageId!, messageId);
    }
    if (!isLatest) return [...given.keys()];
    // What went before the first message that is still there left the agent's window. What went after it was redacted.
    const from = known.latest.findIndex((id) => given.has(id));
    for (const id of from < 0 ? [] : known.latest.slice(from).filter((each) => !given.has(each))) {
      await this.#client.deleteMessage(sessionId, known.stored.get(id)!, {}, options).catch(unlessMissing);
    }
    known.latest = [...given.keys()];
    return known.latest;
  }

  /** Returns the messages of a snapshot. The latest one has those that were stored after it, too. */
  async #list(location: SnapshotLocation, ids: string[], isLatest: boolean, options: Options): Promise<MessageData[]> {
    const { found, ...known } = await this.#read(location, options);
    const last = found.findLastIndex(([id]) => ids.includes(id));
    const own = new Map(found);
    const later = isLatest ? found.slice(last + 1).map(([id]) => id) : [];
    const shown = [...ids, ...later].flatMap((id): [string, MessageData][] => own.has(id) ? [[id, own.get(id)!]] : []);
    if (isLatest) this.#known.set(await placeOf(location), { ...known, latest: shown.map(([id]) => id) });
    return shown.map(([, message]) => message);
  }

  /** Reads what an agent has said in a session, the oldest first. */
  async #read(location: SnapshotLocation, options: Options): Promise<Known & { found: [string, MessageData][] }> {
    const known = { stored: new Map<string, string>(), latest: [], found: [] as [string, MessageData][] };
    try {
      for await (const message of this.#client.listMessages(encodeSessionId(location.sessionId), { order: 'asc' }, options)) {
        const own = said(message, location.scopeId);
        if (own === undefined || message.clientMessageId === undefined) continue;
        known.stored.set(message.clientMessageId, message.messageId);
        known.found.push([message.clientMessageId, own]);
      }
    } catch (error) {
      unlessMissing(error);
    }
    this.#known.set(await placeOf(location), known);
    return known;
  }

  async #document<T>(namespace: string, key: string, options: Options): Promise<T | undefined> {
    const found = await this.#client.getDocument(namespace, key, options).catch(unlessMissing);
    return found ? JSON.parse(String(found.value['kept'])) as T : undefined;
  }

  /** Saves one snapshot after the other: the manager may save two at a time. */
  async #inTurn<T>(call: () => Promise<T>): Promise<T> {
    const done = this.#last.then(call, call);
    this.#last = done.catch(() => {});
    return done;
  }
}

/** Returns the namespace of a session's documents. */
async function sessionOf(sessionId: string): Promise<string> {
  return `strands-sessions/${await digest(sessionId)}`;
}

/** Returns the namespace of the documents of an agent, or of a graph or swarm, in a session. */
async function placeOf({ sessionId, scope, scopeId }: SnapshotLocation): Promise<string> {
  return `${await sessionOf(sessionId)}/${await digest(scope, scopeId)}`;
}

function unlessMissing(error: unknown): undefined {
  if (!isProblem(error, 'not_found')) throw error;
  return undefined;
}

