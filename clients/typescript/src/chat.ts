import { ConnectionError, ProblemError } from './errors.js';
import type { ChatBuilt, ChatDone, ChatToken, Problem } from './operations.js';
import type { ServerEvent } from './stream.js';

/** One event of an answer: the prompt, then tokens, then done. An event error is thrown as a ProblemError. */
export type ChatEvent =
  | { event: 'prompt'; data: ChatBuilt }
  | { event: 'token'; data: ChatToken }
  | { event: 'done'; data: ChatDone };

/** Leaves out of a repeated stream what the app has already. A repeat has the same text, in other tokens perhaps. */
export class Replay {
  /** Whether the answer has ended. */
  done = false;
  #prompted = false;
  #text = '';
  #position = 0;

  /** Begins at the first event again. */
  restart(): void { this.#position = 0; }

  /** Returns what is new in an event, or undefined. */
  next(from: ServerEvent): ChatEvent | undefined {
    const event = { event: from.event, data: JSON.parse(from.data) as unknown };
    switch (event.event) {
      case 'error':
        throw new ProblemError(event.data as Problem);
      case 'prompt':
        if (this.#prompted) return undefined;
        this.#prompted = true;
        return event as ChatEvent;
      case 'token':
        return this.#rest((event.data as ChatToken).text);
      case 'done':
        this.done = true;
        return event as ChatEvent;
    }
    return undefined; // an event of a later version
  }

  #rest(text: string): ChatEvent | undefined {
    const known = this.#text.slice(this.#position, this.#position + text.length);
    if (!text.startsWith(known)) throw new ConnectionError('the repeated answer differs from what was received');
    this.#position += text.length;
    const rest = text.slice(known.length);
    this.#text += rest;
    return rest === '' ? undefined : { event: 'token', data: { text: rest } };
  }
}
