/** One page of a list. */
export interface Page<T> {
  items: T[];
  nextCursor?: string | undefined;
}

/** A list. Iterating over it gets page after page, and yields their items. */
export class Pages<T> implements AsyncIterable<T> {
  readonly #get: (cursor: string | undefined) => Promise<Page<T>>;

  constructor(get: (cursor: string | undefined) => Promise<Page<T>>) { this.#get = get; }

  /** Gets one page: the first, or that of a cursor. */
  page(cursor?: string): Promise<Page<T>> { return this.#get(cursor); }

  /** Gets the pages one after the other. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let cursor: string | undefined;
    do {
      const page = await this.#get(cursor);
      yield page;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.items;
  }

  /** Gets all items. */
  async all(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }
}
