// What a tab keeps of the feed, so that a reload does not lose it: the events, and the records that they were found from.
import type { FeedEvent } from './feed';

export interface Kept {
  events: FeedEvent[];
  /** Until when the records are watched, in milliseconds. */
  until: number;
  /** When the summaries of sessions were written, which facts are superseded, and the states of todos, by their ids. */
  sessions: [string, string][];
  memories: [string, boolean][];
  todos: [string, string][];
}

const prefix = 'throughline.feed.';

/** Returns what the tab has kept of a user. */
export function keptOf(user: string): Kept | undefined {
  try {
    return (JSON.parse(sessionStorage.getItem(prefix + user) ?? 'null') as Kept | null) ?? undefined;
  } catch {
    return undefined; // storage is blocked or holds something else
  }
}

export function keep(user: string, kept: Kept): void {
  try {
    sessionStorage.setItem(prefix + user, JSON.stringify(kept));
  } catch {
    // Without storage the events are gone after a reload, and nothing else.
  }
}

export function dropKept(user: string): void {
  try {
    sessionStorage.removeItem(prefix + user);
  } catch {
    // There is nothing where storage is blocked.
  }
}
