import type { ContentBlockData, MessageData } from '@strands-agents/sdk';
import type { NewMessage } from '@throughline/client';
import type { Part } from '@throughline/client/adapter';

/** The name of the part with a message as it was. */
const name = 'strands-javascript';

/** Messages in one call: those with ids of their own are limited to about half of the others. */
export const most = 40;

/**
 * Returns a message for the memory, or undefined for one of which nothing can be stored. Strands has the results of tools in
 * messages of the user. names has the names of tools by call, and gets those of the message.
 */
export function read(message: MessageData, names: Map<string, string>): NewMessage | undefined {
  const parts = message.content.flatMap((block) => partOf(block, names));
  if (parts.length === 0) return undefined;
  const role = parts.some(({ type }) => type === 'tool-result') ? 'tool' : message.role;
  const content = parts.flatMap((part) => part.type === 'text' ? [part.text] : []).join('\n');
  return { role, content, ...parts.some(({ type }) => type !== 'text') && { parts } } as NewMessage;
}

/** Returns a message for the memory, with the message as it was. */
export function whole(message: MessageData, agent: string): NewMessage {
  const shown = read(message, new Map()) ?? { role: message.role, content: '' };
  const data = JSON.stringify({ agent, message });
  const parts = (shown.parts ?? []) as Part[];
  return { ...shown, parts: [...parts.filter(({ type }) => type !== 'text'), { type: 'data', name, data }] } as NewMessage;
}

/** Returns a message of an agent as it was, or undefined for one of another agent or of another screen. */
export function said({ parts = [] }: { parts?: unknown[] | undefined }, agent: string): MessageData | undefined {
  for (const part of parts as Part[]) {
    if (part.type !== 'data' || part.name !== name || typeof part.data !== 'string') continue;
    const read = JSON.parse(part.data) as { agent: string; message: MessageData };
    if (read.agent === agent) return read.message;
  }
  return undefined;
}

function partOf(block: ContentBlockData, names: Map<string, string>): Part[] {
  if ('text' in block) return block.text === '' ? [] : [{ type: 'text', text: clean(block.text) }];
  if ('toolUse' in block) {
    const { toolUseId, name: toolName, input } = block.toolUse;
    names.set(toolUseId, toolName);
    return [{ type: 'tool-call', toolCallId: toolUseId, toolName, input }] as Part[];
  }
  if ('toolResult' in block) {
    const { toolUseId, content, status } = block.toolResult;
    const output = content.map((piece) => 'json' in piece ? piece.json : 'text' in piece ? clean(piece.text) : null);
    const about = { toolCallId: toolUseId, toolName: names.get(toolUseId) ?? 'tool', output: output.length === 1 ? output[0] : output };
    return [{ type: 'tool-result', ...about, ...status === 'error' && { isError: true } }] as Part[];
  }
  return [];
}

/** Returns a text without halves of characters, which the API does not take. */
function clean(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}
