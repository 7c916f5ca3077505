import type {
  LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Content, LanguageModelV4FinishReason,
  LanguageModelV4Middleware, LanguageModelV4StreamPart, LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { type Answer, beginTurn, blockOf, readTurn, type Turn } from '@throughline/client/adapter';
import { wrapLanguageModel } from 'ai';
import type { CallOptions, MemoryOptions } from './options.js';
import { historyOf, insert, lastTurn, partsOf, type UserTurn } from './prompt.js';

type Usage = NonNullable<Answer['usage']>;

/** A turn that has begun, and what its steps have used so far. */
interface Running {
  turn: Turn;
  usage: Usage;
}

/** One call of the model in a turn. */
interface Step {
  key: string;
  running: Running;
  said: UserTurn;
}

/** How many turns that were begun and not finished are kept. */
const kept = 1000;

/** Returns a model that remembers: wrapLanguageModel with the middleware. */
export function withMemory(model: Parameters<typeof wrapLanguageModel>[0]['model'], options: MemoryOptions): LanguageModelV4 {
  return wrapLanguageModel({ model, middleware: memoryMiddleware(options) });
}

/**
 * Returns a middleware that gets the memory once for each turn of the user, gives it to the model as what was said and not
 * as an instruction, and stores the user's message and the answer. It may be used by calls at the same time.
 */
export function memoryMiddleware(options: MemoryOptions): LanguageModelV4Middleware {
  const turns = new Map<string, Promise<Running>>();
  const steps = new WeakMap<LanguageModelV4CallOptions, Step>();

  return {
    specificationVersion: 'v4',

    async transformParams({ params }) {
      const said = lastTurn(params.prompt);
      if (!said || said.text === '') return params;
      const { key, running } = await begin(options, turns, params, said);
      const { turn } = await running;
      const block = blockOf(turn.prompt, options.template);
      const history = options.history === 'memory' ? historyOf(turn) : undefined;
      const changed = { ...params, prompt: insert(params.prompt, said, block, history) };
      steps.set(changed, { key, running: await running, said });
      return changed;
    },

    async wrapGenerate({ doGenerate, params, model }) {
      const step = steps.get(params);
      if (!step) return doGenerate();
      const end = ending(options, turns, step, model.modelId);
      try {
        const result = await doGenerate();
        const stored = await end(result.content, result.finishReason, result.usage);
        return { ...result, providerMetadata: { ...result.providerMetadata, throughline: stored } };
      } catch (error) {
        await end([], undefined, undefined, error);
        throw error;
      }
    },

    async wrapStream({ doStream, params, model }) {
      const step = steps.get(params);
      if (!step) return doStream();
      const end = ending(options, turns, step, model.modelId);
      try {
        const result = await doStream();
        return { ...result, stream: watched(result.stream, end) };
      } catch (error) {
        await end([], undefined, undefined, error);
        throw error;
      }
    },
  };
}

/** Begins the turn of a call, or finds it where an earlier step or a failed attempt has begun it. */
async function begin(
  options: MemoryOptions, turns: Map<string, Promise<Running>>, params: LanguageModelV4CallOptions, said: UserTurn,
): Promise<{ key: string; running: Promise<Running> }> {
  const call = { ...options, ...params.providerOptions?.['throughline'] as CallOptions | undefined };
  const { client, sessionId, context, coachId, agentId, recipe, budget, turnId, replaces } = call;
  if (!sessionId) throw new Error('throughline: give a sessionId to the middleware, or to the call in providerOptions');
  const key = JSON.stringify([sessionId, turnId ?? said.fingerprint]);
  const known = turns.get(key);
  if (known) return { key, running: known };
  if (!turnId && (said.steps.length > 0 || options.history === 'memory')) {
    throw new Error('throughline: name the turn, with providerOptions: { throughline: { turnId: message.id } }');
  }
  const place = { sessionId, context, coachId, agentId, recipe, budget };
  if (replaces && !turnId) throw new Error('throughline: a turn that replaces another needs a turnId of its own');
  const begun = options.store === 'never'
    ? readTurn(client, place, said.text, options)
    : beginTurn(client, place, said.text, turnId ?? crypto.randomUUID(), { ...options, replaces });
  const running = begun.then((turn) => ({ turn, usage: added(undefined, undefined) }));
  turns.set(key, running);
  running.catch(() => turns.delete(key));
  if (turns.size > kept) turns.delete(turns.keys().next().value!);
  return { key, running };
}

/** What providerMetadata.throughline has. Without a promptId the model answered without memory. */
type Stored = { promptId?: string; messageId?: string };

type End = (
  content: LanguageModelV4Content[], reason: LanguageModelV4FinishReason | undefined,
  usage: LanguageModelV4Usage | undefined, error?: unknown,
) => Promise<Stored>;

/** Returns what ends a step. After the last step of a turn it stores the answer. */
function ending(options: MemoryOptions, turns: Map<string, Promise<Running>>, step: Step, model: string): End {
  return async (content, reason, usage, error) => {
    const { key, running, said } = step;
    const { promptId } = running.turn.prompt ?? {};
    const built = promptId === undefined ? {} : { promptId };
    running.usage = added(running.usage, usage);
    const failed = error !== undefined || reason === undefined || ['error', 'interrupted'].includes(reason.unified);
    if (!failed && reason.unified === 'tool-calls') return built;
    const mayGoOn = failed && mayRepeat(error);
    if (!mayGoOn) turns.delete(key);
    const parts = mayGoOn ? [] : partsOf(said.steps, content, options.includeToolCalls ?? true);
    const text = parts.flatMap((part) => part.type === 'text' ? [part.text] : []).join('\n');
    const messageId = await running.turn.finish({
      content: text, parts, usage: running.usage, model, finishReason: reason?.unified ?? 'interrupted',
      ...(failed && { error: nameOf(error) }),
    });
    return { ...built, ...(messageId !== undefined && { messageId }) };
  };
}

/** Passes a stream on. It ends the step before the last part is passed on, or when the stream fails or is cancelled. */
function watched(stream: ReadableStream<LanguageModelV4StreamPart>, end: End): ReadableStream<LanguageModelV4StreamPart> {
  const reader = stream.getReader();
  const content: LanguageModelV4Content[] = [];
  let failure: unknown;
  let ended = false;
  const cut = async (error: unknown): Promise<void> => {
    if (ended) return;
    ended = true;
    await end(content, undefined, undefined, error ?? new Error('the stream ended early'));
  };
  return new ReadableStream({
    async pull(out) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          await cut(failure);
          return out.close();
        }
        collect(content, value);
        if (value.type === 'error') failure = value.error;
        if (value.type !== 'finish' || ended) return out.enqueue(value);
        ended = true;
        const stored = await end(content, value.finishReason, value.usage, failure);
        out.enqueue({ ...value, providerMetadata: { ...value.providerMetadata, throughline: stored } });
      } catch (error) {
        await cut(error);
        throw error;
      }
    },
    async cancel(reason) {
      await reader.cancel(reason).catch(() => {});
      await cut(reason);
    },
  });
}

/** Adds a part of a stream to the content of the answer. */
function collect(content: LanguageModelV4Content[], part: LanguageModelV4StreamPart): void {
  const last = content.at(-1);
  if (part.type === 'text-start') content.push({ type: 'text', text: '' });
  if (part.type === 'text-delta' && last?.type === 'text') last.text += part.delta;
  if (part.type === 'tool-call' || part.type === 'tool-result') content.push(part);
}

function added(usage: Usage | undefined, more: LanguageModelV4Usage | undefined): Usage {
  const promptTokens = (usage?.promptTokens ?? 0) + (more?.inputTokens.total ?? 0);
  const completionTokens = (usage?.completionTokens ?? 0) + (more?.outputTokens.total ?? 0);
  const cachedTokens = (usage?.cachedTokens ?? 0) + (more?.inputTokens.cacheRead ?? 0);
  return { promptTokens, completionTokens, cachedTokens, totalTokens: promptTokens + completionTokens };
}

/** Returns what is stored of the reason why an answer is not whole. What the user stopped was interrupted. */
function nameOf(error: unknown): string {
  return error instanceof Error && !['AbortError', 'Error'].includes(error.name) ? error.name : 'interrupted';
}

/** Reports whether the AI SDK may make the call again after an error. Then the turn fails without an answer, and can get one. */
function mayRepeat(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'isRetryable' in error && error.isRetryable === true;
}
