import type { AgentInputItem } from '@openai/agents';
import { escape, type Part, unwrap } from '@throughline/client/adapter';
import type { NewMessage } from '@throughline/client';

/** The name of the part with an item as it was. An item that its text gives back has none. Items of Python have other names. */
const name = 'openai-agents-javascript';

/** The name of the part with the operations whose messages were removed. */
const operations = 'openai-agents-operations';

/** What is read of items. They have more fields, which depend on their type. */
interface Loose {
  type?: string;
  role?: string;
  content?: unknown;
  callId?: string;
  name?: string;
  arguments?: string;
  output?: unknown;
}

type Piece = { type?: string; text?: unknown };

/** A stored message. */
export interface Stored {
  messageId: string;
  clientMessageId?: string | undefined;
  role: string;
  content: string;
  parts?: unknown[] | undefined;
}

/** Returns the messages of items, without the memory that the model got with them. The items may change afterwards. */
export function toMessages(items: AgentInputItem[]): NewMessage[] {
  return copiesOf(items, 'items').map((item) => toMessage(withoutMemory(item)));
}

/**
 * Returns copies of items. What JSON cannot hold is an error, and so is, where they have to be whole, what JSON would leave out:
 * hidden fields, fields with a symbol as their name, and accessors, which are not called.
 */
export function copiesOf(items: unknown, place: string, whole = false): AgentInputItem[] {
  if (!Array.isArray(items)) throw new TypeError(`${place}: must be an array`);
  return Array.from(items, (item: unknown, n) => {
    if (!isRecord(item)) throw new TypeError(`${place}[${n}]: must be an object`);
    return revived(canonical(item, `${place}[${n}]`, whole)) as AgentInputItem;
  });
}

function toMessage(item: AgentInputItem): NewMessage {
  // The API takes no half of a character, which cut texts end with. An item with one is kept as a text of JSON.
  const whole = canonical(item);
  const clean = JSON.parse(whole, (_, part: unknown) =>
    typeof part === 'string' ? part.replace(/\p{Surrogate}/gu, '\ufffd') : part) as AgentInputItem;
  const isWhole = JSON.stringify(clean) === whole;
  const content = textOf(clean);
  const role = roleOf(clean);
  const plain = isWhole && toItem({ messageId: '', role, content });
  if (plain && same(plain, item)) return { role, content };
  const parts: Part[] = [...toolParts(clean), { type: 'data', name, data: isWhole ? clean : whole }];
  return { role, content, parts } as NewMessage;
}

/** Returns a message that is no item, and only says which operations were applied. */
export function toRecord(applied: string[]): NewMessage {
  return withApplied({ role: 'assistant', content: '' }, applied);
}

/** Returns a message that also says which operations were applied. */
export function withApplied(message: NewMessage, applied: string[]): NewMessage {
  if (applied.length === 0) return message;
  return { ...message, parts: [...message.parts ?? [], { type: 'data', name: operations, data: applied }] } as NewMessage;
}

/** Returns the operations that a message says were applied. */
export function appliedBy({ clientMessageId, parts = [] }: Stored): string[] {
  const own = /^[0-9a-f]{48}-[0-9a-f]{48}(?=-)/.exec(clientMessageId ?? '') ?? [];
  const noted = (parts as Part[]).find((part) => part.type === 'data' && part.name === operations);
  return [...noted?.type === 'data' ? noted.data as string[] : [], ...own];
}

/**
 * Returns the item of a message, or undefined for one that is no item. A text of another screen is an item, too. The message says
 * whose an item is: a part with an item of another role is skipped.
 */
export function toItem({ messageId, role, content, parts = [] }: Stored): AgentInputItem | undefined {
  for (const part of parts as Part[]) {
    if (part.type !== 'data' || part.name !== name) continue;
    const item = itemOf(part.data);
    if (item && roleOf(item) === role) return item;
    console.warn(`throughline: skip a part that is no item of its message ${messageId}`);
  }
  if (role === 'tool' || content === '') return undefined;
  const item = role === 'assistant'
    ? { type: 'message', role, status: 'completed', content: [{ type: 'output_text', text: content }] }
    : { type: 'message', role, content };
  return item as AgentInputItem;
}

function itemOf(data: unknown): AgentInputItem | undefined {
  try {
    const item = revived(typeof data === 'string' ? data : JSON.stringify(data));
    return isRecord(item) ? item as unknown as AgentInputItem : undefined;
  } catch {
    return undefined;
  }
}

/** Returns what an item says. */
export function textOf(item: AgentInputItem): string {
  const { role, content } = item as Loose;
  if (role === undefined) return '';
  if (typeof content === 'string') return content;
  const pieces = Array.isArray(content) ? content as Piece[] : [];
  return pieces.flatMap(({ text }) => typeof text === 'string' && text !== '' ? [text] : []).join('\n');
}

/** Returns an item of the user with the memory before its words. */
export function addMemory(item: AgentInputItem, memory: string): AgentInputItem {
  const { content } = item as Loose;
  return {
    ...item,
    content: typeof content === 'string'
      ? `${memory}\n\n${escape(content)}`
      : [{ type: 'input_text', text: memory }, ...withTexts(content as Piece[], escape)],
  } as AgentInputItem;
}

/** Returns an item as it was before addMemory. The SDK gives a session what the model got. */
export function withoutMemory(item: AgentInputItem): AgentInputItem {
  const { role, content } = item as Loose;
  if (role !== 'user') return item;
  if (typeof content === 'string') {
    const text = unwrap(content);
    return text === content ? item : { ...item, content: unescape(text) } as AgentInputItem;
  }
  const [first, ...rest] = Array.isArray(content) ? content as Piece[] : [];
  const isMemory = typeof first?.text === 'string' && first.text !== '' && unwrap(first.text) === '';
  return isMemory ? { ...item, content: withTexts(rest, unescape) } as AgentInputItem : item;
}

function withTexts(pieces: Piece[], change: (text: string) => string): Piece[] {
  return pieces.map((piece) => typeof piece.text === 'string' ? { ...piece, text: change(piece.text) } : piece);
}

/** Is the inverse of escape. */
function unescape(text: string): string {
  return text.replace(/<\\(\s*\/?\s*app-context\b)/gi, '<$1');
}

/** Reports whether two values have the same canonical JSON. */
export function same(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

/**
 * Returns a value as JSON with the names of objects in order. Bytes are {"$bytes": base64}, or {"$buffer": base64} for an
 * ArrayBuffer, and a field that has such a name gets one more "$". What else JSON cannot hold is an error, which names the place
 * down to the field of an item: what is deeper may be a user's own words.
 */
export function canonical(value: unknown, place = 'items', whole = false): string {
  return JSON.stringify(ordered(value, place, [], whole));
}

/** Is the inverse of canonical. */
function revived(text: string): unknown {
  return JSON.parse(text, (_, value: unknown) => {
    if (!isRecord(value)) return value;
    const fields = Object.entries(value);
    const [name, data] = fields.length === 1 ? fields[0]! : [];
    if (typeof data === 'string' && (name === '$bytes' || name === '$buffer')) {
      const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
      return name === '$bytes' ? bytes : bytes.buffer;
    }
    return Object.fromEntries(fields.map(([key, part]) => [key.replace(/^\$(?=\$+(bytes|buffer)$)/, ''), part]));
  });
}

function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

function ordered(value: unknown, place: string, around: unknown[], whole: boolean): unknown {
  if (value === null || ['string', 'boolean', 'undefined'].includes(typeof value) || Number.isFinite(value)) return value;
  if (around.includes(value)) throw new TypeError(`${place}: contains itself`);
  const inside = [...around, value];
  if (Array.isArray(value)) return Array.from(value, (part: unknown, n) => ordered(part ?? null, `${place}[${n}]`, inside, whole));
  if (isRecord(value)) {
    if (whole) mustBePlain(value, place);
    const names = Object.keys(value).sort();
    const under = (key: string) => around.length === 0 ? `${place}.${key}` : place;
    const named = (key: string) => key.replace(/^\$+(bytes|buffer)$/, '$$$&');
    return Object.fromEntries(names.map((key) => [named(key), ordered(value[key], under(key), inside, whole)]));
  }
  if (value instanceof Uint8Array) return { $bytes: toBase64(value) };
  if (value instanceof ArrayBuffer) return { $buffer: toBase64(new Uint8Array(value)) };
  throw new TypeError(`${place}: is neither JSON nor bytes`);
}

/** Throws for an object with what JSON would leave out, and for an accessor, without a call of it. */
export function mustBePlain(value: object, place: string): void {
  for (const key of Reflect.ownKeys(value)) {
    const field = Object.getOwnPropertyDescriptor(value, key);
    const isPlain = typeof key === 'string' && field?.enumerable && 'value' in field;
    if (!isPlain) throw new TypeError(`${place}: has a field that is hidden, a symbol or an accessor`);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value));
}

function roleOf(item: AgentInputItem): NewMessage['role'] {
  const { type, role } = item as Loose;
  if (type === 'function_call_result') return 'tool';
  return role === 'user' || role === 'system' ? role : 'assistant';
}

/** Returns the call of a tool, or its result, with the API's own names. */
function toolParts(item: AgentInputItem): Part[] {
  const { type, callId, name: called, arguments: input, output } = item as Loose;
  const about = { toolCallId: String(callId).slice(0, 128), toolName: String(called || 'tool').slice(0, 128) };
  if (type === 'function_call') return [{ type: 'tool-call', ...about, input: parsed(input) }];
  if (type === 'function_call_result') return [{ type: 'tool-result', ...about, output: output ?? null }];
  return [];
}

function parsed(input: string | undefined): unknown {
  try {
    return JSON.parse(input ?? 'null') as unknown;
  } catch {
    return input;
  }
}
