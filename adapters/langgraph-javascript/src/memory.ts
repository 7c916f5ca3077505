import { type BaseMessage, HumanMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import { Annotation, MessagesAnnotation } from '@langchain/langgraph';
import {
  blockOf, digest, escape, isOutage, type Place, readTurn, soft, type Softness, storeLater, storeWaiting,
} from '@throughline/client/adapter';
import { type Client, encodeSessionId, type Options } from '@throughline/client';
import { mirror, type Sent } from './history.js';
import { aboutOf, isAnswer, lastTurn, partsOf, textOf } from './messages.js';

/** The most bytes of a message with its parts. */
const most = 256 * 1024;

/** The state of a graph with the nodes. memory is the block for the model, promptId says what is in it. */
export const MemoryState = Annotation.Root({
  ...MessagesAnnotation.spec,
  memory: Annotation<string>,
  promptId: Annotation<string>,
});

/** What the nodes are made with. */
export interface MemoryOptions extends Omit<Place, 'sessionId'>, Softness {
  /** Acts for the user; or it is the server's, and the configurable user_id of a run names the user. */
  client: Client;
}

/** What the nodes take from the state of a graph. */
interface State {
  messages: BaseMessage[];
  promptId?: string;
}

/**
 * Has the two nodes: recall before the model, save after its last answer. The configurable thread_id of a run is the
 * session. With context and coachId, a session that does not exist is made. It may be used by runs at the same time.
 */
export class Memory {
  readonly #client: Client;
  readonly #place: Omit<Place, 'sessionId'>;
  readonly #softness: Softness;

  constructor({ client, timeout, onError, ...place }: MemoryOptions) {
    this.#client = client;
    this.#place = place;
    this.#softness = { timeout, onError };
  }

  /**
   * Stores the user's last message, and reads the memory for it. A repeated step stores nothing twice. What followed the
   * message before it is replaced, so that a state which was forked at an older message, or whose message was edited, is
   * the session's history, too. Where the memory fails, memory and promptId are empty.
   */
  readonly recall = async (state: State, config: RunnableConfig): Promise<{ memory: string; promptId: string }> => {
    const { said } = lastTurn(state.messages);
    if (!said || said.text === '') return { memory: '', promptId: '' };
    const client = clientOf(this.#client, config);
    const place = this.#placeOf(config);
    const [before, message] = await sentBy(state.messages);
    const messageId = await soft(this.#softness, 'begin', async (options) => {
      await storeWaiting(place.sessionId, options);
      return mirror(client, place, before, message!, options);
    }, undefined);
    if (messageId === undefined) return { memory: '', promptId: '' };
    const { prompt } = await readTurn(client, place, said.text, { ...this.#softness, messageId });
    return { memory: blockOf(prompt), promptId: prompt?.promptId ?? '' };
  };

  /**
   * Stores the answer to the user's last message, with the calls of tools and their results. It replaces another answer to
   * the message. Where the memory fails, the turn is stored by a later step of the session in this process.
   */
  readonly save = async (state: State, config: RunnableConfig): Promise<Record<string, never>> => {
    const { said, steps } = lastTurn(state.messages);
    const last = steps.at(-1);
    const content = textOf(steps);
    if (!said || said.text === '' || !isAnswer(last) || last.tool_calls?.length || content === '') return {};
    const [before, message] = await sentBy(state.messages);
    const parts = partsOf(steps);
    const hasMore = parts.some(({ type }) => type !== 'text') && bytes(content) + bytes(JSON.stringify(parts)) <= most;
    const answer = {
      role: 'assistant', content, ...(hasMore && { parts }), clientMessageId: await answerKey(message!.clientMessageId, content),
      metadata: { promptId: state.promptId ?? '', ...aboutOf(steps) },
    } as Sent;
    const client = clientOf(this.#client, config);
    const place = this.#placeOf(config);
    const store = async (options: Options): Promise<void> => {
      // The user's message is there, unless the memory failed then.
      if (!state.promptId) await mirror(client, place, before, message!, options);
      await mirror(client, place, [message!.clientMessageId], answer, options);
    };
    await soft(this.#softness, 'finish', async (options) => {
      try {
        await store(options);
      } catch (error) {
        if (isOutage(error)) storeLater(place.sessionId, store);
        throw error;
      }
    }, undefined);
    return {};
  };

  #placeOf(config: RunnableConfig): Place {
    const sessionId: unknown = config.configurable?.['thread_id'];
    if (typeof sessionId !== 'string' || sessionId === '') {
      throw new Error('throughline: name the session, with { configurable: { thread_id } }');
    }
    return { ...this.#place, sessionId: encodeSessionId(sessionId) };
  }
}

/** Returns the messages for the model: the memory is before the user's words, in the user's last message. */
export function withMemory(messages: BaseMessage[], memory: string): BaseMessage[] {
  const { said, steps } = lastTurn(messages);
  if (!said || memory === '') return messages;
  const given = typeof said.content === 'string' ? [{ type: 'text', text: said.content }] : said.content;
  const words = given.map((block) => 'text' in block && typeof block.text === 'string'
    ? { ...block, text: escape(block.text) } : block);
  const { id, name, additional_kwargs, response_metadata } = said;
  const content = [{ type: 'text', text: memory }, ...words];
  const fields = { additional_kwargs, response_metadata, ...(id && { id }), ...(name && { name }) };
  const shown = new HumanMessage({ content, ...fields });
  return [...messages.slice(0, messages.length - steps.length - 1), shown, ...steps];
}

/** Returns the client that acts for the user of a run. */
export function clientOf(client: Client, config: RunnableConfig | undefined): Client {
  const user: unknown = config?.configurable?.['user_id'];
  return typeof user === 'string' && user !== '' ? client.as(user) : client;
}

/** Returns the key of a turn: the same for a repeat, and another one where the message was edited. */
export async function keyOf({ id, text }: HumanMessage): Promise<string> {
  if (!id) throw new Error('throughline: the message has no id: a state\'s messages need the reducer messagesStateReducer');
  return digest(id, text);
}

/** Returns the user's last message as it is stored, and the keys of the turn before it: of its answer and of its message. */
async function sentBy(messages: BaseMessage[]): Promise<[string[], Sent | undefined]> {
  const { said, steps } = lastTurn(messages);
  if (!said) return [[], undefined];
  const earlier = lastTurn(messages.slice(0, messages.length - steps.length - 1));
  const key = earlier.said && earlier.said.text !== '' ? await keyOf(earlier.said) : undefined;
  const before = key ? [await answerKey(key, textOf(earlier.steps)), key] : [];
  return [before, { role: 'user', content: said.text, clientMessageId: await keyOf(said) }];
}

/** Returns the key of an answer to the message with a key. */
async function answerKey(key: string, content: string): Promise<string> {
  return `${key}-${(await digest(content)).slice(0, 16)}`;
}

function bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
