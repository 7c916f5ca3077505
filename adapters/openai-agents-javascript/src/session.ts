import {
  type AgentInputItem, applySessionHistoryMutations, type getLogger, type SessionHistoryRewriteArgs,
  type SessionHistoryRewriteAwareSession, type SessionHistoryTransaction, type SessionHistoryTransactionArgs,
  type SessionHistoryTransactionAwareSession, UserError,
} from '@openai/agents';
import {
  blockOf, digest, inSession, isOutage, isProblem, type Place, readTurn, soft, type Softness, storeLater, storeWaiting,
} from '@throughline/client/adapter';
import { type Client, encodeSessionId, type NewMessage, type Options } from '@throughline/client';
import {
  appliedBy, canonical, copiesOf, mustBePlain, same, type Stored, toItem, toMessages, toRecord, withApplied,
} from './items.js';

type Logger = ReturnType<typeof getLogger>;

/** Where a conversation takes place, and what is done where the memory fails. */
export interface SessionOptions extends Place, Softness {
  /** Acts for the user. */
  client: Client;
  /** Gets each call at level debug, as of the SDK's MemorySession: with the items, where the logger takes them. */
  logger?: Logger;
}

/** Messages in one call, and their size as JSON. The API takes 1 MiB of content. */
const most = 50;
const mostBytes = 1_000_000;

/** How many of the latest messages are read for an operation that was applied already. */
const searched = 200;

/** How many operations a message says were applied. */
const noted = 100;

/** How often a change is tried where others change the session at the same time. */
const attempts = 100;

const busy = 'others change the session all the time';

// The words of the SDK's MemorySession for a transaction that cannot be applied.
const another = 'Session history operation was already applied with a different transaction.';
const changed = 'Session history suffix no longer matches the transaction precondition.';
const unreadable = 'Session history transaction arguments are invalid.';
const unnamed = 'Session history transaction operationId must be a non-empty string.';
const unsupported = 'Session history transaction items contain invalid or unsupported data.';

/** Keeps the items of one conversation. It may be used by runs at the same time, and by several processes. */
export class ThroughlineSession implements SessionHistoryTransactionAwareSession, SessionHistoryRewriteAwareSession {
  readonly #client: Client;
  readonly #place: Place;
  readonly #name: string;
  readonly #softness: Softness;
  readonly #logger: Logger | undefined;
  /** Is for each call: a long history takes several. */
  readonly #patience: Options;
  /** The ids of the user's last words. */
  #said = new Map<string, string>();
  #recalled: { of: string; block: Promise<string> } | undefined;

  constructor({ client, timeout, onError, logger, ...place }: SessionOptions) {
    this.#client = client;
    this.#name = place.sessionId;
    this.#place = { ...place, sessionId: encodeSessionId(place.sessionId) };
    this.#softness = { timeout, onError };
    this.#logger = logger;
    this.#patience = { timeout: timeout ?? 1500 };
  }

  /** Returns the id of the session. */
  async getSessionId(): Promise<string> {
    return this.#name;
  }

  /** Returns the latest items, the oldest first: none where the memory fails. */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return [];
    return soft(this.#softness, 'begin', async () => {
      const found: AgentInputItem[] = [];
      for await (const message of this.#list(limit, this.#patience)) {
        const item = toItem(message);
        if (item) found.push(item);
        if (found.length === limit) break;
      }
      this.#log('Getting items from', found.reverse());
      return found;
    }, []);
  }

  /**
   * Stores items, up to 50 or 1 MB at once. A repeat after a lost answer stores nothing twice. Where the memory fails, they
   * are stored before the next items of the session in this process.
   */
  async addItems(items: AgentInputItem[]): Promise<void> {
    const given = [...batches(toMessages(items))];
    if (given.length > 0) this.#log('Adding items to', items);
    await soft(this.#softness, 'finish', () => this.#add(given, this.#patience), undefined);
  }

  async #add(given: NewMessage[][], options: Options): Promise<void> {
    const { sessionId } = this.#place;
    let failure = await storeWaiting(sessionId, options).then(() => undefined, (error: unknown) => error);
    for (const messages of given) {
      const idempotencyKey = crypto.randomUUID();
      const append = (again: Options) => this.#append(messages, { ...again, idempotencyKey });
      if (failure === undefined) await append(options).catch((error: unknown) => { failure = error; });
      if (isOutage(failure)) storeLater(sessionId, append);
    }
    if (failure !== undefined) throw failure;
  }

  /** Removes the last item and returns it, in one write. */
  async popItem(): Promise<AgentInputItem | undefined> {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const [last] = await this.#newest(1);
      if (!last) return undefined;
      // Another call may have popped it, or added items, and a message of another screen may be no item.
      const item = await this.#cut([last], []) ? toItem(last) : undefined;
      if (!item) continue;
      this.#log('Popping item from', item);
      return item;
    }
    throw new Error(busy);
  }

  /** Removes all items, in one call. What was drawn only from them goes, too. */
  async clearSession(): Promise<void> {
    this.#logger?.debug(`Clearing memory session (${this.#name})`);
    try {
      await this.#client.clearMessages(this.#place.sessionId);
    } catch (error) {
      if (!isProblem(error, 'not_found')) throw error;
    }
  }

  /**
   * Appends items, or replaces the last ones where they are as expected, in one write. A repeat of an operation changes
   * nothing. Another transaction with its id throws, and so does a suffix that is not the expected one.
   */
  async applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void> {
    const { operationId, transaction } = readOnce(args);
    const { removed, added } = changeOf(transaction);
    const messages = toMessages(added);
    const [operation, print] = [await digest(this.#place.sessionId, operationId), await digest(canonical(transaction))];
    const id = `${operation.slice(0, 48)}-${print.slice(0, 48)}`;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const latest = await this.#newest(searched);
      const before = latest.flatMap(appliedBy).find((other) => other.startsWith(id.slice(0, 49)));
      if (before === id) return;
      if (before !== undefined) throw new UserError(another);
      const suffix = suffixOf(latest, removed);
      if (suffix === undefined) throw new UserError(changed);
      // An operation may be applied again after the session was emptied, so no answer from before is the right one.
      const key = latest[0] ? await digest(operation, latest[0].messageId) : crypto.randomUUID();
      if (await this.#write(suffix, messages, id, key)) return;
    }
    throw new Error(busy);
  }

  /**
   * Replaces calls of functions, in one write. It stores all items anew from the first of the calls on, up to 50, which lies
   * among the latest 200.
   */
  async applyHistoryMutations({ mutations }: SessionHistoryRewriteArgs): Promise<void> {
    const isNamed = (item: AgentInputItem | undefined) =>
      item?.type === 'function_call' && mutations.some(({ callId }) => callId === item.callId);
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const latest = await this.#newest(searched);
      const first = latest.findLastIndex((message) => isNamed(toItem(message)));
      if (first < 0) return;
      const suffix = latest.slice(0, first + 1).reverse();
      if (suffix.some((message) => !toItem(message) && appliedBy(message).length === 0)) throw new UserError(changed);
      const items = suffix.flatMap((message) => toItem(message) ?? []);
      const messages = toMessages(applySessionHistoryMutations(items, mutations));
      if (messages.length > most) throw new Error(`more than ${most} items follow the call`);
      const applied = [...new Set(suffix.flatMap(appliedBy))].slice(-noted);
      const last = messages.pop();
      if (last && await this.#cut(suffix, [...messages, withApplied(last, applied)])) return;
    }
    throw new Error(busy);
  }

  /** Returns the block with what the memory has for a message of the user. A turn reads it once. */
  async recall(message: string, turn: unknown): Promise<string> {
    const of = JSON.stringify([message, turn]);
    if (this.#recalled?.of !== of) {
      const about = { ...this.#softness, messageId: this.#said.get(message) };
      const block = readTurn(this.#client, this.#place, message, about).then(({ prompt }) => blockOf(prompt));
      this.#recalled = { of, block };
    }
    return this.#recalled.block;
  }

  /** Replaces the last messages. It returns false where others are the last ones by now. */
  async #write(suffix: Stored[], messages: NewMessage[], id: string, key: string): Promise<boolean> {
    // The ids of the messages say which operation and transaction they are of, and the last message which went before.
    const replacement = (messages.length > 0 ? messages : [toRecord([id])])
      .map((message, n) => ({ ...message, clientMessageId: `${id}-${n}` }));
    const applied = [...new Set(suffix.flatMap(appliedBy))].slice(-noted);
    replacement.push(withApplied(replacement.pop()!, applied) as typeof replacement[0]);
    try {
      if (suffix.length > 0) return await this.#cut(suffix, replacement, key);
      await this.#append(replacement, { idempotencyKey: key });
      return true;
    } catch (error) {
      throw isProblem(error, 'idempotency_mismatch') ? refused(another, error) : error;
    }
  }

  #log(event: string, items: unknown): void {
    if (!this.#logger || this.#logger.dontLogModelData || this.#logger.dontLogToolData) return;
    this.#logger.debug(`${event} memory session (${this.#name}): ${JSON.stringify(items)}`);
  }

  async #cut(suffix: Stored[], replacement: NewMessage[], idempotencyKey: string = crypto.randomUUID()): Promise<boolean> {
    const cut = { lastN: suffix.length, expected: suffix.map(({ messageId }) => messageId), replacement };
    try {
      await this.#client.truncateMessages(this.#place.sessionId, cut, { idempotencyKey });
      return true;
    } catch (error) {
      if (isProblem(error, 'conflict') || isProblem(error, 'not_found')) return false;
      throw error;
    }
  }

  async #append(messages: NewMessage[], options: Options): Promise<void> {
    const { sessionId } = this.#place;
    const stored = await inSession(this.#client, this.#place,
      () => this.#client.appendMessages(sessionId, { messages }, options));
    const said = stored.messages.filter(({ role }) => role === 'user');
    if (said.length > 0) this.#said = new Map(said.map(({ content, messageId }) => [content, messageId]));
  }

  /** Returns the latest messages, the latest first. */
  async #newest(count: number): Promise<Stored[]> {
    const found: Stored[] = [];
    for await (const message of this.#list(count)) {
      found.push(message);
      if (found.length === count) break;
    }
    return found;
  }

  /** Yields the latest messages. A session that does not exist has none. */
  async *#list(limit: number | undefined, options: Options = {}): AsyncGenerator<Stored> {
    const page = limit === undefined ? {} : { limit: Math.min(limit, 200) };
    try {
      yield* this.#client.listMessages(this.#place.sessionId, { order: 'desc', ...page }, options);
    } catch (error) {
      if (!isProblem(error, 'not_found')) throw error;
    }
  }
}

/** The lists of each type of transaction. */
const lists = new Map<unknown, string[]>([['append_items', ['items']], ['replace_suffix', ['expectedSuffix', 'replacement']]]);

/** Returns a copy of a transaction with its id. Each part is read once, and an error has no text of an accessor. */
function readOnce(args: SessionHistoryTransactionArgs): SessionHistoryTransactionArgs {
  let [operationId, given]: unknown[] = [];
  try {
    ({ operationId, transaction: given } = args);
  } catch {
    throw new UserError(unreadable);
  }
  if (typeof operationId !== 'string' || operationId.trim() === '') throw new UserError(unnamed);
  if (typeof given !== 'object' || given === null) throw new UserError('Session history transaction must be an object.');
  return { operationId, transaction: transactionOf(given) };
}

function transactionOf(given: object): SessionHistoryTransaction {
  try {
    mustBePlain(given, 'transaction');
    const { type, ...parts } = given as Record<string, unknown>;
    const names = lists.get(type);
    if (!names) throw new UserError('Unsupported session history transaction type.');
    if (Object.keys(parts).sort().join() !== names.join() || !Object.values(parts).every(Array.isArray)) {
      throw new UserError(`Session history ${type === 'append_items' ? 'append' : 'suffix'} transaction fields are invalid.`);
    }
    const copies = names.map((name) => [name, copiesOf(parts[name], name, true)]);
    structuredClone(given); // It throws for a Proxy, which looks like what it stands for to all else.
    return { type, ...Object.fromEntries(copies) } as SessionHistoryTransaction;
  } catch (error) {
    throw error instanceof UserError ? error : refused(unsupported, error);
  }
}

function refused(message: string, cause: unknown): UserError {
  return Object.assign(new UserError(message), { cause });
}

/** Returns the items that a transaction removes and adds. */
function changeOf(transaction: SessionHistoryTransaction): { removed: AgentInputItem[]; added: AgentInputItem[] } {
  return transaction.type === 'append_items'
    ? { removed: [], added: transaction.items }
    : { removed: transaction.expectedSuffix, added: transaction.replacement };
}

/** Returns the last messages where their items are the expected ones. Records of operations between them are no items. */
function suffixOf(latest: Stored[], expected: AgentInputItem[]): Stored[] | undefined {
  let [at, left] = [0, expected.length];
  for (; left > 0; at += 1) {
    const message = latest[at];
    if (!message) return undefined;
    const item = toItem(message);
    if (item ? !same(item, expected[left - 1]) : appliedBy(message).length === 0) return undefined;
    if (item) left -= 1;
  }
  return latest.slice(0, at).reverse();
}

/** Yields messages as the API takes them in one call. */
function* batches(messages: NewMessage[]): Generator<NewMessage[]> {
  let [batch, bytes]: [NewMessage[], number] = [[], 0];
  for (const message of messages) {
    const size = new TextEncoder().encode(JSON.stringify(message)).length;
    if (batch.length === most || batch.length > 0 && bytes + size > mostBytes) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(message);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
