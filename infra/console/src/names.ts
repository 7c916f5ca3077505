// The names of sessions. A session without a title has the first words that were said in it, which are read once.
import { signal } from '@preact/signals';
import * as api from './api/calls';
import type { Session } from './api/types';
import { firstWords } from './format';
import { route } from './route';

/** The first words of sessions, by the session's id, of one user. */
const said = signal<ReadonlyMap<string, string>>(new Map());
const asked = new Set<string>();
let user = '';

/** The most sessions whose words are read. The others have their ids. */
const most = 100;
let reading = Promise.resolve();

/** Returns the name of a user's session. It is the id until its words are read. */
export function nameOf(session: Session, of: string): string {
  if (session.title) return session.title;
  if (of !== user) forgetAllWords(of);
  const known = said.value.get(session.sessionId);
  if (known === undefined && session.messageCount > 0) ask(session.sessionId);
  return known ?? session.sessionId;
}

/** Forgets the first words of all sessions, because the user is another one or was erased. */
export function forgetAllWords(of = ''): void {
  user = of;
  asked.clear();
  said.value = new Map();
}

/** Forgets the first words of a session, because a message of it was deleted. They are read again when they are shown. */
export function forgetWords(id: string): void {
  asked.delete(id);
  const left = new Map(said.value);
  left.delete(id);
  said.value = left;
}

/** Reads the first words of a session, after those that were asked for before, while the page is the user's. */
function ask(id: string): void {
  if (asked.has(id) || asked.size >= most) return;
  asked.add(id);
  const of = user;
  reading = reading
    .then(() => (of === route.peek().user ? api.listMessages(id, { order: 'asc', limit: 1 }) : undefined))
    .then(
      (page) => {
        const first = page?.items[0]?.content;
        if (!page) asked.delete(id);
        else if (first && of === user) said.value = new Map(said.value).set(id, firstWords(first));
      },
      () => void asked.delete(id), // it is asked for again when it is shown again
    );
}
