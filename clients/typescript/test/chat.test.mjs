// The transport of useChat, against a server that answers as it is made to.
import assert from 'node:assert/strict';
import path from 'node:path';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { Client, ConnectionError, ProblemError } from '@throughline/client';
import { ThroughlineChatTransport } from '@throughline/client/chat';

const root = path.join(import.meta.dirname, '..');
const user = (id, text) => ({ id, role: 'user', parts: [{ type: 'text', text }] });
const submit = (...messages) => ({ trigger: 'submit-message', chatId: 's', messageId: undefined, messages, abortSignal: undefined });
const anew = (...messages) => ({ ...submit(...messages), trigger: 'regenerate-message' });

/** The chunks of an answer in some pieces. The ids are others each time. */
let answers = 0;
function answer(...pieces) {
  const id = `t${++answers}`;
  return [
    { type: 'start', messageId: 'msg_2', messageMetadata: { promptId: 'prompt_1' } },
    { type: 'data-prompt', data: { promptId: 'prompt_1', userMessageId: 'msg_1' } },
    { type: 'text-start', id }, ...pieces.map((delta) => ({ type: 'text-delta', id, delta })), { type: 'text-end', id },
    { type: 'finish', messageMetadata: { usage: { totalTokens: 3 } } },
  ];
}

/** A body with chunks, then [DONE] or a cut. */
function sse(chunks, whole = true) {
  const lines = [': stream-open\n\n', ...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), ...(whole ? ['data: [DONE]\n\n'] : [])];
  const body = new ReadableStream({
    pull(out) {
      const line = lines.shift();
      if (line) out.enqueue(new TextEncoder().encode(line));
      else if (whole) out.close();
      else out.error(new TypeError('terminated'));
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream', 'x-vercel-ai-ui-message-stream': 'v1' } });
}

const json = (body, status = 200) => new Response(JSON.stringify(body), { status });
const problem = (status, code) => json({ type: 'about:blank', title: code, status, code, detail: `it is ${code}` }, status);
const page = (...items) => json({ items });
const message = (messageId, seq, role, content) => ({ messageId, seq, role, content });

/** A transport whose server gives these answers, one for each request, and the requests that it got. */
function scripted(answers, options = {}) {
  const asked = [];
  const fetch = async (url, { method, headers, body }) => {
    asked.push({ call: `${method} ${url.replace('http://stack', '')}`, key: headers['Idempotency-Key'],
      ...(body && { body: JSON.parse(body) }), token: headers.Authorization });
    const next = answers.shift();
    if (!next) throw new Error(`no answer for ${method} ${url}`);
    return next;
  };
  let tokens = 0;
  const client = new Client({ baseUrl: 'http://stack', token: () => `token-${++tokens}`, fetch });
  return { transport: new ThroughlineChatTransport({ client, ...options }), asked };
}

async function read(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const textOf = (chunks) => chunks.map((chunk) => chunk.delta ?? '').join('');

test('only the new message is sent, with its id as the key', async () => {
  const { transport, asked } = scripted([sse(answer('Hello ', 'Ann.'))], { body: { agentId: 'coach' } });
  const chunks = await read(await transport.sendMessages({
    ...submit(user('u0', 'Before'), { id: 'a0', role: 'assistant', parts: [] }, user('u1', 'Hi')), body: { recipe: 'unified' },
  }));
  assert.deepEqual(asked, [{
    call: 'POST /v1/chat?stream=ui', key: 'u1', token: 'Bearer token-1',
    body: { agentId: 'coach', recipe: 'unified', sessionId: 's', message: 'Hi' },
  }]);
  assert.deepEqual(chunks.map(({ type }) => type),
    ['start', 'data-prompt', 'text-start', 'text-delta', 'text-delta', 'text-end', 'finish']);
  assert.equal(textOf(chunks), 'Hello Ann.');
});

test('after each cut the answer goes on where it ended', async () => {
  const whole = answer('Hello ', 'Ann.');
  for (let at = 0; at <= whole.length; at++) {
    const { transport, asked } = scripted([sse(whole.slice(0, at), false), sse(answer('He', 'llo An', 'n.'))]);
    const chunks = await read(await transport.sendMessages(submit(user('u1', 'Hi'))));
    assert.equal(textOf(chunks), 'Hello Ann.');
    const [start, ...more] = chunks.filter(({ id }) => id).map(({ id }) => id);
    assert.deepEqual(new Set(more), new Set([start]));
    assert.deepEqual(chunks.filter(({ delta }) => delta === undefined).map(({ type }) => type),
      ['start', 'data-prompt', 'text-start', 'text-end', 'finish']);
    assert.deepEqual(asked.map(({ key }) => key), ['u1', 'u1']);
  }
});

test('a repeat with another text fails', async () => {
  const { transport } = scripted([sse(answer('Hello ').slice(0, 4), false), ...Array(4).fill().map(() => sse(answer('Other')))]);
  await assert.rejects(async () => read(await transport.sendMessages(submit(user('u1', 'Hi')))),
    (error) => error instanceof ConnectionError && /differs/.test(error.message));
});

test('a problem before the answer is thrown, and one within it is a chunk', async () => {
  const refused = scripted([problem(422, 'invalid')]).transport;
  await assert.rejects(refused.sendMessages(submit(user('u1', 'Hi'))),
    (error) => error instanceof ProblemError && error.code === 'invalid');
  const { transport } = scripted([sse([{ type: 'start' }, { type: 'error', errorText: 'the model did not answer' }])]);
  const chunks = await read(await transport.sendMessages(submit(user('u1', 'Hi'))));
  assert.deepEqual(chunks.at(-1), { type: 'error', errorText: 'the model did not answer' });
});

test('a session that does not exist is made', async () => {
  const session = { context: 'coach_conversation', coachId: 'kim' };
  const { transport, asked } = scripted([problem(404, 'not_found'), json({}, 201), sse(answer('Hi.'))], { session: () => session });
  assert.equal(textOf(await read(await transport.sendMessages(submit(user('u1', 'Hi'))))), 'Hi.');
  assert.deepEqual(asked.map(({ call }) => call), ['POST /v1/chat?stream=ui', 'PUT /v1/sessions/s', 'POST /v1/chat?stream=ui']);
  assert.deepEqual(asked[1].body, session);
  await assert.rejects(scripted([problem(404, 'not_found')]).transport.sendMessages(submit(user('u1', 'Hi'))), { code: 'not_found' });
});

test('a refused token is got anew', async () => {
  const { transport, asked } = scripted([problem(401, 'unauthorized'), sse(answer('Hi.'))]);
  await read(await transport.sendMessages(submit(user('u1', 'Hi'))));
  assert.deepEqual(asked.map(({ token }) => token), ['Bearer token-1', 'Bearer token-2']);
});

test('an answer anew takes the former one out of the session', async () => {
  const history = page(message('msg_2', 8, 'assistant', 'Hi.'), message('msg_1', 7, 'user', 'Hi'), message('msg_0', 6, 'assistant', 'x'));
  const { transport, asked } = scripted([sse(answer('Hi.')), history, json({ deleted: [] }), sse(answer('Hello.'))]);
  await read(await transport.sendMessages(submit(user('u1', 'Hi'))));
  assert.equal(textOf(await read(await transport.sendMessages(anew(user('u1', 'Hi'))))), 'Hello.');
  assert.equal(asked[2].call, 'POST /v1/sessions/s/messages/truncate');
  assert.deepEqual(asked[2].body, { afterSeq: 6, expected: ['msg_1', 'msg_2'] });
  assert.notEqual(asked[3].key, 'u1');
});

test('a page that was loaded anew finds its message by id, or the last one by its text', async () => {
  for (const id of ['msg_1', 'u-forgotten']) {
    const history = page(message('msg_2', 2, 'assistant', 'Hi.'), message('msg_1', 1, 'user', 'Hi'));
    const { transport, asked } = scripted([history, json({ deleted: [] }), sse(answer('Hello.'))]);
    await read(await transport.sendMessages(anew(user(id, 'Hi'))));
    assert.deepEqual(asked[1].body, { afterSeq: 0, expected: ['msg_1', 'msg_2'] });
  }
});

test('a message that was not stored takes nothing out of the session', async () => {
  const history = page(message('msg_2', 2, 'assistant', 'Hi.'), message('msg_1', 1, 'user', 'Hi'));
  const { transport, asked } = scripted([history, sse(answer('Two.'))]);
  await read(await transport.sendMessages(anew(user('u2', 'And two?'))));
  assert.deepEqual(asked.map(({ call }) => call), ['GET /v1/sessions/s/messages?order=desc&limit=50', 'POST /v1/chat?stream=ui']);
});

test('a changed message takes the former one and all after it out of the session', async () => {
  const history = page(message('msg_4', 4, 'assistant', 'd'), message('msg_3', 3, 'user', 'Hi'),
    message('msg_2', 2, 'assistant', 'b'), message('msg_1', 1, 'user', 'Hi'));
  const { transport, asked } = scripted([history, json({ deleted: [] }), sse(answer('Bye.'))]);
  await read(await transport.sendMessages({ ...submit(user('msg_1', 'Bye')), messageId: 'msg_1' }));
  assert.deepEqual(asked[1].body, { afterSeq: 0, expected: ['msg_1', 'msg_2', 'msg_3', 'msg_4'] });
  assert.deepEqual(asked[2].body, { sessionId: 's', message: 'Bye' });
});

test('a message that this page has sent is changed by the id that the page gave it', async () => {
  const history = page(message('msg_2', 2, 'assistant', 'b'), message('msg_1', 1, 'user', 'Hi'));
  const { transport, asked } = scripted([sse(answer('b')), history, json({ deleted: [] }), sse(answer('Bye.'))]);
  await read(await transport.sendMessages(submit(user('u1', 'Hi'))));
  await read(await transport.sendMessages({ ...submit(user('u1', 'Bye')), messageId: 'u1' }));
  assert.deepEqual(asked[2].body, { afterSeq: 0, expected: ['msg_1', 'msg_2'] });
});

test('an answer that is being generated is joined', async () => {
  const none = scripted([new Response(null, { status: 204 })]);
  assert.equal(await none.transport.reconnectToStream({ chatId: 's' }), null);
  assert.equal(none.asked[0].call, 'GET /v1/chat/s/stream');
  assert.equal(await scripted([problem(404, 'not_found')]).transport.reconnectToStream({ chatId: 's' }), null);
  await assert.rejects(scripted([problem(403, 'forbidden')]).transport.reconnectToStream({ chatId: 's' }), { code: 'forbidden' });
  const { transport } = scripted([sse(answer('Hello ', 'Ann.').slice(0, 4), false), sse(answer('Hello Ann.'))]);
  assert.equal(textOf(await read(await transport.reconnectToStream({ chatId: 's' }))), 'Hello Ann.');
});

test('a joined answer that ended while its connection was lost is read from the session', async () => {
  const { transport } = scripted([
    sse(answer('Hello ', 'Ann.').slice(0, 4), false), new Response(null, { status: 204 }),
    page(message('msg_2', 2, 'assistant', 'Hello Ann.')),
  ]);
  const chunks = await read(await transport.reconnectToStream({ chatId: 's' }));
  assert.equal(textOf(chunks), 'Hello Ann.');
  assert.deepEqual(chunks.slice(-2).map(({ type }) => type), ['text-end', 'finish']);
});

test('a page that stops, or leaves, ends the connection', async () => {
  for (const leave of ['abort', 'cancel']) {
    let ended;
    const gone = new Promise((resolve) => { ended = resolve; });
    const stop = new AbortController();
    const fetch = async (_, { signal }) => new Response(new ReadableStream({
      start(out) {
        out.enqueue(new TextEncoder().encode('data: {"type":"start"}\n\n'));
        signal.addEventListener('abort', () => { out.error(signal.reason); ended(); });
      },
    }));
    const transport = new ThroughlineChatTransport({ client: new Client({ baseUrl: 'http://stack', token: 't', fetch }) });
    const stream = await transport.sendMessages({ ...submit(user('u1', 'Hi')), abortSignal: stop.signal });
    const reader = stream.getReader();
    assert.deepEqual((await reader.read()).value, { type: 'start' });
    if (leave === 'abort') stop.abort();
    else await reader.cancel();
    await gone;
  }
  const never = async (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const transport = new ThroughlineChatTransport({ client: new Client({ baseUrl: 'http://stack', token: 't', fetch: never }) });
  await assert.rejects(transport.sendMessages({ ...submit(user('u1', 'Hi')), abortSignal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('what the chat cannot answer is said', async () => {
  const { transport } = scripted([]);
  const picture = { id: 'u1', role: 'user', parts: [{ type: 'file', url: 'x', mediaType: 'image/png' }] };
  await assert.rejects(transport.sendMessages(submit(picture)), /has a file/);
  await assert.rejects(transport.sendMessages(submit({ id: 'a', role: 'assistant', parts: [] })), /messages of the user/);
});

test('the transport is small', async () => {
  const { outputFiles: [bundle] } = await build({
    stdin: { contents: 'export * from "@throughline/client"; export * from "@throughline/client/chat"', resolveDir: root },
    bundle: true, minify: true, format: 'esm', platform: 'browser', write: false,
  });
  const size = gzipSync(bundle.contents).length;
  assert.ok(size < 15 * 1024, `${size} bytes`);
  console.log(`with @throughline/client/chat: ${size} bytes`);
});
