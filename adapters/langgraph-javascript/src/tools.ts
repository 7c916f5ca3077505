import type { RunnableConfig } from '@langchain/core/runnables';
import { type StructuredToolInterface, tool } from '@langchain/core/tools';
import { tools } from '@throughline/client/adapter';
import type { Client } from '@throughline/client';
import { clientOf } from './memory.js';

/** What the tools are made with. */
export interface ToolOptions {
  /** Acts for the user; or it is the server's, and the configurable user_id of a run names the user. */
  client: Client;
  /** The types of facts that the model may choose from. The first is the default. Default: the example app's. */
  types?: [string, ...string[]];
  /** How many records a search finds at most. Default: 8. */
  limit?: number;
}

type Config = RunnableConfig & { toolCall?: { id?: string } };

/** Returns the tools search, remember, and forget by exact id, for ToolNode and bindTools. */
export function memoryTools(options: ToolOptions): StructuredToolInterface[] {
  const { client, types = tools.TYPES, limit = 8 } = options;
  return [
    tool(async (input, config: Config) => {
      const { query } = input as { query: string };
      return JSON.stringify(await tools.search(clientOf(client, config), query, limit, signalOf(config)));
    }, { name: 'search', description: tools.SEARCH, schema: schema({ query: text('A few words') }) }),
    tool(async (input, config: Config) => {
      const { content, type = types[0] } = input as { content: string; type?: string };
      const call = config.toolCall?.id;
      return JSON.stringify(await tools.remember(clientOf(client, config), content, type, call, signalOf(config)));
    }, {
      name: 'remember', description: tools.REMEMBER,
      schema: schema({ content: text('The fact'), type: { type: 'string', enum: types } }, ['content']),
    }),
    tool(async (input, config: Config) => {
      const { id } = input as { id: string };
      return JSON.stringify(await tools.forget(clientOf(client, config), id, signalOf(config)));
    }, { name: 'forget', description: tools.FORGET, schema: schema({ id: text('The id of a fact') }) }),
  ];
}

const text = (description: string) => ({ type: 'string', description });

function schema(properties: Record<string, object>, required = Object.keys(properties)) {
  return { type: 'object' as const, properties, required, additionalProperties: false };
}

function signalOf({ signal }: Config): { signal?: AbortSignal } {
  return signal ? { signal } : {};
}
