import { TimeoutError } from './errors.js';

/** The time that a call may take, and its cancellation. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #cancel = (): void => this.#controller.abort(this.outer?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ends = 0;

  constructor(private readonly timeout: number, private readonly outer?: AbortSignal) {
    this.extend();
    if (outer?.aborted) this.#cancel();
    outer?.addEventListener('abort', this.#cancel);
  }

  get signal(): AbortSignal { return this.#controller.signal; }

  /** Begins the timeout again, as each event of a stream does. */
  extend(): void {
    clearTimeout(this.#timer);
    this.#ends = Date.now() + this.timeout;
    this.#timer = setTimeout(
      () => this.#controller.abort(new TimeoutError(`no answer within ${this.timeout} ms`)), this.timeout);
  }

  /** Reports whether a wait ends before the deadline. */
  allows(wait: number): boolean { return Date.now() + wait < this.#ends; }

  /** Waits. It rejects when the call is cancelled. */
  async wait(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await this.during(new Promise<void>((resolve) => { timer = setTimeout(resolve, ms); }))
      .finally(() => clearTimeout(timer));
  }

  /** Waits for work that does not end by itself when the call is cancelled. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    let stop = (): void => {};
    const cancelled = new Promise<never>((_, reject) => {
      this.signal.addEventListener('abort', stop = () => reject(this.signal.reason));
    });
    try {
      const done = await Promise.race([work, cancelled]);
      this.signal.throwIfAborted();
      return done;
    } finally {
      this.signal.removeEventListener('abort', stop);
    }
  }

  /** Ends the call: its timer, and its connection if that is still open. */
  end(): void {
    clearTimeout(this.#timer);
    this.outer?.removeEventListener('abort', this.#cancel);
    this.#controller.abort();
  }
}
