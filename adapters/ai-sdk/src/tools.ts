import { tools } from '@throughline/client/adapter';
import type { Client } from '@throughline/client';
import { jsonSchema, tool, type ToolSet } from 'ai';

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

function schema<T>(properties: { [K in keyof T]-?: object }, required: (keyof T & string)[]) {
  return jsonSchema<T>({ type: 'object', properties: properties as Record<string, object>, required, additionalProperties: false });
}

/** Returns tools by which a model uses the user's memory: search, remember, and forget by exact id. */
export function memoryTools({ client, types = tools.TYPES, limit = 8 }: ToolOptions) {
  return {
    search: tool({
      description: tools.SEARCH,
      inputSchema: schema<{ query: string }>({ query: text('A few words') }, ['query']),
      execute: ({ query }, { abortSignal: signal }) => tools.search(client, query, limit, { signal }),
    }),
    remember: tool({
      description: tools.REMEMBER,
      inputSchema: schema<{ content: string; type?: string }>(
        { content: text('The fact'), type: { type: 'string', enum: types } }, ['content']),
      execute: ({ content, type = types[0] }, { toolCallId, abortSignal: signal }) =>
        tools.remember(client, content, type, toolCallId, { signal }),
    }),
    forget: tool({
      description: tools.FORGET,
      inputSchema: schema<{ id: string }>({ id: text('The id of a memory') }, ['id']),
      execute: ({ id }, { abortSignal: signal }) => tools.forget(client, id, { signal }),
    }),
  } satisfies ToolSet;
}
