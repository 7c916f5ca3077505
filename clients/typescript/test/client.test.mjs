// What the vectors cannot say: cancellation, tokens that expire, and what is in the package.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { Client } from '@throughline/client';
import { beginTurn } from '@throughline/client/adapter';

const root = path.join(import.meta.dirname, '..');
const never = (_, { signal }) => new Promise((_, reject) => {
  signal.addEventListener('abort', () => reject(signal.reason));
});
const answering = (body) => async () => new Response(JSON.stringify(body));

test('an address or a token that cannot be is refused', () => {
  for (const [options, said] of [
    [{ token: 't' }, /^baseUrl is undefined: it has to be an address such as/], [{ baseUrl: '', token: 't' }, /^baseUrl is ""/],
    [{ baseUrl: 'localhost:8080', token: 't' }, /^baseUrl is "localhost:8080"/],
    [{ baseUrl: 'https://api/v1/', token: 't' }, /^baseUrl ends in \/v1, which the client adds/],
    [{ baseUrl: 'https://api', streamUrl: 'coach', token: 't' }, /^streamUrl is "coach"/],
    [{ baseUrl: 'https://api', token: '' }, /^token is missing/], [{ baseUrl: 'https://api' }, /^token is missing/],
  ]) assert.throws(() => new Client(options), ({ message }) => said.test(message));
});

test('each attempt is told to the log, and a call has headers and attempts of its own', async () => {
  const logged = [];
  const sent = [];
  const fetch = async (_, { headers }) => {
    sent.push(headers['X-Trace']);
    return new Response('', { status: 503, headers: { 'Retry-After': '0', 'X-Request-Id': `r${sent.length}` } });
  };
  const client = new Client({ baseUrl: 'http://stack', token: 't', fetch, log: (attempt) => logged.push(attempt) });
  await assert.rejects(client.getSeed({ attempts: 2, headers: { 'X-Trace': 'x' } }), { requestId: 'r2' });
  assert.deepEqual(sent, ['x', 'x']);
  assert.deepEqual(logged.map(({ milliseconds, ...rest }) => rest), ['r1', 'r2'].map((requestId) => (
    { method: 'GET', url: 'http://stack/v1/seed', status: 503, requestId })));
});

test('a call is cancelled by its signal', async () => {
  const client = new Client({ baseUrl: 'http://stack', token: 't', fetch: never });
  const cancel = new AbortController();
  const call = client.getSeed({ signal: cancel.signal });
  cancel.abort(new Error('the user left'));
  await assert.rejects(call, /the user left/);
  await assert.rejects(client.getSeed({ signal: AbortSignal.abort(new Error('gone')) }), /gone/);
});

test('a turn that begins again replaces the same', async () => {
  const last = ['first'];
  const begun = [];
  const finished = [];
  const fetch = async (url, { body }) => {
    if (url.includes('/messages')) return Response.json({ items: [{ messageId: last.at(-1), role: 'user' }] });
    if (url.endsWith('/finish')) {
      finished.push(JSON.parse(body).content);
      return Response.json({ messageId: 'a', session: {} });
    }
    begun.push(JSON.parse(body).replaces);
    last.push('edited');
    if (begun.length === 1) throw new Error('lost');
    return Response.json({ turnId: 'turn_1', userMessageId: 'edited', prompt: {} }, { status: 201 });
  };
  const client = new Client({ baseUrl: 'http://stack', token: 't', fetch, attempts: 1 });
  const failed = [];
  const softness = { replaces: 'last', onError: (_, during) => failed.push(during) };
  const turn = await beginTurn(client, { sessionId: 's' }, 'edited', 'key', softness);
  assert.equal(await turn.finish({ content: 'answer' }), 'a');
  assert.deepEqual([failed, finished, begun], [['begin'], ['answer'], [{ messageId: 'first' }, { messageId: 'first' }]]);
});

test('the timeout counts the wait for a token', async () => {
  const client = new Client({ baseUrl: 'http://stack', token: () => new Promise(() => {}), timeout: 20 });
  await assert.rejects(client.getSeed(), { name: 'TimeoutError' });
});

test('a wait between attempts is cancelled by the signal', async () => {
  const cancel = new AbortController();
  const busy = async () => {
    setTimeout(() => cancel.abort(new Error('the user left')), 10);
    return new Response('', { status: 503, headers: { 'Retry-After': '20' } });
  };
  const client = new Client({ baseUrl: 'http://stack', token: 't', fetch: busy });
  await assert.rejects(client.getSeed({ signal: cancel.signal }), /the user left/);
});

test('an app that stops reading ends the connection', async () => {
  let ended = false;
  const body = new ReadableStream({
    pull(stream) { stream.enqueue(new TextEncoder().encode('event: token\ndata: {"text":"a"}\n\n')); },
    cancel() { ended = true; },
  });
  const client = new Client({ baseUrl: 'http://stack', token: 't', fetch: async () => new Response(body) });
  for await (const event of client.chat({ sessionId: 's', message: 'm' })) {
    assert.deepEqual(event, { event: 'token', data: { text: 'a' } });
    break;
  }
  assert.ok(ended);
});

test('a token is kept until it is about to expire, and calls share it', async () => {
  let got = 0;
  const jwt = (seconds) => `e30.${btoa(JSON.stringify({ exp: Date.now() / 1000 + seconds }))}.x`;
  const ends = [60, 20, 3600];
  const client = new Client({ baseUrl: 'http://stack', token: () => jwt(ends[got++]), fetch: answering({}) });
  await Promise.all([client.getSeed(), client.getProfile()]);
  assert.equal(got, 1);
  const short = new Client({ baseUrl: 'http://stack', token: () => jwt(ends[got++]), fetch: answering({}) });
  await short.getSeed();
  await short.getSeed();
  assert.equal(got, 3);
});

test('the chat and the export have an address of their own', async () => {
  const asked = [];
  const fetch = async (url) => { asked.push(url); return new Response('{"kind":"end"}\n'); };
  const client = new Client({ baseUrl: 'https://api/', streamUrl: 'https://coach/', token: 't', fetch });
  for await (const _ of client.export());
  await client.getSeed().catch(() => {});
  assert.deepEqual(asked.slice(0, 2), ['https://coach/v1/export', 'https://api/v1/seed']);
});

test('the server\'s credential does not work in a browser', () => {
  globalThis.document = {};
  try {
    const client = new Client({ baseUrl: 'http://stack', token: 't' });
    assert.throws(() => client.as('eva'), /in your server/);
  } finally {
    delete globalThis.document;
  }
});

test('the client has a method for each operation, with its summary', () => {
  for (const name of ['appendMessages', 'export', 'recall']) assert.equal(typeof Client.prototype[name], 'function');
});

test('a bundle for browsers needs nothing else and is small', async () => {
  const { outputFiles: [bundle] } = await build({
    stdin: { contents: 'export * from "@throughline/client"', resolveDir: root },
    bundle: true, minify: true, format: 'esm', platform: 'browser', write: false,
  });
  const size = gzipSync(bundle.contents).length;
  assert.ok(size < 15 * 1024, `${size} bytes`);
  console.log(`@throughline/client: ${size} bytes for a browser, minified and gzipped`);
  assert.doesNotMatch(bundle.text, /\b(require|process|Buffer)\b/);
});

test('the package has the built files, the licence and the changelog', () => {
  const [{ files }] = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root }));
  const names = files.map((f) => f.path);
  for (const name of ['dist/index.js', 'dist/index.d.ts', 'LICENSE', 'README.md', 'CHANGELOG.md']) assert.ok(names.includes(name), name);
  assert.ok(!names.some((name) => /^(src|test|tools)\//.test(name)));
});

test('a turn is always ended', async () => {
  const finished = [];
  const client = new Client({
    baseUrl: 'http://stack', streamUrl: 'http://coach', token: 't', fetch: async (url, { body }) => {
      assert.ok(url.startsWith('http://coach/v1/turns'), url);
      if (!url.endsWith('/finish')) return new Response('{"turnId":"turn_1","userMessageId":"m","prompt":{}}', { status: 201 });
      finished.push(JSON.parse(body));
      return new Response('{"messageId":"a","session":{}}');
    },
  });
  const ask = { sessionId: 's', message: 'x' };
  assert.equal((await client.turn(ask, ({ turnId }) => ({ content: turnId }))).messageId, 'a');
  await assert.rejects(client.turn(ask, () => { throw new Error('no model'); }), /no model/);
  assert.deepEqual(finished, [{ content: 'turn_1' }, { error: 'Error: no model' }]);
});
