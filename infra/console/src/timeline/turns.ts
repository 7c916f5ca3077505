// The order of the timeline: the newest turn first, and within a turn the question before its answer.
import type { Entry } from './store';
import { longestPause } from './threads';

type Turn = Entry[];

/**
 * Orders entries, which come with the newest message first. A turn is a message of the user with what answers it in the
 * same session, up to a pause as long as one that ends a thread. All of a turn has the time of its first message, so that
 * a turn over midnight is not torn apart.
 */
export function inTurns(entries: Entry[]): Entry[] {
  const turns: Turn[] = [];
  const last = new Map<string, { turn: Turn; at: number }>();
  for (const entry of [...entries].reverse().sort((a, b) => Date.parse(a.time) - Date.parse(b.time))) {
    if ('checkIn' in entry) {
      turns.push([entry]);
      continue;
    }
    const { sessionId, role } = entry.message;
    const at = Date.parse(entry.time);
    const before = last.get(sessionId);
    if (before && role !== 'user' && at - before.at <= longestPause) {
      before.turn.push({ ...entry, time: before.turn[0]!.time });
      before.at = at;
    } else {
      const turn = [entry];
      turns.push(turn);
      last.set(sessionId, { turn, at });
    }
  }
  return turns.reverse().flat();
}
