import { Replay } from './chat.js';
import { Deadline } from './deadline.js';
import { ConnectionError, ProblemError, TimeoutError } from './errors.js';
import {
  operations, version, type BegunTurn, type FinishBody, type FinishedTurn, type Operations, type Problem, type TurnBody,
} from './operations.js';
import type { Formatted } from './formats.js';
import { Pages, type Page } from './pages.js';
import { lines, serverEvents, type ServerEvent } from './stream.js';
import { Tokens, type TokenSource } from './tokens.js';
import { type Attempted, Attempts, Transport, type Outgoing } from './transport.js';

export type { ChatEvent } from './chat.js';
export type { Attempted } from './transport.js';
export { Pages } from './pages.js';

/** One line of the export: a record with its kind. */
export type Line = { kind: string } & Record<string, unknown>;

/** What can be said with each call. */
export interface Options {
  /** Cancels the call, and the waits between its attempts. */
  signal?: AbortSignal;
  /** Milliseconds for the whole call with its repeats; in a stream, without a sign of the server. */
  timeout?: number;
  /** How often the call is made at most. */
  attempts?: number;
  /** Go with the call, beside those of the client. */
  headers?: Record<string, string>;
  /** Default: a new one for each call. Name one to make the same call again after a restart of the app. */
  idempotencyKey?: string;
}

/** What a client is made with. */
export interface ClientOptions {
  /** The address of the API, such as https://api.example.com. */
  baseUrl: string;
  /** The address of the chat, turns and the export, where that is another: the output CoachUrl of a stage. */
  streamUrl?: string;
  /** The user's token; or, in a server, the credential that has the scope throughline/on-behalf. */
  token: TokenSource;
  /** Milliseconds for a call with its repeats. Default: 30,000. A stream without a sign for so long is joined again. */
  timeout?: number;
  /** How often a call is made at most. Default: 5, over about 8 seconds. */
  attempts?: number;
  /** Gets each attempt when it is answered, or got no answer. */
  log?: (attempt: Attempted) => void;
  /** Default: the global fetch. */
  fetch?: typeof globalThis.fetch;
}

/** How the client makes the call of one operation. */
interface Call {
  out: Outgoing;
  options: Options;
}

/** Makes what the app gets of the events of a stream, which may begin again after a cut. */
interface Repeatable<T> {
  restart(): void;
  next(event: ServerEvent): T | undefined;
  /** Whether the stream has ended as it should. */
  readonly done: boolean;
}

/** What the transport of useChat needs besides the methods. It is no part of the package's interface. */
export const internals = {} as {
  events<T>(client: Client, row: string, args: unknown[], replay: Repeatable<T>): AsyncGenerator<T, void, undefined>;
};

/** Calls the API. Each operation of the API is a method: path parameters first, then the body, the query, the options. */
export interface Client extends Operations {}
export class Client {
  readonly #options: ClientOptions;
  #transport: Transport;
  #user: string | undefined;

  /** It throws where an address or the token is missing. */
  constructor(options: ClientOptions) {
    checkAddress('baseUrl', options.baseUrl);
    if (options.streamUrl !== undefined) checkAddress('streamUrl', options.streamUrl);
    if (typeof options.token !== 'function' && !options.token) throw new Error('token is missing: a token, or a function that gets one');
    this.#options = options;
    this.#transport = new Transport(options.fetch ?? globalThis.fetch, new Tokens(options.token), options.log);
  }

  /**
   * Returns a client that acts for a user with the server's credential. It shares the token. A page of a browser must not
   * have such a credential, so it throws there.
   */
  as(user: string): Client {
    if (inBrowser()) {
      throw new Error('the server\'s credential must not be in a browser: call as(user) in your server');
    }
    const client = new Client(this.#options);
    client.#transport = this.#transport;
    client.#user = user;
    return client;
  }

  /**
   * Runs one turn with the app's own model: stores the user's message, calls answer with the prompt, and stores what it
   * returns. When answer throws, the turn is ended with that error, which is then thrown here.
   */
  async turn<const B extends TurnBody>(
    body: B, answer: (turn: Formatted<BegunTurn, B>) => FinishBody | Promise<FinishBody>, options: Options = {},
  ): Promise<FinishedTurn> {
    const turn = await this.beginTurn(body, options);
    let said: FinishBody;
    try {
      said = await answer(turn);
    } catch (error) {
      await this.finishTurn(turn.turnId, { error: `${String(error).slice(0, 500) || 'failed'}` }).catch(() => undefined);
      throw error;
    }
    return this.finishTurn(turn.turnId, said, options.signal ? { signal: options.signal } : {});
  }

  static {
    internals.events = (client, row, args, replay) =>
      client.#call(row.split(' '), args, replay) as AsyncGenerator<never, void, undefined>;
    for (const [name, row] of Object.entries(operations)) {
      Object.defineProperty(this.prototype, name, {
        value(this: Client, ...args: unknown[]) { return this.#call(row.split(' '), args); },
      });
    }
  }

  #call([method = '', path = '', ...words]: string[], args: unknown[], replay?: Repeatable<unknown>): unknown {
    const given = args.slice();
    const filled = path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(String(given.shift())));
    const body = words.includes('body') ? JSON.stringify(given.shift()) : undefined;
    const query = (words.includes('query') ? given.shift() ?? {} : {}) as Record<string, unknown>;
    const options = (given.shift() ?? {}) as Options;
    const headers: Record<string, string> = { ...options.headers };
    if (!inBrowser()) headers['User-Agent'] ??= `throughline-typescript/${version}`;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    if (this.#user !== undefined) headers['Throughline-User'] = percentEncoded(this.#user);
    if (words.includes('key')) headers['Idempotency-Key'] = options.idempotencyKey ?? newKey();
    const kind = words.at(-1);
    const stream = kind === 'events' || kind === 'lines';
    const base = (stream || path.startsWith('/v1/turns') ? this.#options.streamUrl : undefined) ?? this.#options.baseUrl;
    const call = (more?: object): Call => ({
      options, out: { method, headers, body, url: base.replace(/\/+$/, '') + filled + search({ ...query, ...more }) },
    });
    switch (kind) {
      case 'page': return new Pages((cursor) => this.#json(call(cursor === undefined ? {} : { cursor })) as Promise<Page<unknown>>);
      case 'events': return this.#events(call(), replay ?? new Replay());
      case 'lines': return this.#lines(call);
    }
    return this.#json(call());
  }

  #begin({ options }: Call): { deadline: Deadline; attempts: Attempts } {
    const deadline = new Deadline(options.timeout ?? this.#options.timeout ?? 30_000, options.signal);
    return { deadline, attempts: new Attempts(options.attempts ?? this.#options.attempts ?? 5, deadline) };
  }

  async #json(call: Call): Promise<unknown> {
    const { deadline, attempts } = this.#begin(call);
    try {
      return await this.#transport.send(call.out, deadline, attempts, readJson);
    } finally {
      deadline.end();
    }
  }

  /**
   * Yields the events of a chat. After a cut, and where the stream stalls, it asks again with the same key, and goes on where
   * the text ended.
   */
  async *#events<T>(call: Call, replay: Repeatable<T>): AsyncGenerator<T, void, undefined> {
    const { attempts } = this.#begin(call);
    for (;;) {
      const { deadline } = this.#begin(call);
      attempts.deadline.end();
      attempts.deadline = deadline;
      let opened = false;
      try {
        const answer = await this.#transport.send(call.out, deadline, attempts, (answered) => answered);
        if (answer.status === 204) return; // There is no answer to join.
        opened = true;
        replay.restart();
        for await (const from of serverEvents(answer, deadline)) {
          const event = replay.next(from);
          if (event) yield event;
          if (replay.done) return;
        }
        throw new ConnectionError('the answer was cut');
      } catch (error) {
        let failure = deadline.signal.aborted ? deadline.signal.reason as Error : error as Error;
        if (opened && failure instanceof TimeoutError) failure = new ConnectionError('the server gave no sign', { cause: failure });
        if (!opened || !(failure instanceof ConnectionError)) throw failure;
        deadline.end();
        attempts.deadline = this.#begin(call).deadline;
        await attempts.next(failure);
      } finally {
        deadline.end();
      }
    }
  }

  /** Yields the records of the export. It throws if the export was cut: then the app begins again. */
  async *#lines(call: (more?: object) => Call): AsyncGenerator<Line, void, undefined> {
    for (let after: unknown; after !== null;) after = yield* this.#part(call(after === undefined ? {} : { after }));
  }

  /** Yields the records of one answer, and returns where another goes on, or null at the end. */
  async *#part(call: Call): AsyncGenerator<Line, unknown, undefined> {
    const { deadline, attempts } = this.#begin(call);
    try {
      const answer = await this.#transport.send(call.out, deadline, attempts, (opened) => opened);
      for await (const text of lines(answer, deadline)) {
        const line = JSON.parse(text) as Line;
        if (line.kind === 'error') throw new ProblemError(line as unknown as Problem);
        if (line.kind === 'cursor') return line.after;
        yield line;
        if (line.kind === 'end') return null;
      }
      throw new ConnectionError('the export was cut');
    } catch (error) {
      deadline.signal.throwIfAborted();
      throw error;
    } finally {
      deadline.end();
    }
  }
}

/** Reads a JSON answer, which may have been cut. */
async function readJson(answer: Response): Promise<unknown> {
  if (answer.status === 204) return undefined;
  try {
    const text = await answer.text();
    return text === '' ? undefined : JSON.parse(text) as unknown;
  } catch (cause) {
    throw new ConnectionError('the answer was cut', { cause });
  }
}

/** Returns the query of an address, without what is undefined. */
function search(query: Record<string, unknown>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** Returns a text with all but the unreserved characters of RFC 3986 percent-encoded. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Throws where an address is none that a path can follow. */
function checkAddress(name: string, address: unknown): void {
  const isPath = inBrowser() && String(address).startsWith('/'); // of the page's own server
  if (typeof address !== 'string' || !isPath && !/^https?:\/\/[^/]/.test(address)) {
    throw new Error(`${name} is ${JSON.stringify(address)}: it has to be an address such as https://api.example.com`);
  }
  if (/\/v1\/?$/.test(address)) throw new Error(`${name} ends in /v1, which the client adds: leave it out`);
}

function inBrowser(): boolean { return typeof document !== 'undefined'; }

/** Returns 128 random bits in hexadecimal. crypto.randomUUID is missing from pages without https. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
}
