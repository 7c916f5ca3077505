// One chat: its session, its messages, and the answer that streams.
import { signal } from '@preact/signals';
import { chat } from '../api/chat';
import * as api from '../api/calls';
import type { ChatBody, ChatDone, PromptRecord, Session } from '../api/types';
import { errorText, newId } from '../format';
import { MessageStore } from '../messages/store';
import type { Feed } from './feed';

/** The answer that streams, or that has failed. */
export interface Answer {
  asked: string;
  text: string;
  promptId?: string;
  error?: unknown;
  /** Whether the user's message is stored, so that it must not be sent again. */
  stored: boolean;
}

export type Options = Pick<ChatBody, 'agentId' | 'recipe'>;

export class Chat {
  readonly session = signal<Session | undefined>(undefined);
  readonly missing = signal(false);
  readonly error = signal<unknown>(undefined);
  readonly draft = signal('');
  readonly options = signal<Options>({});
  readonly sending = signal(false);
  readonly answer = signal<Answer | undefined>(undefined);
  /** The prompts of answers, by the id of the answer, as far as they are known. */
  readonly prompts = signal<ReadonlyMap<string, PromptRecord>>(new Map());
  readonly messages: MessageStore;
  #key = '';
  readonly #asked = new Set<string>(); // prompts that were read
  #opened: Promise<void> | undefined;

  constructor(
    readonly id: string,
    readonly feed: Feed,
  ) {
    this.messages = new MessageStore(id);
  }

  open(): Promise<void> {
    return (this.#opened = this.#load());
  }

  async #load(): Promise<void> {
    try {
      const [session] = await Promise.all([api.getSession(this.id), this.messages.load()]);
      this.session.value = session;
      this.missing.value = !session;
      this.error.value = undefined;
    } catch (error) {
      this.error.value = error;
    }
  }

  /**
   * Sends the draft, which leaves the field at once, and streams the answer. A text that was not stored comes back into
   * the field, and is sent with the same key again. A draft that is sent while the session is still loading waits for it.
   */
  async send(): Promise<void> {
    const text = this.draft.value.trim();
    if (!text || this.sending.value) return;
    if (!this.session.value) {
      await this.#opened;
      if (this.session.value) await this.send();
      return;
    }
    if (text !== this.answer.value?.asked || !this.#key) this.#key = newId('turn');
    this.sending.value = true;
    this.draft.value = '';
    this.answer.value = { asked: text, text: '', stored: false };
    try {
      await this.#stream(text);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.sending.value = false;
    }
    this.feed.watch();
  }

  async #stream(text: string): Promise<void> {
    const body: ChatBody = { sessionId: this.id, message: text, ...this.options.value };
    const on = {
      prompt: (built: { promptId: string; userMessageId: string }) => {
        this.#key = '';
        this.#change({ promptId: built.promptId, stored: true });
        this.#storedMessage(built.userMessageId, 'user', text);
      },
      token: (token: string) => this.#change({ text: (this.answer.value?.text ?? '') + token }),
      done: (done: ChatDone) => this.#finish(done),
    };
    await chat(body, this.#key, on, new AbortController().signal);
  }

  #change(change: Partial<Answer>): void {
    if (this.answer.value) this.answer.value = { ...this.answer.value, ...change };
  }

  #finish({ messageId, usage, model }: ChatDone): void {
    const answer = this.answer.value!;
    this.#storedMessage(messageId, 'assistant', answer.text, { promptId: answer.promptId, usage, model });
    this.answer.value = undefined;
    void this.showPrompt(messageId, answer.promptId);
    void this.refresh();
  }

  #fail(error: unknown): void {
    const { asked, stored } = this.answer.value!;
    if (stored) this.#key = '';
    else this.draft.value = this.draft.value ? `${asked}\n${this.draft.value}` : asked;
    this.answer.value = { ...this.answer.value!, error };
    this.feed.add('failed', errorText(error));
    if (stored) void this.refresh();
  }

  #storedMessage(messageId: string, role: 'user' | 'assistant', content: string, metadata?: Record<string, unknown>): void {
    const session = this.session.value!;
    const now = new Date().toISOString();
    const { sessionId, context, coachId, mode } = session;
    this.messages.add({
      messageId, role, content, timestamp: now, seq: 0, sessionId, context, coachId, mode,
      metadata: metadata as Record<string, never>,
    });
    this.feed.stored(session, messageId, content);
  }

  async refresh(): Promise<void> {
    const session = await api.getSession(this.id).catch(() => undefined);
    if (session) this.session.value = session;
  }

  /** Loads the prompt of an answer, to show what it was made from. */
  async showPrompt(messageId: string, promptId: string | undefined): Promise<void> {
    if (!promptId || this.#asked.has(promptId)) return;
    this.#asked.add(promptId);
    const prompt = await api.getPrompt(promptId).catch(() => void this.#asked.delete(promptId));
    if (prompt) this.prompts.value = new Map(this.prompts.value).set(messageId, prompt);
  }

  async leave(): Promise<void> {
    await api.leaveSession(this.id);
    this.feed.watch();
  }

  async setStatus(status: 'active' | 'completed'): Promise<void> {
    this.session.value = await api.changeSession(this.id, { status });
    this.feed.watch();
  }
}

const open = new Map<string, Chat>();
const keyOf = (user: string, id: string) => `${user}/${id}`;

/** The chat of a session. It stays while the user looks at other screens, so that an answer goes on. */
export function chatOf(id: string, feed: Feed): Chat {
  const key = keyOf(feed.user, id);
  let found = open.get(key);
  if (!found) {
    found = new Chat(id, feed);
    open.set(key, found);
    void found.open();
  }
  return found;
}

/** Forgets the chat of a session, of which something was deleted. It is read again when it is shown. */
export function forgetChat(user: string, id: string): void {
  open.delete(keyOf(user, id));
}

/** Forgets all chats, because their user was erased or has signed out. */
export function forgetChats(): void {
  open.clear();
}
