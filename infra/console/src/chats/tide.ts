// The tide: what happens to the user's memory, as the API shows it. There is no call for events, so for a while after
// each turn the records are read again, and what has changed is an event.
import { signal } from '@preact/signals';
import * as api from '../api/calls';
import type { Memory, Session, Todo } from '../api/types';
import { contextLabel } from '../format';
import { link } from '../route';

export type EventKind = 'stored' | 'built' | 'summarised' | 'indexed' | 'remembered' | 'superseded' | 'promised' | 'kept' | 'failed';

export interface TideEvent {
  id: number;
  kind: EventKind;
  text: string;
  at: string;
  href?: string;
}

const watchTime = 40_000;
const interval = 1_000;
const maxEvents = 60;

export class Tide {
  readonly events = signal<TideEvent[]>([]);
  readonly watching = signal(false);
  #count = 0;
  #until = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sessions = new Map<string, string>();
  #memories = new Map<string, Memory>();
  #todos = new Map<string, Todo>();
  #unindexed = new Map<string, { text: string; tries: number }>();
  #known: Promise<void>;

  constructor(readonly user: string) {
    this.#known = this.#read(false).catch(() => undefined);
  }

  add(kind: EventKind, text: string, href?: string): void {
    const event = { id: ++this.#count, kind, text, at: new Date().toISOString(), href };
    this.events.value = [event, ...this.events.value].slice(0, maxEvents);
  }

  /** Tells of a message that was stored, and watches what becomes of it. */
  stored(session: Session, messageId: string, text: string): void {
    this.add('stored', `${contextLabel(session.context)}: ${text}`, link('session', session.sessionId, { message: messageId }));
    this.#unindexed.set(messageId, { text, tries: 0 });
    this.watch();
  }

  /** Looks for changes for a while from now on. */
  watch(): void {
    this.#until = Date.now() + watchTime;
    this.watching.value = true;
    this.#timer ??= setTimeout(() => void this.#look(), interval);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#until = 0;
    this.watching.value = false;
  }

  async #look(): Promise<void> {
    try {
      await this.#known;
      if (!document.hidden) await this.#read(true);
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
    if (tell) await this.#askForIndexed();
  }

  #compareSessions(sessions: Session[], tell: Tide['add']): void {
    for (const s of sessions) {
      if (!s.summary || this.#sessions.get(s.sessionId) === s.summary.updatedAt) continue;
      this.#sessions.set(s.sessionId, s.summary.updatedAt);
      tell('summarised', `${contextLabel(s.context)}: ${s.summary.text}`, link('session', s.sessionId));
    }
  }

  #compareMemories(memories: Memory[], tell: Tide['add']): void {
    for (const m of memories) {
      const old = this.#memories.get(m.id);
      this.#memories.set(m.id, m);
      if (!old && !m.supersededBy) tell('remembered', m.content, link('memory', '', { fact: m.id }));
      if (m.supersededBy && !old?.supersededBy) tell('superseded', m.content, link('memory', '', { fact: m.id }));
    }
  }

  #compareTodos(todos: Todo[], tell: Tide['add']): void {
    for (const t of todos) {
      const old = this.#todos.get(t.id);
      this.#todos.set(t.id, t);
      if (!old) tell('promised', t.content, link('memory'));
      if (t.status === 'COMPLETED' && old?.status === 'PENDING') tell('kept', t.content, link('memory'));
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

let current: Tide | undefined;

/** The tide of a user. It goes on while the user looks at other screens. */
export function tideOf(user: string): Tide {
  if (current?.user !== user) {
    current?.stop();
    current = new Tide(user);
  }
  return current;
}
