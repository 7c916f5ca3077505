import { ConnectionError } from './errors.js';
import type { ServerEvent } from './stream.js';

/** A message as useChat holds it (the AI SDK's UIMessage), as far as the transport reads it. */
export interface ChatMessage {
  id: string;
  role: 'system' | 'user' | 'assistant';
  metadata?: unknown;
  parts: readonly { type: string; text?: string }[];
}

/** What the stream of an answer has (of the AI SDK's UIMessageChunk). */
export type ChatChunk =
  | { type: 'start'; messageId?: string; messageMetadata?: unknown }
  | { type: 'start-step' | 'finish-step' }
  | { type: `data-${string}`; id?: string; data: unknown; transient?: boolean }
  | { type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; id: string }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | { type: 'message-metadata'; messageMetadata: unknown }
  | { type: 'error'; errorText: string }
  | { type: 'abort'; reason?: string }
  | { type: 'finish'; finishReason?: FinishReason; messageMetadata?: unknown };

/** The reasons that versions 6 and 7 of the AI SDK both know. The server also says 'interrupted', which is version 7's. */
type FinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';

/** Leaves out of a repeated stream what the page has already. A repeat has the same text, in other pieces perhaps. */
export class ChunkReplay {
  /** Whether the stream has ended as it should. */
  done = false;
  /** What was said so far. A chunk that is no text is a separator and its type. */
  #said = '';
  #position = 0;
  #id = '';

  /** Begins at the first chunk again. */
  restart(): void { this.#position = 0; }

  /** Returns what is new in a chunk, or undefined. */
  next({ data }: ServerEvent): ChatChunk | undefined {
    if (data === '[DONE]') {
      this.done = true;
      return undefined;
    }
    const chunk = JSON.parse(data) as ChatChunk;
    const text = 'delta' in chunk ? chunk.delta : `\0${chunk.type}\0`;
    const known = this.#said.slice(this.#position, this.#position + text.length);
    if (!text.startsWith(known)) throw new ConnectionError('the repeated answer differs from what was received');
    this.#position += text.length;
    if (known === text) return undefined;
    this.#said += text.slice(known.length);
    if (chunk.type === 'text-start' || chunk.type === 'reasoning-start') this.#id = chunk.id;
    if ('delta' in chunk) return { ...chunk, id: this.#id, delta: text.slice(known.length) };
    return chunk.type === 'text-end' || chunk.type === 'reasoning-end' ? { ...chunk, id: this.#id } : chunk;
  }

  /** Returns what remains of an answer whose stream has gone, and whose text is stored. */
  rest(text: string): ChatChunk[] {
    const known = this.#said.split('\0').at(-1)!;
    if (this.#id === '' || !text.startsWith(known)) throw new ConnectionError('the stored answer differs from what was received');
    const delta = text.slice(known.length);
    const open: ChatChunk[] = this.#said.endsWith('\0text-end\0') ? [] : [
      ...(delta === '' ? [] : [{ type: 'text-delta' as const, id: this.#id, delta }]), { type: 'text-end', id: this.#id },
    ];
    return [...open, { type: 'finish' }];
  }
}
