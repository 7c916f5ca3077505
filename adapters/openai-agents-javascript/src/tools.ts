import { tool } from '@openai/agents';
import { tools } from '@throughline/client/adapter';
import type { Client } from '@throughline/client';

/** What the tools are made with. */
export interface ToolOptions {
  /** Acts for the user whose memory it is. */
  client: Client;
  /** The types of memories that the model may choose from. The first is the default. Default: the example app's. */
  types?: [string, ...string[]];
  /** How many records a search finds at most. Default: 8. */
  limit?: number;
}

const text = (description: string) => ({ type: 'string', description }) as const;

/** Returns tools by which a model uses the user's memory: search, remember, and forget by exact id. */
export function memoryTools({ client, types = tools.TYPES, limit = 8 }: ToolOptions) {
  return [
    tool({
      name: 'search', description: tools.SEARCH, strict: true,
      parameters: schema({ query: text('A few words') }),
      execute: (input) => tools.search(client, (input as { query: string }).query, limit),
    }),
    tool({
      name: 'remember', description: tools.REMEMBER, strict: true,
      parameters: schema({ content: text('The fact'), type: { type: 'string', enum: types } }),
      execute: (input, _context, details) => {
        const { content, type } = input as { content: string; type: string };
        return tools.remember(client, content, type, details?.toolCall?.callId);
      },
    }),
    tool({
      name: 'forget', description: tools.FORGET, strict: true,
      parameters: schema({ id: text('The id of a memory') }),
      execute: (input) => tools.forget(client, (input as { id: string }).id),
    }),
  ];
}

function schema(properties: Record<string, object>) {
  return {
    type: 'object' as const, properties: properties as Record<string, never>, required: Object.keys(properties),
    additionalProperties: false as const,
  };
}
