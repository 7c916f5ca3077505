// What the tests share: users of their own on the stack, and graphs whose models answer as they are made to.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { HumanMessage } from '@langchain/core/messages';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { END, MemorySaver, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { Client } from '@throughline/client';
import { Memory, MemoryState, memoryTools, withMemory } from '@throughline/langgraph';

export const base = process.env.THROUGHLINE;
assert.ok(base, 'run make adapters, which starts a stack');

async function post(path, body) {
  const headers = { 'Content-Type': 'application/json' };
  return (await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) })).json();
}

/** The client of a server, which acts for no user. */
export const server = new Client({ baseUrl: base, token: async () => (await post('/dev/tokens', { server: true })).token });

/** Returns such a client whose requests go through a function. */
export const reached = (fetch) => new Client({
  baseUrl: base, token: async () => (await post('/dev/tokens', { server: true })).token, fetch,
});

export const newUser = () => `langgraph-${randomUUID()}`;

export const runOf = (user, thread = 'thread') => ({ configurable: { user_id: user, thread_id: thread } });

/** Waits until everything that was stored is indexed. */
export async function settle() {
  assert.ok((await post('/dev/settle', { timeoutMs: 30_000 })).settled);
}

/** Returns a graph whose model gives the answers, which are texts or messages, and what the model gets. */
export function build(answers, context, options = {}) {
  const got = [];
  const memory = new Memory({ client: server, context, coachId: 'kim', timeout: 20_000 });
  const model = new FakeListChatModel({ responses: answers.filter((answer) => typeof answer === 'string') });
  const graph = new StateGraph(MemoryState)
    .addNode('recall', memory.recall)
    .addNode('model', async (state) => {
      const messages = withMemory(state.messages, state.memory);
      const answer = answers[got.push(messages) - 1];
      return { messages: [typeof answer === 'string' ? await model.invoke(messages) : answer] };
    })
    .addNode('tools', new ToolNode(memoryTools({ client: server })))
    .addNode('save', memory.save)
    .addEdge(START, 'recall').addEdge('recall', 'model').addEdge('tools', 'model').addEdge('save', END)
    .addConditionalEdges('model', toolsCondition, { tools: 'tools', [END]: 'save' })
    .compile({ checkpointer: new MemorySaver(), ...options });
  return { graph, got };
}

/** Says something, and returns the answer. */
export async function say(graph, run, text, id) {
  const { messages } = await graph.invoke({ messages: [new HumanMessage({ content: text, ...(id && { id }) })] }, run);
  return messages.at(-1).text;
}

/** Returns the text of the user's last message that a model got. */
export const shown = (messages) => messages.findLast(({ type }) => type === 'human').text;

/** Returns what a session holds. */
export async function stored(user, thread = 'thread') {
  return (await server.as(user).listMessages(thread).all()).map(({ role, content }) => `${role}: ${content}`);
}
