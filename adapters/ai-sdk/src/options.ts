import type { Replaces, Softness } from '@throughline/client/adapter';
import type { Client } from '@throughline/client';

/** What the middleware is made with. */
export interface MemoryOptions extends Softness {
  /** Acts for the user whose memory it is: in a server new Client({ token: credential }).as(user). */
  client: Client;
  /** The conversation. Default: the sessionId of the call's providerOptions. */
  sessionId?: string;
  /** The screen of the app. With it and coachId, a session that does not exist is made. */
  context?: string;
  coachId?: string;
  agentId?: string;
  recipe?: string;
  /** Tokens for what is taken from the memory. Default: the recipe's. */
  budget?: number;
  /**
   * Where the conversation before the user's message is from: the messages of the call, or the memory. With 'memory' the
   * call needs only the user's message, and a turnId. Default: 'app'.
   */
  history?: 'app' | 'memory';
  /** Whether the answer and the user's message are stored. Default: 'always'. */
  store?: 'always' | 'never';
  /** Whether the calls of tools and their results are stored beside the text. Default: true. */
  includeToolCalls?: boolean;
  /** Writes what the model gets of the memory. Default: the text between <app-context> tags, with a warning. */
  template?: (memory: string) => string;
}

/** What can be said with each call: providerOptions: { throughline: { turnId: message.id } }. */
export interface CallOptions {
  /** Names the user's turn, such as the id of the user's UI message. A repeat of it stores nothing twice. */
  turnId?: string;
  /**
   * What the turn takes the place of when an answer is generated again or a message is edited: the last turn, or one that is
   * named. It needs a turnId of its own.
   */
  replaces?: Replaces;
  sessionId?: string;
  context?: string;
  coachId?: string;
}

