// The messages of one session that the page holds: the newest page first, older ones when they are wanted.
import { signal } from '@preact/signals';
import * as api from '../api/calls';
import type { Message } from '../api/types';

const pageSize = 100;
const largePage = 200; // the most that one call gives

export class MessageStore {
  /** Pages in the order of time. A page never changes but the last one, which takes the new messages. */
  readonly pages = signal<Message[][]>([]);
  readonly loaded = signal(false);
  readonly error = signal<unknown>(undefined);
  /** Whether there are older messages. */
  readonly more = signal(false);
  #cursor: string | undefined;
  #loading: Promise<void> | undefined;
  #wanted: string | undefined;
  readonly #passed = new WeakSet<Message[]>();

  constructor(readonly session: string) {}

  /** Loads the newest page, or the next older one. */
  load(): Promise<void> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
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

  /** Loads older pages until one holds the message, and shows them together. */
  async loadTo(messageId: string): Promise<void> {
    if (this.loaded.value && (this.#has(messageId) || !this.more.value)) return;
    this.#wanted = messageId;
    const older: Message[][] = [];
    try {
      do {
        const page = await this.#fetch(largePage);
        older.unshift(page);
        if (page.some((m) => m.messageId === messageId)) break;
        this.#passed.add(page);
      } while (this.#cursor);
      this.#show(older);
      this.#wanted = undefined;
    } catch (error) {
      this.error.value = error;
    }
  }

  /** Whether a page was loaded on the way to another one, and need not be drawn before it comes near the window. */
  isPassed = (page: Message[]) => this.#passed.has(page);

  #has = (messageId: string) => this.pages.value.some((page) => page.some((m) => m.messageId === messageId));

  add(message: Message): void {
    if (this.#has(message.messageId)) return;
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
