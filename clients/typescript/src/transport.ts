import type { Deadline } from './deadline.js';
import { ConnectionError, ProblemError, readProblem } from './errors.js';
import type { Tokens } from './tokens.js';

/** One request, before the token is added. */
export interface Outgoing {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
}

/** One attempt of a call, for the app's log. It has no token and no content. */
export interface Attempted {
  method: string;
  url: string;
  /** Of the answer, or undefined where none came. */
  status: number | undefined;
  milliseconds: number;
  /** The id by which the server's log has the request. */
  requestId: string | undefined;
}

/** Counts the attempts of a call. */
export class Attempts {
  #made = 0;
  /** Whether an answer was lost, so that the server may have done what was asked. */
  lost = false;

  constructor(private readonly most: number, public deadline: Deadline) {}

  /** Waits before the next attempt after a failure. It throws the failure where no attempt is left. */
  async next(failure: Error): Promise<void> {
    this.lost ||= !(failure instanceof ProblemError);
    const asked = failure instanceof ProblemError ? failure.retryAfter : undefined;
    const wait = asked ?? (0.5 + Math.random() / 2) * Math.min(500 * 2 ** this.#made, 8000);
    // A conflict with Retry-After is the first request with this key, still under way: only the timeout ends the wait.
    if (!(failure instanceof ProblemError && failure.status === 409)) this.#made++;
    if (this.#made >= this.most || !this.deadline.allows(wait)) throw failure;
    await this.deadline.wait(wait);
  }
}

/** Sends requests, again where that is safe and may help. */
export class Transport {
  constructor(
    private readonly fetch: typeof globalThis.fetch, private readonly tokens: Tokens,
    private readonly log: ((attempt: Attempted) => void) | undefined,
  ) {}

  /** Sends a request until it is answered, and reads the answer. All operations of the API can be repeated. */
  async send<T>(
    out: Outgoing, deadline: Deadline, attempts: Attempts, read: (answer: Response) => T | Promise<T>,
  ): Promise<T> {
    let renewed = false;
    for (;;) {
      try {
        const answer = await this.#once(out, deadline);
        // The attempt whose answer was lost has deleted it.
        if (out.method === 'DELETE' && answer.status === 404 && attempts.lost) return undefined as T;
        if (answer.ok) return await read(answer);
        throw await readProblem(answer);
      } catch (error) {
        deadline.signal.throwIfAborted();
        const failure = error as Error;
        if (failure instanceof ProblemError && failure.status === 401 && !renewed && this.tokens.drop()) {
          renewed = true;
          continue;
        }
        if (!mayHelp(failure)) throw failure;
        await attempts.next(failure);
      }
    }
  }

  async #once(out: Outgoing, deadline: Deadline): Promise<Response> {
    const token = await deadline.during(this.tokens.get());
    const headers = { ...out.headers, Authorization: `Bearer ${token}` };
    const { fetch } = this;
    const begun = Date.now();
    let answer: Response | undefined;
    try {
      answer = await fetch(out.url, { method: out.method, headers, body: out.body ?? null, signal: deadline.signal });
      return answer;
    } catch (cause) {
      const why = cause instanceof Error ? (cause.cause instanceof Error ? cause.cause : cause).message : String(cause);
      throw new ConnectionError(`${out.method} ${out.url} got no answer: ${why}`, { cause });
    } finally {
      this.log?.({
        method: out.method, url: out.url, status: answer?.status, milliseconds: Date.now() - begun,
        requestId: answer?.headers.get('X-Request-Id') ?? undefined,
      });
    }
  }
}

/** Reports whether another attempt may succeed. */
function mayHelp(failure: Error): boolean {
  if (!(failure instanceof ProblemError)) return failure instanceof ConnectionError;
  return [429, 500, 502, 503, 504].includes(failure.status) || (failure.status === 409 && failure.retryAfter !== undefined);
}
