// The route, served as a server of web Requests does, against the stack at THROUGHLINE.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { Client } from '@throughline/client';

const baseUrl = process.env.THROUGHLINE;

async function serve(handler) {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => { server.closeAllConnections(); server.close(); });
  return `http://127.0.0.1:${server.address().port}`;
}

// A model that says two pieces. Asked for a long answer, it says one, and then nothing until it is not listened to.
let unheard;
const modelStopped = new Promise((resolve) => { unheard = resolve; });
process.env.OPENAI_BASE_URL = await serve(async (asked, answer) => {
  const question = (await asked.toArray()).join('');
  const say = (content) => answer.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
  answer.writeHead(200, { 'Content-Type': 'text/event-stream' });
  say('Three sets ');
  if (question.includes('long')) return answer.on('close', unheard);
  say('of squats.');
  answer.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
});

const { POST } = await import('../dist/route.js');
// As servers do, it cancels the answer of a page that goes away, and aborts its request.
const app = await serve(async (asked, answer) => {
  const gone = new AbortController();
  const { method, headers } = asked;
  const body = Readable.toWeb(asked);
  const response = await POST(new Request('http://app', { method, headers, body, duplex: 'half', signal: gone.signal }));
  const reader = response.body.getReader();
  answer.on('close', async () => { await reader.cancel(); gone.abort(); });
  answer.writeHead(response.status, Object.fromEntries(response.headers));
  for (let read = await reader.read(); !read.done; read = await reader.read()) answer.write(read.value);
  answer.end();
});

const ask = (user, message, signal) => fetch(app, {
  method: 'POST', headers: { Cookie: `user=${user}` }, signal,
  body: JSON.stringify({ session: 'chat', message }),
});

/** Returns the messages of the user's chat, when its last turn has ended. */
async function stored(user) {
  const memory = new Client({ baseUrl, token: async () => (await fetch(`${baseUrl}/dev/tokens/${user}`, { method: 'POST' })).text() });
  for (;;) {
    const messages = await memory.listMessages('chat').all();
    if (messages.at(-1)?.role === 'assistant') return messages;
  }
}

test('the page that stays', async () => {
  const user = `route-${crypto.randomUUID()}`;
  assert.equal(await (await ask(user, 'How many?')).text(), 'Three sets of squats.');
  const [question, answer] = await stored(user);
  assert.equal(question.content, 'How many?');
  assert.equal(answer.content, 'Three sets of squats.');
  assert.equal(answer.metadata?.interrupted, undefined);
});

test('the page that goes away', { timeout: 20_000 }, async () => {
  const user = `route-${crypto.randomUUID()}`;
  const page = new AbortController();
  const reader = (await ask(user, 'Tell me at long.', page.signal)).body.getReader();
  assert.equal(new TextDecoder().decode((await reader.read()).value), 'Three sets ');
  page.abort();
  await modelStopped;
  const [question, answer] = await stored(user);
  assert.equal(question.content, 'Tell me at long.');
  assert.equal(answer.content, 'Three sets ');
  assert.equal(answer.metadata.interrupted, true);
});
