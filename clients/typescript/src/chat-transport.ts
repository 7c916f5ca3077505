import type { ChatChunk, ChatMessage } from './chunks.js';
import { ChunkReplay } from './chunks.js';
import { type Client, internals, type Options } from './client.js';
import { ProblemError } from './errors.js';
import type { Message, NamedSession } from './operations.js';

export type { ChatChunk, ChatMessage } from './chunks.js';

/** What the transport is made with. */
export interface ChatTransportOptions {
  /** Calls the API with the user's token. In a server: new Client({ token: credential }).as(user). */
  client: Client;
  /** Makes the session of a chat that has none yet: its context and coach, or a function from the chat's id to them. */
  session?: NamedSession | ((chatId: string) => NamedSession);
  /** Goes into the body of each message, such as agentId or recipe. */
  body?: Record<string, unknown>;
}

/** What useChat says with a request (the AI SDK's ChatRequestOptions). */
interface RequestOptions {
  headers?: Record<string, string> | Headers;
  body?: object;
  metadata?: unknown;
}

/** How many of the last messages are searched for the one that is answered anew. */
const searched = 200;

/**
 * Connects useChat of the AI SDK with POST /v1/chat: it is a ChatTransport. The id of a chat is the id of its session. Only the
 * new message is sent, because the conversation is stored. An answer that was cut is asked for again, and goes on where it ended.
 * Errors are those of the client: ProblemError, ConnectionError, TimeoutError.
 */
export class ThroughlineChatTransport {
  /** An answer that is joined comes from its beginning. */
  readonly resumeStreamIsReplay = true;
  readonly #options: ChatTransportOptions;
  /** The ids of stored messages by the ids that the page gave them. */
  readonly #stored = new Map<string, string>();

  constructor(options: ChatTransportOptions) { this.#options = options; }

  /**
   * Sends the last message and returns the stream of the answer. A message that was sent before, and is changed or answered
   * anew, is first taken out of the session with all that follows it.
   */
  async sendMessages({ trigger, chatId, messageId, messages, abortSignal, body }: {
    trigger: 'submit-message' | 'regenerate-message'; chatId: string; messageId: string | undefined;
    messages: ChatMessage[]; abortSignal: AbortSignal | undefined;
  } & RequestOptions): Promise<ReadableStream<ChatChunk>> {
    const last = messages.at(-1);
    if (last?.role !== 'user') throw new Error('Throughline answers messages of the user, and the last message is none');
    const message = textOf(last);
    const again = trigger === 'regenerate-message' || messageId !== undefined;
    if (again) await this.#truncate(chatId, last, message, abortSignal);
    const input = { ...this.#options.body, ...body, sessionId: chatId, message };
    const options = again ? {} : { idempotencyKey: last.id };
    const open = () => this.#open('POST /v1/chat body query key events', [input, { stream: 'ui' }], options, abortSignal, last);
    return (await this.#inSession(chatId, open))!;
  }

  /** Joins the answer that is being generated, or returns null where none is: also where the session does not exist yet. */
  async reconnectToStream(
    { chatId, abortSignal }: { chatId: string; abortSignal?: AbortSignal } & RequestOptions,
  ): Promise<ReadableStream<ChatChunk> | null> {
    const stored = async () => (await this.#options.client.listMessages(chatId, { order: 'desc', limit: 1 }).page()).items[0];
    try {
      return await this.#open('GET /v1/chat/{sessionId}/stream events', [chatId], {}, abortSignal, undefined, stored);
    } catch (error) {
      if (error instanceof ProblemError && error.code === 'not_found') return null;
      throw error;
    }
  }

  /** Opens a stream. It waits for the first chunk, so that an error before it is thrown here. */
  async #open(
    row: string, args: unknown[], options: Options, abortSignal: AbortSignal | undefined, sent?: ChatMessage,
    stored?: () => Promise<Message | undefined>,
  ): Promise<ReadableStream<ChatChunk> | null> {
    const stop = new AbortController();
    const leave = (): void => stop.abort(abortSignal?.reason);
    if (abortSignal?.aborted) leave();
    abortSignal?.addEventListener('abort', leave);
    const replay = new ChunkReplay();
    const chunks = internals.events(
      this.#options.client, row, [...args, { ...options, signal: stop.signal }], replay) as AsyncGenerator<ChatChunk>;
    const all = this.#watch(chunks, replay, sent, stored, () => abortSignal?.removeEventListener('abort', leave));
    const first = await all.next();
    if (first.done) return null;
    let held: ChatChunk | undefined = first.value;
    return new ReadableStream<ChatChunk>({
      async pull(out) {
        const next = held ? { done: false as const, value: held } : await all.next();
        held = undefined;
        if (next.done) out.close();
        else out.enqueue(next.value);
      },
      cancel(reason) { stop.abort(reason); },
    });
  }

  /** Yields the chunks of an answer, and of a joined one that ended while its connection was lost, what is stored of it. */
  async *#watch(
    chunks: AsyncGenerator<ChatChunk>, replay: ChunkReplay, sent: ChatMessage | undefined,
    stored: (() => Promise<Message | undefined>) | undefined, end: () => void,
  ): AsyncGenerator<ChatChunk, void, undefined> {
    let begun = false;
    try {
      for await (const chunk of chunks) {
        begun = true;
        if (sent && chunk.type === 'data-prompt') {
          this.#stored.set(sent.id, (chunk as { data: { userMessageId: string } }).data.userMessageId);
        }
        yield chunk;
      }
      if (!begun || replay.done || !stored) return;
      const answer = await stored();
      yield* replay.rest(answer?.role === 'assistant' ? answer.content : '');
    } finally {
      end();
    }
  }

  /** Takes a message out of its session, with all that follows it. A message that is not stored leaves the session as it is. */
  async #truncate(chatId: string, last: ChatMessage, text: string, signal: AbortSignal | undefined): Promise<void> {
    const { client } = this.#options;
    const id = this.#stored.get(last.id) ?? last.id;
    const suffix: Message[] = [];
    let same = -1;
    for await (const message of client.listMessages(chatId, { order: 'desc', limit: 50 }, signal ? { signal } : {})) {
      suffix.push(message);
      if (message.messageId === id) return this.#cut(chatId, suffix, signal);
      // A page that was loaded anew has forgotten which id its message got.
      if (same < 0 && message.role === 'user') same = message.content === text ? suffix.length : 0;
      if (suffix.length >= searched) break;
    }
    if (same > 0) await this.#cut(chatId, suffix.slice(0, same), signal);
  }

  async #cut(chatId: string, suffix: Message[], signal: AbortSignal | undefined): Promise<void> {
    const body = { afterSeq: suffix.at(-1)!.seq - 1, expected: suffix.map(({ messageId }) => messageId).reverse() };
    await this.#options.client.truncateMessages(chatId, body, signal ? { signal } : {});
  }

  async #inSession<T>(chatId: string, open: () => Promise<T>): Promise<T> {
    const { client, session } = this.#options;
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== 'not_found' || !session) throw error;
      await client.getOrCreateSession(chatId, typeof session === 'function' ? session(chatId) : session);
      return open();
    }
  }
}

/** Returns what a message says. */
function textOf({ id, parts }: ChatMessage): string {
  if (parts.some(({ type }) => type === 'file')) throw new Error(`Throughline answers texts, and the message ${id} has a file`);
  return parts.filter(({ type }) => type === 'text').map(({ text }) => text ?? '').join('\n');
}
