import type { Options } from '../client.js';
import { ConnectionError, ProblemError } from '../errors.js';

/** What an adapter does where the memory fails. */
export interface Softness {
  /** Milliseconds that the agent waits for the memory, each time. Default: 1,500. */
  timeout?: number | undefined;
  /**
   * Gets the memory's errors, and the agent goes on without memory. Default: an outage is written to the console, and a
   * mistake of the app, such as a token that is not valid, is thrown.
   */
  onError?: ((error: unknown, during: 'begin' | 'finish') => void) | undefined;
}

/** Makes a call that an agent can do without, and returns another value where it fails. */
export async function soft<T, W>(
  softness: Softness, during: 'begin' | 'finish', call: (options: Options) => Promise<T>, without: W,
): Promise<T | W> {
  try {
    return await call({ signal: AbortSignal.timeout(softness.timeout ?? 1500) });
  } catch (error) {
    if (softness.onError) softness.onError(error, during);
    else if (!isOutage(error)) throw error;
    else console.warn(`throughline: the agent goes on without memory: ${(error as Error).message}`);
    return without;
  }
}

/** Reports whether an error says that the memory is down or busy, and not that the app has made a mistake. */
export function isOutage(error: unknown): boolean {
  if (error instanceof ProblemError) return error.status === 429 || error.status >= 500;
  return error instanceof ConnectionError || error instanceof Error && error.name === 'TimeoutError';
}
