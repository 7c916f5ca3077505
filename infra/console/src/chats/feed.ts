// The feed of events: what happens to the user's memory, as the API shows it. There is no call for events, so for a while after
// each turn the records are read again, and what has changed is an event.
import { signal } from '@preact/signals';
import * as api from '../api/calls';
import type { Memory, Session, Todo } from '../api/types';
import { contextLabel } from '../format';
import { link } from '../route';
import { dropKept, keep, keptOf } from './kept';

export type EventKind = 'stored' | 'built' | 'summarised' | 'indexed' | 'remembered' | 'superseded' | 'promised' | 'kept' | 'failed';

export interface FeedEvent {
  id: number;
  kind: EventKind;
  text: string;
  at: string;
  href?: string;
}

const watchTime = 40_000;
const interval = 1_000;
const maxEvents = 60;

export class Feed {
  readonly events = signal<FeedEvent[]>([]);
  readonly watching = signal(false);
  #until = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sessions = new Map<string, string>();
  #memories = new Map<string, boolean>();
  #todos = new Map<string, string>();
  #unindexed = new Map<string, { text: string; tries: number }>();
  /** The first reading of the records, with which the later ones are compared: whether it succeeded. */
  #known: Promise<boolean>;
  #isKnown = false;

  constructor(readonly user: string) {
    const kept = keptOf(user);
    if (!kept) {
      this.#known = this.#learn();
      return;
    }
    this.events.value = kept.events;
    this.#sessions = new Map(kept.sessions);
    this.#memories = new Map(kept.memories);
    this.#todos = new Map(kept.todos);
    this.#isKnown = true;
    this.#known = Promise.resolve(true);
    if (kept.until > Date.now()) this.#watchUntil(kept.until);
  }

  add(kind: EventKind, text: string, href?: string): void {
    const id = (this.events.value[0]?.id ?? 0) + 1;
    this.events.value = [{ id, kind, text, at: new Date().toISOString(), href }, ...this.events.value].slice(0, maxEvents);
    this.#keep();
  }

  /** Forgets events, in the page and in what the tab keeps. */
  forget(isGone: (event: FeedEvent) => boolean): void {
    this.events.value = this.events.value.filter((event) => !isGone(event));
    this.#keep();
  }

  #learn(): Promise<boolean> {
    return this.#read(false).then(
      () => true,
      () => false,
    );
  }

  /** Keeps the events once the records are known. Before that, a reload reads them anew. */
  #keep(): void {
    if (!this.#isKnown) return;
    keep(this.user, {
      events: this.events.value, until: this.#until,
      sessions: [...this.#sessions], memories: [...this.#memories], todos: [...this.#todos],
    });
  }

  /** Tells of a message that was stored, and watches what becomes of it. */
  stored(session: Session, messageId: string, text: string): void {
    this.add('stored', `${contextLabel(session.context)}: ${text}`, link('session', session.sessionId, { message: messageId }));
    this.#unindexed.set(messageId, { text, tries: 0 });
    this.watch();
  }

  /** Looks for changes for a while from now on. */
  watch(): void {
    this.#watchUntil(Date.now() + watchTime);
  }

  #watchUntil(until: number): void {
    this.#until = until;
    this.watching.value = true;
    this.#timer ??= setTimeout(() => void this.#look(), interval);
  }

  /** Stops watching. What the tab keeps stays. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#until = 0;
    this.watching.value = false;
  }

  async #look(): Promise<void> {
    try {
      if (!(await this.#known)) this.#known = this.#learn();
      else if (!document.hidden) await this.#read(true);
    } catch {
      // The screen that caused the work shows the error; the next look may succeed.
    }
    this.#timer = undefined;
    if (Date.now() < this.#until) {
      this.#timer = setTimeout(() => void this.#look(), interval);
    } else {
      this.watching.value = false;
    }
  }

  async #read(tell: boolean): Promise<void> {
    const [sessions, memories, todos] = await Promise.all([api.listSessions(), api.listMemories(), api.listTodos()]);
    const said = tell ? this.add.bind(this) : () => undefined;
    this.#compareSessions(sessions, said);
    this.#compareMemories(memories, said);
    this.#compareTodos(todos, said);
    this.#isKnown = true;
    this.#keep();
    if (tell) await this.#askForIndexed();
  }

  #compareSessions(sessions: Session[], tell: Feed['add']): void {
    for (const s of sessions) {
      if (!s.summary || this.#sessions.get(s.sessionId) === s.summary.updatedAt) continue;
      this.#sessions.set(s.sessionId, s.summary.updatedAt);
      tell('summarised', `${contextLabel(s.context)}: ${s.summary.text}`, link('session', s.sessionId));
    }
  }

  #compareMemories(memories: Memory[], tell: Feed['add']): void {
    for (const m of memories) {
      const old = this.#memories.get(m.id);
      this.#memories.set(m.id, m.supersededBy !== undefined);
      if (old === undefined && !m.supersededBy) tell('remembered', m.content, link('memory', '', { fact: m.id }));
      if (m.supersededBy && !old) tell('superseded', m.content, link('memory', '', { fact: m.id }));
    }
  }

  #compareTodos(todos: Todo[], tell: Feed['add']): void {
    for (const t of todos) {
      const old = this.#todos.get(t.id);
      this.#todos.set(t.id, t.status);
      if (!old) tell('promised', t.content, link('memory'));
      if (t.status === 'COMPLETED' && old === 'PENDING') tell('kept', t.content, link('memory'));
    }
  }

  /** A message is indexed when a search finds it. Each is searched for a few times at most. */
  async #askForIndexed(): Promise<void> {
    const next = this.#unindexed.entries().next().value;
    if (!next) return;
    const [messageId, message] = next;
    this.#unindexed.delete(messageId);
    const found = await api.recall(message.text.slice(0, 1000), 20);
    const hit = found.messages.find((m) => m.messageId === messageId);
    if (hit) {
      this.add('indexed', `${contextLabel(hit.context)}: ${message.text}`, link('session', hit.sessionId, { message: messageId }));
    } else if (message.tries < 5) {
      this.#unindexed.set(messageId, { text: message.text, tries: message.tries + 1 });
    }
  }
}

let current: Feed | undefined;

/** The feed of a user. It goes on while the user looks at other screens. */
export function feedOf(user: string): Feed {
  if (current?.user !== user) {
    current?.stop();
    current = new Feed(user);
  }
  return current;
}

/** Forgets the feed of a user who is erased or has signed out. */
export function forgetFeed(user: string): void {
  if (current?.user === user) {
    current.stop();
    current = undefined;
  }
  dropKept(user);
}
