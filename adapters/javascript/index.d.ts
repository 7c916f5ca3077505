import type { Client, NewMemory, Options, Prompt, PromptBody } from '@throughline/client';

export type { NewMemory };

/** The name of a screen of the app. */
export type Context = PromptBody['context'];

/** How the memory is read. */
export type Reading = Pick<PromptBody, 'agentId' | 'recipe' | 'budget'>;

/** Where a conversation takes place. With context and coachId, a session that does not exist is made. */
export interface Place {
  sessionId: string;
  context?: string | undefined;
  coachId?: string | undefined;
  agentId?: string | undefined;
  recipe?: string | undefined;
  /** Tokens for what is taken from the memory. Default: the recipe's. */
  budget?: number | undefined;
}

/** A part of a message, with the API's own names. */
export type Part =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown }
  | { type: 'tool-result'; toolCallId: string; toolName: string; output: unknown; isError?: boolean }
  | { type: 'data'; name: string; data: unknown };

/** How a turn ended. */
export interface Answer {
  content: string;
  parts?: Part[];
  usage?: { promptTokens: number; completionTokens: number; totalTokens: number; cachedTokens?: number };
  finishReason?: string;
  model?: string;
  /** Why the answer is not whole. */
  error?: string;
}

/** One turn: the user's message, which is stored, and the prompt that was built for it. */
export interface Turn {
  prompt: Pick<Prompt, 'promptId' | 'system' | 'messages'>;
  /** Stores the answer and returns its id. A repeat stores nothing. It returns undefined for an answer without a text. */
  finish(answer: Answer): Promise<string | undefined>;
}

/**
 * What a turn takes the place of: the session's last turn, the turn of a message, or all messages after a seq. With the same
 * words the user's message is kept and answered again, with others it is edited.
 */
export type Replaces = 'last' | { messageId: string } | { afterSeq: number };

/**
 * Begins a turn: stores the user's message and gets the prompt. The key names the turn in its session: for a day, a turn that
 * is begun again is the same one, and an answer that is stored again is the first one. With replaces the earlier turn is
 * over: its answer, whole or cut, is deleted in the same step, and one that comes late is a conflict.
 */
export declare function beginTurn(
  client: Client, place: Place, message: string, key: string, replaces?: Replaces,
): Promise<Turn>;

/** Gets the prompt of a turn of which nothing is to be stored. The message may be stored already, with messageId. */
export declare function readTurn(client: Client, place: Place, message: string, messageId?: string): Promise<Turn>;

/** Makes a call in a session, which is made first if it does not exist. */
export declare function inSession<T>(client: Client, place: Place, call: () => Promise<T>): Promise<T>;

/**
 * Returns what a prompt knows beside the conversation itself: the sections of its system text, and the system messages
 * between its messages. The persona that the system text begins with is left out, because the app has instructions of its
 * own.
 */
export declare function memoryOf(prompt: Pick<Prompt, 'system' | 'messages'>): string;

/** Puts the memory between tags that no stored text can close. */
export declare function wrap(memory: string): string;

/** Escapes the tags of the memory in a text that the model gets beside it, such as the user's own words. */
export declare function escape(text: string): string;

/**
 * Returns a text without the block that it begins with, and the empty line after it. For frameworks that store what a model
 * gets: the block is never stored.
 */
export declare function unwrap(text: string): string;

/** Returns the block with what a prompt knows, or an empty text. The default template is wrap. */
export declare function blockOf(prompt: Pick<Prompt, 'system' | 'messages'>, template?: (memory: string) => string): string;

/** Returns a key of 64 characters for some texts. */
export declare function digest(...texts: string[]): Promise<string>;

/** Reports whether an error is a problem of the API with a code. */
export declare function isProblem(error: unknown, code: string): boolean;

/** What a model's tools say of themselves, and what they do. */
export declare const tools: {
  readonly SEARCH: string;
  readonly REMEMBER: string;
  readonly FORGET: string;
  search(client: Client, query: string, limit?: number, options?: Options): Promise<Record<string, unknown>[]>;
  /** Stores one fact. A repeat of the same call of a tool, with the same content, stores nothing. */
  remember(
    client: Client, content: string, type: string, call?: string, options?: Options,
  ): Promise<{ id: string; content: string }>;
  /** Deletes one fact. For an id that no fact has, it returns an error that a model can read. */
  forget(client: Client, id: string, options?: Options): Promise<{ forgotten: string } | { error: string }>;
};
