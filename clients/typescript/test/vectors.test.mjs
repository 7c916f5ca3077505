// Plays the vectors of ../vectors against their server.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Client, ConnectionError, Pages, ProblemError, TimeoutError } from '@throughline/client';

const server = process.env.VECTORS;
assert.ok(server, 'run make clients, which starts the server of the vectors');
const get = async (path, method = 'GET') => (await fetch(server + path, { method })).json();

const vectors = await get('/vectors');
assert.ok(vectors.length >= 25);
describe('vectors', { concurrency: true }, () => {
  for (const [index, vector] of vectors.entries()) {
    test(vector.name, async () => {
      const { run, base } = await get(`/runs/${index}`, 'POST');
      const got = await play(vector, base);
      const { faults } = await get(`/runs/${run}/verdict`);
      assert.deepEqual(faults, []);
      assert.deepEqual(got, expected(vector));
    });
  }
});

/** Makes the call of a vector, and returns what the app gets. */
async function play(vector, baseUrl) {
  const { operation, path = [], body, query } = vector.call;
  const { user, key, timeoutMs } = vector.options ?? {};
  let tokens = 0;
  const server = new Client({ baseUrl, token: () => `token-${++tokens}` });
  const client = user ? server.as(user) : server;
  const args = [...path, ...(body ? [body] : []), ...(query ? [query] : [])];
  const got = {};
  try {
    if (!query && operation.startsWith('list')) args.push({});
    args.push({ ...(key && { idempotencyKey: key }), ...(timeoutMs && { timeout: timeoutMs }) });
    const answer = client[operation](...args);
    const name = vector.events ? 'events' : 'items';
    if (answer instanceof Pages || answer[Symbol.asyncIterator]) {
      if (vector[name]) got[name] = [];
      for await (const item of answer) got[name].push(item);
    } else {
      got.result = kept(await answer, vector) ?? null;
    }
  } catch (error) {
    got.fails = failure(error, vector.fails ?? {});
  }
  return got;
}

/** Returns an answer without what a vector ignores and without the nulls, which are as absent. */
function kept(answer, { ignore = [] }) {
  if (!answer) return answer;
  return Object.fromEntries(Object.entries(answer).filter(([name, value]) => !ignore.includes(name) && value !== null));
}

/** Returns what a vector says about an error. */
function failure(error, { retryAfterMs, errors, requestId }) {
  if (error instanceof TimeoutError) return { kind: 'timeout' };
  if (error instanceof ConnectionError) return { kind: 'connection' };
  if (!(error instanceof ProblemError)) throw error;
  return {
    kind: 'problem', status: error.status, code: error.code,
    ...(retryAfterMs !== undefined && { retryAfterMs: error.retryAfter }), ...(requestId && { requestId: error.requestId }), ...(errors && { errors: error.errors }),
  };
}

function expected({ result, items, events, fails }) {
  return JSON.parse(JSON.stringify({ result, items, events, fails }));
}
