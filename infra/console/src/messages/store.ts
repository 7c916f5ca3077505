// The messages of one session that the page holds: the newest page first, older ones when they are wanted.
import { signal } from '@preact/signals';
import * as api from '../api/calls';
import type { Message } from '../api/types';

const pageSize = 100;

export class MessageStore {
  /** Pages in the order of time. A page never changes but the last one, which takes the new messages. */
  readonly pages = signal<Message[][]>([]);
  readonly loaded = signal(false);
  readonly error = signal<unknown>(undefined);
  /** Whether there are older messages. */
  readonly more = signal(false);
  #cursor: string | undefined;
  #loading: Promise<void> | undefined;

  constructor(readonly session: string) {}

  /** Loads the newest page, or the next older one. */
  load(): Promise<void> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #load(): Promise<void> {
    try {
      const page = await api.listMessages(this.session, { order: 'desc', limit: pageSize, cursor: this.#cursor });
      this.#cursor = page.nextCursor;
      this.error.value = undefined;
      if (page.items.length > 0) this.pages.value = [page.items.reverse(), ...this.pages.value];
      this.more.value = Boolean(page.nextCursor);
      this.loaded.value = true;
    } catch (error) {
      this.error.value = error;
    }
  }

  /** Loads older pages until one holds the message. */
  async loadTo(messageId: string): Promise<boolean> {
    if (!this.loaded.value) await this.load();
    while (!this.#has(messageId)) {
      if (!this.more.value || this.error.value) return false;
      await this.load();
    }
    return true;
  }

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
