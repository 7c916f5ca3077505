import type { Options } from '../client.js';

/** How many turns that could not be stored are kept. */
const most = 100;

interface Late {
  sessionId: string;
  store(options: Options): Promise<unknown>;
}

/** Turns that could not be stored, the oldest first. They last as long as the process. */
let waiting: Late[] = [];

/** Keeps what could not be stored, until a later turn of this process stores it. The oldest of more than 100 is lost. */
export function storeLater(sessionId: string, store: (options: Options) => Promise<unknown>): void {
  waiting.push({ sessionId, store });
  waiting = waiting.slice(-most);
}

/** Stores what earlier turns of a session could not, in their order. What fails again waits on. */
export async function storeWaiting(sessionId: string, options: Options): Promise<void> {
  const due = waiting.filter((late) => late.sessionId === sessionId);
  waiting = waiting.filter((late) => late.sessionId !== sessionId);
  for (const [n, late] of due.entries()) {
    try {
      await late.store(options);
    } catch (error) {
      waiting.unshift(...due.slice(n));
      throw error;
    }
  }
}
