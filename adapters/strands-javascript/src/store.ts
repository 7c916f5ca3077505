import {
  type AddMessagesContext, type ExtractionConfig, InvocationTrigger, type MemoryEntry, type MemoryStore, type MessageData,
  type SearchOptions,
} from '@strands-agents/sdk';
import { type Client, encodeSessionId, type NewMessage, type Options } from '@throughline/client';
import {
  inSession, isOutage, type Place, soft, type Softness, storeLater, storeWaiting, tools,
} from '@throughline/client/adapter';
import { most, read } from './messages.js';

/** Where a conversation takes place, and how it is searched and stored. */
export interface StoreOptions extends Pick<Place, 'sessionId' | 'context' | 'coachId'>, Softness {
  /** Acts for the user. */
  client: Client;
  name?: string;
  description?: string;
  /** Default: 8. */
  maxSearchResults?: number;
  /** Is false for a store that only searches. Default: true. */
  writable?: boolean;
  extraction?: ExtractionConfig | boolean;
  /** The type of facts that are added without one. Default: PROFILE. */
  kind?: string;
  /**
   * Names the life of one agent, whose messages Strands counts from 0: an app that builds its agent again and repeats the same
   * messages gives the same. Default: a random text.
   */
  run?: string;
}

type Json = NonNullable<MemoryEntry['metadata']>;

/**
 * Searches all that the user said and that is known of the user, and stores the conversation after each invocation. It may be
 * used by several agents only if each has a session of its own.
 */
export class ThroughlineMemoryStore implements MemoryStore {
  readonly name: string;
  readonly description: string;
  readonly maxSearchResults: number;
  readonly writable: boolean;
  readonly extraction: ExtractionConfig | boolean;
  readonly #client: Client;
  readonly #place: Place;
  readonly #softness: Softness;
  readonly #kind: string;
  readonly #run: string;
  readonly #names = new Map<string, string>();

  constructor({ client, timeout, onError, sessionId, context, coachId, ...options }: StoreOptions) {
    this.name = options.name ?? 'throughline';
    this.description = options.description ?? 'What this user said and what is known of this user, in all conversations.';
    this.maxSearchResults = options.maxSearchResults ?? 8;
    this.writable = options.writable ?? true;
    this.extraction = options.extraction ?? (this.writable && { trigger: [new InvocationTrigger()] });
    this.#client = client;
    this.#place = { sessionId: encodeSessionId(sessionId), context, coachId };
    this.#softness = { timeout, onError };
    this.#kind = options.kind ?? 'PROFILE';
    this.#run = options.run ?? crypto.randomUUID();
  }

  /** Returns what is relevant to a query, the most relevant first, without this conversation: nothing where the memory fails. */
  async search(query: string, options?: SearchOptions): Promise<MemoryEntry[]> {
    const limit = options?.maxSearchResults ?? this.maxSearchResults;
    return soft(this.#softness, 'begin', async (patience) => {
      // Messages of this conversation are found, too, and left out.
      const { items } = await this.#client.search({ query, limit: Math.min(100, 2 * limit) }, patience);
      const others = items.filter(({ sessionId }) => sessionId !== this.#place.sessionId).slice(0, limit);
      return others.map(({ kind, id, messageId, score, context, content, text }) => ({
        content: content ?? text ?? '', metadata: compact({ kind, id: id ?? messageId, score, context }),
      }));
    }, []);
  }

  /** Stores one fact and returns its id. metadata may have its type. */
  async add(content: string, metadata?: Json): Promise<string> {
    return (await tools.remember(this.#client, content, String(metadata?.['type'] ?? this.#kind))).id;
  }

  /**
   * Stores messages. One that is stored already, by its number, is not stored again. Where the memory fails, they are stored
   * before the next ones of the session in this process.
   */
  async addMessages(messages: MessageData[], context?: AddMessagesContext): Promise<void> {
    const { sessionId } = this.#place;
    const given = messages.flatMap((message, n): NewMessage[] => {
      const stored = read(message, this.#names);
      const number = context?.sequenceNumbers?.[n];
      return stored ? [number === undefined ? stored : { ...stored, clientMessageId: `${this.#run}-${number}` }] : [];
    });
    await soft(this.#softness, 'finish', async (patience) => {
      try {
        await storeWaiting(sessionId, patience);
        await this.#append(given, patience);
      } catch (error) {
        if (isOutage(error)) storeLater(sessionId, (later) => this.#append(given, later));
        throw error;
      }
    }, undefined);
  }

  async #append(messages: NewMessage[], options: Options): Promise<void> {
    for (let start = 0; start < messages.length; start += most) {
      const batch = messages.slice(start, start + most);
      await inSession(this.#client, this.#place,
        () => this.#client.appendMessages(this.#place.sessionId, { messages: batch }, options));
    }
  }
}

function compact(fields: Record<string, string | number | undefined>): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Json;
}
