import type { Client, Options } from '../client.js';
import { ProblemError } from '../errors.js';
import type { PromptBody, TurnBody } from '../operations.js';
import { encodeSessionId } from '../session-id.js';
import type { Built } from './block.js';
import { storeLater, storeWaiting } from './late.js';
import { isOutage, soft, type Softness } from './soft.js';

/** How the memory is read. */
export type Reading = Pick<PromptBody, 'agentId' | 'recipe' | 'budget'>;

/** Where a conversation takes place. With context and coachId, a session that does not exist is made. */
export interface Place {
  /** Any text: one that the API does not take is encoded by encodeSessionId. */
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

/** One turn of the user. */
export interface Turn {
  /** What was built for it, or undefined where the memory failed. */
  prompt: Built | undefined;
  /**
   * Stores the answer and returns its id. A repeat stores nothing. It returns undefined for an answer without a text, and where
   * the memory fails: then the turn is stored with the next one of the session.
   */
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
export async function beginTurn(
  client: Client, place: Place, message: string, key: string, softness: Softness & { replaces?: Replaces | undefined } = {},
): Promise<Turn> {
  const sessionId = encodeSessionId(place.sessionId);
  const idempotencyKey = await digest(sessionId, key);
  let replaced = softness.replaces;
  const begin = async (options: Options) => {
    // Once: a turn that is begun again has to name the same.
    if (replaced === 'last') replaced = await lastQuestion(client, sessionId, options);
    const body: TurnBody = { sessionId, message, ...(replaced && { replaces: replaced }), ...reading(place) };
    return inSession(client, place, () => client.beginTurn(body, { ...options, idempotencyKey }));
  };
  let begun = await soft(softness, 'begin', async (options) => {
    await storeWaiting(sessionId, options);
    return begin(options);
  }, undefined);
  const end = async (answer: Answer, options: Options): Promise<string | undefined> => {
    begun ??= await begin(options);
    return (await client.finishTurn(begun.turnId, bodyOf(answer), options)).messageId;
  };
  return {
    prompt: begun?.prompt,
    finish: (answer) => soft(softness, 'finish', async (options) => {
      try {
        return await end(answer, options);
      } catch (error) {
        if (isOutage(error)) storeLater(sessionId, (later) => end(answer, later));
        throw error;
      }
    }, undefined),
  };
}

function bodyOf({ content, parts = [], usage, model, finishReason, error }: Answer) {
  const hasMore = parts.some(({ type }) => type !== 'text');
  return {
    ...(content !== '' && { content }), ...(hasMore && { parts }), ...(usage && { usage }), ...(model && { model }),
    ...(error === undefined ? finishReason && { finishReason } : { error }),
  };
}

/** Returns the last message of the user in a session, or nothing in a session without any. */
async function lastQuestion(
  client: Client, sessionId: string, options: Options,
): Promise<{ messageId: string } | undefined> {
  try {
    for await (const { role, messageId } of client.listMessages(sessionId, { order: 'desc' }, options)) {
      if (role === 'user') return { messageId };
    }
  } catch (error) {
    if (!isProblem(error, 'not_found')) throw error;
  }
  return undefined;
}

/** Gets the prompt of a turn of which nothing is to be stored. The message may be stored already, with messageId. */
export async function readTurn(
  client: Client, place: Place, message: string, softness: Softness & { messageId?: string | undefined } = {},
): Promise<Turn> {
  const sessionId = encodeSessionId(place.sessionId);
  const { coachId } = place;
  const { messageId } = softness;
  const prompt = await soft(softness, 'begin', (options) => inSession(client, place, async () => client.buildPrompt({
    sessionId, context: place.context ?? (await client.getSession(sessionId, options)).context, message,
    ...(messageId !== undefined && { messageId }), ...(coachId !== undefined && { coachId }), ...reading(place),
  }, options)), undefined);
  return { prompt, finish: async () => undefined };
}

/** Makes a call in a session, which is made first if it does not exist. */
export async function inSession<T>(client: Client, { sessionId, context, coachId }: Place, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!isProblem(error, 'not_found')) throw error;
    if (!context || !coachId) {
      throw new Error(`throughline: there is no session ${sessionId}: name a context and a coachId, with which it is made`, { cause: error });
    }
    await client.getOrCreateSession(encodeSessionId(sessionId), { context, coachId });
    return call();
  }
}

/** Reports whether an error is a problem of the API with a code. */
export function isProblem(error: unknown, code: string): boolean {
  return error instanceof ProblemError && error.code === code;
}

/** Returns a key of 64 characters for some texts. */
export async function digest(...texts: string[]): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(texts)));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns how the memory is read in a place. */
function reading({ agentId, recipe, budget }: Place): Reading {
  return {
    ...(agentId !== undefined && { agentId }), ...(recipe !== undefined && { recipe: recipe as NonNullable<Reading['recipe']> }),
    ...(budget !== undefined && { budget: { tokens: budget } }),
  };
}
