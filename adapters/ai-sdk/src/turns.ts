import { type Client, type FinishBody, ProblemError, type Prompt, type PromptBody, type TurnBody } from '@throughline/client';
import { digest } from './digest.js';

/** Where a turn takes place, and how its prompt is built. */
export interface Place {
  sessionId: string;
  context: string | undefined;
  coachId: string | undefined;
  agentId: string | undefined;
  recipe: string | undefined;
  budget: number | undefined;
}

/** A part of an answer, as the API stores it. */
export type Part =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown }
  | { type: 'tool-result'; toolCallId: string; toolName: string; output: unknown; isError?: boolean };

/** How a turn ended. */
export interface Answer {
  content: string;
  parts: Part[];
  usage: { promptTokens: number; completionTokens: number; totalTokens: number; cachedTokens: number };
  finishReason: string;
  model: string;
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
 * Begins a turn: stores the user's message and gets the prompt. The key names the turn in its session: for a day, a turn that
 * is begun again is the same one, and an answer that is stored again is the first one.
 */
export async function beginTurn(client: Client, place: Place, message: string, key: string): Promise<Turn> {
  const { sessionId, agentId, recipe, budget } = place;
  const body = { sessionId, message, agentId, recipe, ...(budget !== undefined && { budget: { tokens: budget } }) } as TurnBody;
  const idempotencyKey = await digest(sessionId, key);
  const { turnId, prompt } = await inSession(client, place, () => client.beginTurn(body, { idempotencyKey }));
  return {
    prompt,
    async finish({ content, parts, usage, model, finishReason, error }) {
      const hasMore = parts.some(({ type }) => type !== 'text');
      const answer = {
        usage, model, ...(content !== '' && { content }), ...(hasMore && { parts }),
        ...(error === undefined ? { finishReason } : { error }),
      } as FinishBody;
      return (await client.finishTurn(turnId, answer)).messageId;
    },
  };
}

/** Gets the prompt of a turn of which nothing is to be stored. */
export async function readTurn(client: Client, place: Place, message: string): Promise<Turn> {
  const prompt = await inSession(client, place, () => buildPrompt(client, place, message));
  return { prompt, finish: async () => undefined };
}

async function buildPrompt(client: Client, place: Place, message: string, messageId?: string): Promise<Prompt> {
  const { sessionId, context, coachId, agentId, recipe, budget } = place;
  return client.buildPrompt({
    sessionId, context: context ?? (await client.getSession(sessionId)).context, message, messageId, coachId, agentId, recipe,
    ...(budget !== undefined && { budget: { tokens: budget } }),
  } as PromptBody);
}

/** Makes a call in a session, which is made first if it does not exist. */
async function inSession<T>(client: Client, place: Place, call: () => Promise<T>): Promise<T> {
  const { sessionId, context, coachId } = place;
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== 'not_found' || !context || !coachId) throw error;
    await client.getOrCreateSession(sessionId, { context: context as PromptBody['context'], coachId });
    return call();
  }
}
