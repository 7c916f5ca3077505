// Threads, by the rule of prompts (internal/prompt/history): sittings of all sessions with one coach, as long as no
// pause is longer than half an hour. A sitting has no longer pause either, so a thread ends at the first one.
import type { Message } from '../api/types';

/** The longest pause within a thread, in milliseconds. */
export const longestPause = 30 * 60_000;

export interface Thread {
  coachId: string;
  /** The times of its first and of its last message. */
  from: string;
  to: string;
  /** The sessions that it joins, by their first messages in it. */
  sessions: string[];
  /** Whether it may begin before the messages that were read. */
  partial: boolean;
}

type Read = Pick<Message, 'messageId' | 'coachId' | 'sessionId' | 'timestamp'>;

/**
 * Returns the thread of each message, by the message's id. The messages are those of all contexts, newest first. more
 * says whether there are older ones, that were not read.
 */
export function threadsOf(messages: Read[], more: boolean): Map<string, Thread> {
  const threads = new Map<string, Thread>();
  const earliest = new Map<string, Thread>(); // of each coach
  for (const { messageId, coachId, sessionId, timestamp } of messages) {
    let thread = earliest.get(coachId);
    if (!thread || pause(timestamp, thread.from) > longestPause) {
      thread = { coachId, from: timestamp, to: timestamp, sessions: [], partial: false };
      earliest.set(coachId, thread);
    }
    thread.from = timestamp;
    if (thread.sessions[0] !== sessionId) thread.sessions = [sessionId, ...thread.sessions.filter((id) => id !== sessionId)];
    threads.set(messageId, thread);
  }
  const oldest = messages.at(-1);
  if (more && oldest) {
    for (const thread of earliest.values()) thread.partial = pause(oldest.timestamp, thread.from) <= longestPause;
  }
  return threads;
}

const pause = (from: string, to: string) => Date.parse(to) - Date.parse(from);
