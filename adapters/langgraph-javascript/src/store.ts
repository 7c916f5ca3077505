import {
  BaseStore, type GetOperation, type Item, type ListNamespacesOperation, type Operation, type OperationResults,
  type PutOperation, type SearchItem, type SearchOperation,
} from '@langchain/langgraph-checkpoint';
import { isProblem } from '@throughline/client/adapter';
import type { Client, Document, FoundDocument, NewDocument } from '@throughline/client';
import { Facts, isSame } from './facts.js';
import { decode, encode, namespaceOf, pathOf } from './names.js';

/** Calls of one batch at a time. */
const atOnce = 8;

/** The path of a whole value, which the memory indexes where no paths are named. */
const whole = '$';

/** What a store is made with. */
export interface StoreOptions {
  /** Acts for the user; or it is the server's, and userAt says which label names the user. */
  client: Client;
  /** The position of the label that names the user: 0 for ['eva', 'notes']. Then an operation has to name the user. */
  userAt?: number;
  /** A namespace under which the facts about the user are found, changed and deleted. */
  facts?: string[];
  /** What a search finds an item by, where put does not say it. Default: the whole value. */
  fields?: string[];
}

/** Keeps items as documents of a user, so that they are exported and erased with the user. */
export class ThroughlineStore extends BaseStore {
  readonly #options: StoreOptions;

  constructor(options: StoreOptions) {
    super();
    this.#options = options;
  }

  /** Executes operations. Reads come before writes. Of several puts of one item, the last counts. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const puts = new Map(operations.filter(isPut).map((op) => [JSON.stringify([op.namespace, op.key]), op]));
    const results = await each(operations, async (op) => isPut(op) ? undefined : this.#read(op));
    await each([...puts.values()], (op) => this.#put(op));
    return results as OperationResults<Op>;
  }

  #read(op: Exclude<Operation, PutOperation>): Promise<Item | null | SearchItem[] | string[][]> {
    if ('namespacePrefix' in op) return this.#search(op);
    return 'key' in op ? this.#get(op) : this.#namespaces(op);
  }

  async #get({ namespace, key }: GetOperation): Promise<Item | null> {
    const facts = this.#factsOf(namespace);
    if (facts) return facts.get(namespace, key);
    return found(async () => itemOf(await this.#of(namespace).getDocument(pathOf(namespace), encode(key))));
  }

  async #search(op: SearchOperation): Promise<SearchItem[]> {
    const { namespacePrefix, offset = 0, limit = 10 } = op;
    const facts = this.#factsOf(namespacePrefix);
    return slice(facts ? facts.search(op) : this.#inOrder(op, offset + limit), offset, limit);
  }

  /** Yields the items that a search finds, and then all others without a score. */
  async *#inOrder({ namespacePrefix, query, filter }: SearchOperation, most: number): AsyncGenerator<SearchItem> {
    const client = this.#of(namespacePrefix);
    const asked = {
      limit: Math.max(1, Math.min(200, most)),
      ...(namespacePrefix.length > 0 && { namespace: pathOf(namespacePrefix) }),
      ...(filter && { filter: JSON.stringify(filter) }),
    };
    const scored = new Set<string>();
    const name = ({ namespace, key }: FoundDocument) => `${namespace}/${key}`;
    if (query) {
      for await (const document of client.listDocuments({ ...asked, query })) {
        scored.add(name(document));
        yield { ...itemOf(document), ...(document.score !== undefined && { score: document.score }) };
      }
    }
    for await (const document of client.listDocuments(asked)) {
      if (!scored.has(name(document))) yield itemOf(document);
    }
  }

  async #namespaces({ matchConditions = [], maxDepth, limit, offset }: ListNamespacesOperation): Promise<string[][]> {
    const paths: { prefix?: string[]; suffix?: string[] } = {};
    for (const { matchType, path } of matchConditions) {
      if (paths[matchType]) throw new Error(`throughline: the memory takes one ${matchType}`);
      paths[matchType] = path;
    }
    const { prefix = [], suffix = [] } = paths;
    const lists = this.#of(prefix).listDocumentNamespaces({
      ...(prefix.length > 0 && { prefix: pathOf(prefix) }), ...(suffix.length > 0 && { suffix: pathOf(suffix) }),
      ...(maxDepth !== undefined && { maxDepth }),
    });
    return (await slice(lists, offset, limit)).map((labels) => labels.map(decode));
  }

  async #put(op: PutOperation): Promise<void> {
    const { namespace, key, value } = op;
    const facts = this.#factsOf(namespace);
    if (facts) return facts.put(op);
    const client = this.#of(namespace);
    if (value === null) {
      await found(() => client.deleteDocument(pathOf(namespace), encode(key)));
      return;
    }
    const paths = op.index === false ? [] : op.index ?? this.#options.fields;
    const document: NewDocument = { value, ...(paths && !paths.includes(whole) && { index: paths }) };
    await client.putDocument(pathOf(namespace), encode(key), document);
  }

  /** Returns the client that acts for the user of a namespace. */
  #of(namespace: string[]): Client {
    const { client, userAt } = this.#options;
    if (userAt === undefined) return client;
    const user = namespace[userAt];
    if (!user || user === '*') throw new Error(`throughline: label ${userAt} of the namespace has to name the user`);
    return client.as(user);
  }

  /** Returns the facts where a namespace is theirs. Its labels may begin with the user's. */
  #factsOf(namespace: string[]): Facts | undefined {
    const { facts, userAt = -1 } = this.#options;
    if (!facts) return undefined;
    const ours = [...namespace.slice(0, userAt + 1), ...facts];
    return isSame(namespace.slice(0, ours.length), ours) ? new Facts(this.#of(namespace), ours) : undefined;
  }
}

function isPut(op: Operation): op is PutOperation {
  return 'value' in op;
}

function itemOf({ namespace, key, value, createdAt, updatedAt }: Document | FoundDocument): Item {
  return {
    namespace: namespaceOf(namespace), key: decode(key), value: value as Record<string, unknown>,
    createdAt: new Date(createdAt), updatedAt: new Date(updatedAt),
  };
}

/** Makes a call. What does not exist is null. */
async function found<T>(call: () => Promise<T>): Promise<T | null> {
  try {
    return await call();
  } catch (error) {
    if (isProblem(error, 'not_found')) return null;
    throw error;
  }
}

/** Gets some items of a list, and no page after them. */
async function slice<T>(list: AsyncIterable<T>, offset: number, limit: number): Promise<T[]> {
  const items: T[] = [];
  if (limit <= 0) return items;
  let at = 0;
  for await (const item of list) {
    if (at++ < offset) continue;
    items.push(item);
    if (items.length === limit) break;
  }
  return items;
}

/** Makes a call for each item, some at a time. The first error is thrown after all have ended. */
async function each<T, R>(items: T[], call: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  const left = items.entries();
  const work = async () => {
    for (const [at, item] of left) {
      try {
        results[at] = await call(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  if (failures.length > 0) throw failures[0];
  return results;
}
