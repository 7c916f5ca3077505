/** A token, or a function that gets one, which is called again when the token is about to expire or is refused. */
export type TokenSource = string | (() => string | Promise<string>);

/** How long before its end a token is no longer used. */
const margin = 30_000;

/** Keeps the token of a source until it is about to expire. Calls that wait for a token share one. */
export class Tokens {
  #current: Promise<string> | undefined;
  #ends = Infinity;

  constructor(private readonly source: TokenSource) {}

  get(): Promise<string> {
    if (this.#current && Date.now() < this.#ends - margin) return this.#current;
    const current = this.#current = this.#fetch();
    this.#ends = Infinity;
    current.catch(() => this.drop(current));
    return current;
  }

  /** Forgets a token that was refused. It reports whether another can be had. */
  drop(token: Promise<string> | undefined = this.#current): boolean {
    if (this.#current === token) this.#current = undefined;
    return typeof this.source === 'function';
  }

  async #fetch(): Promise<string> {
    const token = typeof this.source === 'function' ? await this.source() : this.source;
    this.#ends = expiry(token);
    return token;
  }
}

/** Returns the time at which a JWT expires, in milliseconds, or Infinity for a token that does not say. */
function expiry(token: string): number {
  try {
    const part = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
    const { exp } = JSON.parse(atob(part)) as { exp?: unknown };
    return typeof exp === 'number' ? exp * 1000 : Infinity;
  } catch {
    return Infinity;
  }
}
