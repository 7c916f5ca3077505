import type { Item, PutOperation, SearchItem, SearchOperation } from '@langchain/langgraph-checkpoint';
import { isProblem } from '@throughline/client/adapter';
import type { ChangedMemory, Client, FoundMemory, Memory, MemorySearchBody } from '@throughline/client';

/** How many facts a search returns at most. */
const most = 100;

/** What of a fact can be changed. */
const changeable = ['content', 'pinned'];

/** Reads, changes and deletes the facts of a user under one namespace, whose next label is a fact's type. */
export class Facts {
  readonly #client: Client;
  readonly #namespace: string[];

  constructor(client: Client, namespace: string[]) {
    this.#client = client;
    this.#namespace = namespace;
  }

  /** Returns a fact of a type. */
  async get(namespace: string[], key: string): Promise<Item | null> {
    try {
      const item = this.#item(await this.#client.getMemory(key));
      return isSame(item.namespace, namespace) ? item : null;
    } catch (error) {
      if (isProblem(error, 'not_found')) return null;
      throw error;
    }
  }

  /** Yields current facts: first those that a query finds, and then the others, the newest first. */
  async *search({ namespacePrefix, query, filter = {} }: SearchOperation): AsyncGenerator<SearchItem> {
    const [type, ...more] = namespacePrefix.slice(this.#namespace.length);
    if (more.length > 0) return;
    for await (const item of this.#inOrder(query, type)) {
      if (passes(item.value, filter)) yield item;
    }
  }

  /** Changes or deletes a fact. */
  async put({ namespace, key, value }: PutOperation): Promise<void> {
    const known = await this.get(namespace, key);
    if (value === null) {
      if (known) await this.#client.deleteMemory(key);
      return;
    }
    if (!known) throw new Error('throughline: a new fact gets its id from the memory: use the tool remember');
    const changes = Object.entries(value).filter(([name, field]) => field !== known.value[name]);
    const other = changes.filter(([name]) => !changeable.includes(name));
    if (other.length > 0) throw new Error(`throughline: of a fact content and pinned can be changed, not ${other[0]![0]}`);
    if (changes.length > 0) await this.#client.changeMemory(key, Object.fromEntries(changes) as ChangedMemory);
  }

  async *#inOrder(query: string | undefined, type: string | undefined): AsyncGenerator<SearchItem> {
    const scored = new Set<string>();
    if (query) {
      const body = { query, limit: most, ...(type !== undefined && { types: [type] }) } as MemorySearchBody;
      for (const found of (await this.#client.searchMemories(body)).items) {
        scored.add(found.id);
        yield { ...this.#item(found), score: found.score };
      }
    }
    const only = { valid: 'true', ...(type !== undefined && { type }) } as Parameters<Client['listMemories']>[0];
    for await (const fact of this.#client.listMemories(only)) {
      if (!scored.has(fact.id)) yield this.#item(fact);
    }
  }

  #item({ id, content, type, pinned, source, createdAt = '', updatedAt = createdAt }: Memory | FoundMemory): Item {
    return {
      namespace: [...this.#namespace, type], key: id, value: { content, type, pinned, source },
      createdAt: new Date(createdAt), updatedAt: new Date(updatedAt),
    };
  }
}

function passes(value: Record<string, unknown>, filter: Record<string, unknown>): boolean {
  return Object.entries(filter).every(([name, wanted]) => {
    const isPlain = typeof wanted !== 'object' || wanted === null;
    if (!isPlain) throw new Error('throughline: facts are filtered by equality only');
    return value[name] === wanted;
  });
}

/** Reports whether two namespaces are the same. */
export function isSame(one: string[], other: string[]): boolean {
  return one.length === other.length && one.every((label, n) => label === other[n]);
}
