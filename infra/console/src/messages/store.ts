// The messages of one session that the page holds: the newest page first, older ones when they are wanted.
import { signal } from '@preact/signals';
import * as api from '../api/calls';
import type { Message } from '../api/types';

const pageSize = 100;
const largePage = 200; // the most that one call gives

type Fits = (message: Message) => boolean;

export class MessageStore {
  /** Pages in the order of time. A page never changes but the last one, which takes the new messages. */
  readonly pages = signal<Message[][]>([]);
  readonly loaded = signal(false);
  readonly error = signal<unknown>(undefined);
  /** Whether there are older messages. */
  readonly more = signal(false);
  #cursor: string | undefined;
  #loading: Promise<void> | undefined;
  #wanted: Fits | undefined;
  readonly #passed = new WeakSet<Message[]>();

  constructor(readonly session: string) {}

  /** Loads the newest page, or the next older one. */
  load(): Promise<void> {
    return this.#loading ?? this.#run(this.#load());
  }

  #run(load: Promise<void>): Promise<void> {
    const run = load.finally(() => {
      if (this.#loading === run) this.#loading = undefined;
    });
    return (this.#loading = run);
  }

  /** Loads again what could not be loaded. */
  again = (): Promise<void> => (this.#wanted === undefined ? this.load() : this.loadTo(this.#wanted));

  async #load(): Promise<void> {
    try {
      this.#show([await this.#fetch(pageSize)]);
    } catch (error) {
      this.error.value = error;
    }
  }

  async #fetch(limit: number): Promise<Message[]> {
    const page = await api.listMessages(this.session, { order: 'desc', limit, cursor: this.#cursor });
    this.#cursor = page.nextCursor;
    return page.items.reverse();
  }

  /** Puts older pages, in the order of time, in front of the others. */
  #show(older: Message[][]): void {
    this.error.value = undefined;
    this.pages.value = [...older.filter((page) => page.length > 0), ...this.pages.value];
    this.more.value = this.#cursor !== undefined;
    this.loaded.value = true;
  }

  /** Loads older pages until one holds a message that fits, and shows them together. */
  loadTo(fits: Fits): Promise<void> {
    return this.#run((this.#loading ?? Promise.resolve()).then(() => this.#loadTo(fits)));
  }

  async #loadTo(fits: Fits): Promise<void> {
    if (this.loaded.value && (this.#all().some(fits) || !this.more.value)) return;
    this.#wanted = fits;
    const older: Message[][] = [];
    try {
      do {
        const page = await this.#fetch(largePage);
        older.unshift(page);
        if (page.some(fits)) break;
        this.#passed.add(page);
      } while (this.#cursor);
      this.#show(older);
      this.#wanted = undefined;
    } catch (error) {
      this.error.value = error;
    }
  }

  /** Finds the nearest message that fits, before or after another one, or the newest. Older pages are loaded for it. */
  async find(fits: Fits, way: 'older' | 'newer', from?: string): Promise<Message | undefined> {
    const search = () => {
      const all = this.#all();
      const at = all.findIndex((m) => m.messageId === from);
      return way === 'newer' && at >= 0 ? all.slice(at + 1).find(fits) : all.slice(0, at < 0 ? undefined : at).findLast(fits);
    };
    const found = search();
    if (found || (way === 'newer' && from !== undefined)) return found;
    const known = new Set(this.#all());
    await this.loadTo((m) => !known.has(m) && fits(m));
    return search();
  }

  /** Finds the first message at a time or later. Older pages are loaded for it. */
  async since(time: number): Promise<Message | undefined> {
    await this.loadTo((m) => Date.parse(m.timestamp) < time);
    return this.#all().find((m) => Date.parse(m.timestamp) >= time);
  }

  #all = () => this.pages.value.flat();

  /** Whether a page was loaded on the way to another one, and need not be drawn before it comes near the window. */
  isPassed = (page: Message[]) => this.#passed.has(page);

  add(message: Message): void {
    if (this.#all().some((m) => m.messageId === message.messageId)) return;
    const pages = this.pages.value;
    const last = pages.at(-1);
    this.pages.value =
      last && last.length < pageSize ? [...pages.slice(0, -1), [...last, message]] : [...pages, [message]];
  }

  remove(messageId: string): void {
    this.pages.value = this.pages.value.map((page) =>
      page.some((m) => m.messageId === messageId) ? page.filter((m) => m.messageId !== messageId) : page,
    );
  }
}
