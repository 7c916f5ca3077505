// What the tests share: users of their own on the stack, and models that answer as they are made to.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Client } from '@throughline/client';
import { convertArrayToReadableStream } from 'ai/test';

export const base = process.env.THROUGHLINE;
assert.ok(base, 'run make adapters, which starts a stack');

async function token() {
  const answer = await fetch(`${base}/dev/tokens`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"server":true}',
  });
  return (await answer.json()).token;
}

/** Counts the requests of a client by method and path. They have the headers that more returns, too. */
export function newUser(more = () => ({}), through = (real) => real) {
  const calls = [];
  const counting = (url, init) => {
    calls.push(`${init.method} ${new URL(url).pathname}`);
    return through(fetch)(url, { ...init, headers: { ...init.headers, ...more() } });
  };
  const client = new Client({ baseUrl: base, token, fetch: counting }).as(`ai-${randomUUID()}`);
  return { client, calls };
}

const usage = {
  inputTokens: { total: 20, noCache: 15, cacheRead: 5, cacheWrite: 0 }, outputTokens: { total: 4, text: 4, reasoning: 0 },
};
const reason = (unified) => ({ unified, raw: unified });

/** What a model generates. */
export const generated = (text) => ({ content: [{ type: 'text', text }], finishReason: reason('stop'), usage, warnings: [] });

export const calling = (toolName, input, toolCallId = 'call-1') => ({
  content: [{ type: 'text', text: 'Let me look.' }, { type: 'tool-call', toolCallId, toolName, input: JSON.stringify(input) }],
  finishReason: reason('tool-calls'), usage, warnings: [],
});

/** The same as parts of a stream. */
export function parts({ content, finishReason }) {
  const said = content.flatMap((part, n) => part.type === 'tool-call' ? [part] : [
    { type: 'text-start', id: `${n}` },
    ...part.text.split(/(?<= )/).map((delta) => ({ type: 'text-delta', id: `${n}`, delta })),
    { type: 'text-end', id: `${n}` },
  ]);
  return [{ type: 'stream-start', warnings: [] }, ...said, { type: 'finish', finishReason, usage }];
}

export const streamed = (result) => ({ stream: convertArrayToReadableStream(parts(result)) });

/** Returns what the user's sessions hold. */
export async function stored(client, sessionId) {
  const messages = await client.listMessages(sessionId).all();
  return messages.map(({ role, content }) => `${role}: ${content}`);
}

/** Returns the texts of the last user's message that a model got. */
export const lastUser = ({ prompt }) => prompt.findLast(({ role }) => role === 'user').content.map(({ text }) => text);
