import { type Client, type NewMessage, ProblemError, type Prompt, type PromptBody } from '@throughline/client';

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
 * Begins a turn: stores the user's message and gets the prompt. The key names the turn for good: a message and an answer that
 * are stored under it are not stored again.
 */
export async function beginTurn(client: Client, place: Place, message: string, key: string): Promise<Turn> {
  const { messages: [stored] } = await inSession(client, place, () => client.appendMessages(place.sessionId,
    { messages: [{ role: 'user', content: message, clientMessageId: key }] }));
  const prompt = await buildPrompt(client, place, message, stored!.messageId);
  return {
    prompt,
    async finish({ content, parts, usage, model, finishReason, error }) {
      if (parts.length === 0) return undefined;
      const metadata = {
        usage, model, finishReason, promptId: prompt.promptId, ...(error !== undefined && { interrupted: true }),
      };
      const hasMore = parts.some(({ type }) => type !== 'text');
      const answer = {
        role: 'assistant', content, metadata, clientMessageId: `${key}-answer`, ...(hasMore && { parts }),
      } as NewMessage;
      try {
        const { messages: [kept] } = await client.appendMessages(place.sessionId, { messages: [answer] });
        return kept!.messageId;
      } catch (failure) {
        // Another call has answered this turn in other words.
        if (failure instanceof ProblemError && failure.code === 'conflict') return undefined;
        throw failure;
      }
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
