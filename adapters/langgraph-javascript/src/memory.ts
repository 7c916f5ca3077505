import { type BaseMessage, HumanMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import { Annotation, MessagesAnnotation } from '@langchain/langgraph';
import { blockOf, digest, escape, inSession, isProblem, type Place, readTurn } from '@throughline/adapters';
import type { Client, NewMessage } from '@throughline/client';
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
export interface MemoryOptions extends Omit<Place, 'sessionId'> {
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

  constructor({ client, ...place }: MemoryOptions) {
    this.#client = client;
    this.#place = place;
  }

  /**
   * Stores the user's last message, and reads the memory for it. A repeated step stores nothing twice, also where it is
   * repeated from an old checkpoint.
   */
  readonly recall = async (state: State, config: RunnableConfig): Promise<{ memory: string; promptId: string }> => {
    const { said } = lastTurn(state.messages);
    if (!said || said.text === '') return { memory: '', promptId: '' };
    const client = clientOf(this.#client, config);
    const place = this.#placeOf(config);
    const key = await keyOf(said);
    const message: NewMessage = { role: 'user', content: said.text, clientMessageId: key };
    const { messages } = await inSession(client, place, () =>
      client.appendMessages(place.sessionId, { messages: [message] }, { idempotencyKey: key }));
    const { prompt } = await readTurn(client, place, said.text, messages[0]?.messageId);
    return { memory: blockOf(prompt), promptId: prompt.promptId };
  };

  /**
   * Stores the answer to the user's last message, with the calls of tools and their results. The first answer to a
   * message counts.
   */
  readonly save = async (state: State, config: RunnableConfig): Promise<Record<string, never>> => {
    const { said, steps } = lastTurn(state.messages);
    const last = steps.at(-1);
    const content = textOf(steps);
    if (!said || said.text === '' || !isAnswer(last) || last.tool_calls?.length || content === '') return {};
    const key = `${await keyOf(said)}-answer`;
    const parts = partsOf(steps);
    const hasMore = parts.some(({ type }) => type !== 'text') && bytes(content) + bytes(JSON.stringify(parts)) <= most;
    const message = {
      role: 'assistant', content, ...(hasMore && { parts }), clientMessageId: key,
      metadata: { promptId: state.promptId ?? '', ...aboutOf(steps) },
    } as NewMessage;
    try {
      const { sessionId } = this.#placeOf(config);
      await clientOf(this.#client, config).appendMessages(sessionId, { messages: [message] }, { idempotencyKey: key });
    } catch (error) {
      // Another run has answered this message.
      if (!isProblem(error, 'idempotency_mismatch') && !isProblem(error, 'conflict')) throw error;
    }
    return {};
  };

  #placeOf(config: RunnableConfig): Place {
    const sessionId: unknown = config.configurable?.['thread_id'];
    if (typeof sessionId !== 'string' || sessionId === '') {
      throw new Error('throughline: name the session, with { configurable: { thread_id } }');
    }
    return { ...this.#place, sessionId };
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

function bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
