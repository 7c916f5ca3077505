// The session beside the SDK's own session in memory, and what only a session of several processes has to hold.
import assert from 'node:assert/strict';
import test from 'node:test';
import { MemorySession, UserError } from '@openai/agents';
import { ThroughlineSession } from '@throughline/openai-agents';
import { newSession, newUser, settle, stored, user } from './stack.mjs';

const said = (text) => ({ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] });
const call = { type: 'function_call', callId: 'c', name: 'f', arguments: '{"b": 1, "a": 1.0}', status: 'completed' };
const result = { type: 'function_call_result', callId: 'c', name: 'f', status: 'completed', output: { type: 'text', text: 'x' } };
const append = (operationId, ...items) => ({ operationId, transaction: { type: 'append_items', items } });
const replace = (operationId, expectedSuffix, replacement) => ({
  operationId, transaction: { type: 'replace_suffix', expectedSuffix, replacement },
});

/** Returns what a call returns, or that it throws, and what where the error is one of the SDK. */
const outcome = async (made) => {
  try {
    return { value: await made };
  } catch (error) {
    return { threw: error instanceof UserError ? error.message : error instanceof Error };
  }
};

const steps = [
  ['an empty session', ['getItems'], ['popItem'], ['clearSession'], ['addItems', []]],
  ['items come back', ['addItems', [user('é 🙂\u0000'), said('b'), call, result]],
    ['getItems', 2], ['getItems', 9], ['getItems', 0]],
  ['other items', ['addItems', [
    { type: 'reasoning', id: 'rs_1', content: [{ type: 'input_text', text: 'hm' }], providerData: { encrypted: 'abc' } },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a' }, { type: 'input_image', image: 'data:x' }] },
    { type: 'message', role: 'system', content: 'Be brief.' }, user(''), { role: 'user', content: 'without a type' },
    { type: 'unknown', providerData: { z: { b: 1, a: [1.5, 1000, null, 1e21, 1e300, 5e-324, 9007199254740993, -1] } } },
    { type: 'message', role: 'user', content: [{ type: 'input_file', file: { id: 'f' } }, { type: 'audio', audio: 'AAAA' }] },
    { type: 'message', role: 'assistant', status: 'incomplete', id: 'm', content: [{ type: 'refusal', refusal: 'No.' }] },
    { type: 'function_call_result', callId: 'i', name: 'f', status: 'completed', output: [
      { type: 'input_image', image: 'data:image/png;base64,AA==' }, { type: 'input_text', text: 'x' }] },
    { type: 'hosted_tool_call', id: 'h', name: 'web_search_call', status: 'completed', providerData: { action: { query: 'q' } } },
    { type: 'computer_call', id: 'k', callId: 'k', status: 'completed', action: { type: 'screenshot' } },
    { type: 'computer_call_result', callId: 'k', output: { type: 'computer_screenshot', data: 'data:image/png;base64,AA==' } },
    { type: 'shell_call', callId: 'l', action: { commands: ['ls'] } },
    { type: 'apply_patch_call_output', callId: 'p', status: 'failed', output: '' },
    { type: 'compaction', id: 'cmp', encrypted_content: 'abc' }, { ...call, callId: 'x'.repeat(200), name: '', arguments: '{"a' },
    user('half \ud83d'), user('\udc00'), user('line\r\n\u2028 \u00e9 e\u0301'), user(' '),
  ]]],
  ['bytes', ['addItems', [{ ...result, output: { type: 'image', image: { data: Uint8Array.of(0, 255, 128), mediaType: 'image/png' } } },
    { ...call, providerData: { bytes: new Uint8Array(), buffer: Uint8Array.of(1, 2).buffer, half: 'a\ud83d' } },
    { ...call, providerData: { text: 'AP+A', $bytes: 'AP+A', $$bytes: 'x', $buffer: { $bytes: '!' }, $$$buffer: [{ $buffer: '' }] } }]],
    ['popItem'], ['applyHistoryTransaction', append('1', { ...call, providerData: { bytes: Uint8Array.of(3, 7) } })],
    ['applyHistoryTransaction', append('1', { ...call, providerData: { bytes: Uint8Array.of(3, 7) } })],
    ['applyHistoryTransaction', append('1', { ...call, providerData: { bytes: { $bytes: 'Awc=' } } })],
    ['applyHistoryTransaction', append('2', { ...call, providerData: { bytes: Uint16Array.of(300) } })],
    ['applyHistoryTransaction', replace('3', [{ ...call, providerData: { bytes: 'Awc=' } }], [])],
    ['applyHistoryTransaction', replace('3', [{ ...call, providerData: { bytes: Uint8Array.of(3, 7) } }], [])]],
  ['pop', ['addItems', [user('a'), call]], ['popItem'], ['popItem'], ['popItem'], ['addItems', [user('b')]]],
  ['clear', ['addItems', [user('a'), said('b')]], ['clearSession'], ['addItems', [user('c')]]],
  ['append', ['applyHistoryTransaction', append('1', user('a'), call)], ['applyHistoryTransaction', append('1', user('a'), call)],
    ['applyHistoryTransaction', append('1', user('b'))], ['applyHistoryTransaction', append('2', user('a'), call)]],
  ['operations after a clear', ['applyHistoryTransaction', append('1', user('a'))], ['clearSession'],
    ['applyHistoryTransaction', append('1', user('a'))], ['applyHistoryTransaction', append('1', user('b'))],
    ['clearSession'], ['applyHistoryTransaction', append('1', user('b'))]],
  ['operations whose items went', ['applyHistoryTransaction', append('1', user('a'), call)],
    ['applyHistoryTransaction', replace('2', [call], [])], ['applyHistoryTransaction', replace('3', [user('a')], [said('z')])],
    ['applyHistoryTransaction', append('1', user('a'), call)], ['applyHistoryTransaction', replace('2', [call], [])],
    ['applyHistoryTransaction', append('2', call)], ['applyHistoryTransaction', append('4')],
    ['applyHistoryTransaction', append('4')], ['popItem']],
  ['mutations', ['applyHistoryTransaction', append('1', user('a'), call, { ...call, id: 'again' }, said('b'))],
    ['applyHistoryMutations', { mutations: [{ type: 'replace_function_call', callId: 'other', replacement: call }] }],
    ['applyHistoryMutations', { mutations: [] }],
    ['applyHistoryMutations', { mutations: [
      { type: 'replace_function_call', callId: 'c', replacement: { ...call, arguments: '{"ok":true}' } }] }],
    ['applyHistoryTransaction', append('1', user('a'), call, { ...call, id: 'again' }, said('b'))],
    ['applyHistoryTransaction', replace('2', [said('b')], [said('z')])]],
  ['no transaction', ...[undefined, null, {}, { type: 'constructor' },
    { type: 'append_items' }, { type: 'append_items', items: 'x' }, { type: 'replace' },
    { type: 'replace_suffix', expectedSuffix: [] }, { type: 'append_items', items: [null] },
    { type: 'append_items', items: ['x'] }, { type: 'append_items', items: [{ ...call, providerData: { at: new Date(0) } }] },
  ].map((transaction) => ['applyHistoryTransaction', { operationId: '1', transaction }])],
  ['replace', ['addItems', [user('a'), call]], ['applyHistoryTransaction', replace('1', [call], [call, result])],
    ['applyHistoryTransaction', replace('1', [call], [call, result])], ['applyHistoryTransaction', replace('1', [call], [])],
    ['applyHistoryTransaction', replace('2', [user('a')], [])], ['applyHistoryTransaction', replace('3', [call, result], [])],
    ['applyHistoryTransaction', replace('3', [call, result], [])], ['applyHistoryTransaction', replace('4', [], [said('z')])]],
  ['a suffix that is longer than the history', ['addItems', [user('a')]],
    ['applyHistoryTransaction', replace('1', [user('z'), user('a')], [])], ['applyHistoryTransaction', replace('1', [user('a')], [])]],
  ['no operation', ['applyHistoryTransaction', append(' ', user('a'))]],
  ['the names of an item in another order', ['addItems', [user('a')]],
    ['applyHistoryTransaction', replace('1', [{ content: 'a', role: 'user', type: 'message' }], [user('b')])]],
];

for (const [name, ...made] of steps) {
  test(`as the SDK's session in memory: ${name}`, async () => {
    const [own, model] = [newSession(newUser().client), new MemorySession()];
    for (const [method, argument] of made) {
      const both = [own, model].map((session) => outcome(session[method](structuredClone(argument))));
      const [actual, expected] = await Promise.all(both);
      assert.deepEqual(actual, expected, `${method} ${JSON.stringify(argument)}`);
      assert.deepEqual(await own.getItems(), await model.getItems());
    }
  });
}

test('as the SDK\'s session in memory: a logger', async () => {
  for (const hidden of [{}, { dontLogModelData: true }, { dontLogToolData: true }]) {
    const [own, model] = [[], []];
    const logger = (lines) => ({ debug: (line) => lines.push(line), ...hidden });
    const { client } = newUser();
    for (const session of [
      new ThroughlineSession({ client, sessionId: 's', context: 'coach_conversation', coachId: 'kim', timeout: 20_000, logger: logger(own) }),
      new MemorySession({ sessionId: 's', logger: logger(model) }),
    ]) {
      await session.addItems([]);
      await session.addItems([user('a secret')]);
      await session.getItems();
      await session.getItems(0);
      await session.getItems(1);
      await session.popItem();
      await session.popItem();
      await session.clearSession();
    }
    assert.deepEqual(own, model);
    assert.equal(own.length, Object.keys(hidden).length > 0 ? 1 : 5);
  }
});

test('as the SDK\'s session in memory: a Proxy in a transaction', async () => {
  const { client, calls } = newUser();
  for (const items of [new Proxy([call], {}), [new Proxy(call, {})], [{ ...call, providerData: { deep: new Proxy({}, {}) } }]]) {
    const args = { operationId: '1', transaction: { type: 'append_items', items } };
    const [own, model] = [newSession(client), new MemorySession()].map((session) => outcome(session.applyHistoryTransaction(args)));
    assert.deepEqual(await own, await model);
    assert.match((await own).threw, /invalid or unsupported data/);
  }
  assert.deepEqual(calls, []);
});

test('a transaction that another process repeats changes nothing', async () => {
  const { client, other } = newUser();
  await newSession(client).addItems([user('a'), call]);
  await newSession(client).applyHistoryTransaction(replace('1', [call], [call, result]));
  await newSession(client).applyHistoryTransaction(append('2', user('b')));
  const items = [user('a'), call, result, user('b')];
  for (const again of [replace('1', [call], [call, result]), append('2', user('b'))]) {
    await newSession(other).applyHistoryTransaction(again);
    assert.deepEqual(await newSession(other).getItems(), items);
  }
  for (const another of [replace('1', [user('b')], [said('z')]), append('2', user('c')), append('1', user('b'))]) {
    await assert.rejects(newSession(other).applyHistoryTransaction(another), /already applied with a different transaction/);
    assert.deepEqual(await newSession(other).getItems(), items);
  }
});

test('a transaction that two processes apply at once is applied once', async () => {
  const { client, other } = newUser();
  await newSession(client).addItems([user('a'), call]);
  const one = replace('1', [call], [call, result]);
  await Promise.all([client, other, client].map((each) => newSession(each).applyHistoryTransaction(one)));
  assert.deepEqual(await newSession(client).getItems(), [user('a'), call, result]);
});

test('a suffix that changes after it was read is not replaced', async () => {
  let before = async () => {};
  const { client, other } = newUser(async (path) => path.endsWith('/truncate') && before());
  await newSession(client).addItems([user('a'), call]);
  before = async () => {
    before = async () => {};
    await newSession(other).addItems([user('b')]);
  };
  await assert.rejects(newSession(client).applyHistoryTransaction(replace('1', [call], [call, result])), /no longer matches/);
  assert.deepEqual(await newSession(client).getItems(), [user('a'), call, user('b')]);
});

test('pop takes what another process added last', async () => {
  let before = async () => {};
  const { client, other } = newUser(async (path) => path.endsWith('/truncate') && before());
  await newSession(client).addItems([user('a')]);
  before = async () => {
    before = async () => {};
    await newSession(other).addItems([user('b')]);
  };
  assert.deepEqual(await newSession(client).popItem(), user('b'));
  assert.deepEqual(await newSession(client).getItems(), [user('a')]);
});

test('pops at the same time', async () => {
  const { client } = newUser();
  await newSession(client).addItems(Array.from({ length: 6 }, (_, n) => user(`m${n}`)));
  const popped = await Promise.all(Array.from({ length: 4 }, () => newSession(client).popItem()));
  assert.deepEqual(popped.map(({ content }) => content).sort(), ['m2', 'm3', 'm4', 'm5']);
  assert.deepEqual(await newSession(client).getItems(), [user('m0'), user('m1')]);
});

test('pop and clear are one write each, and clear removes what was drawn from the items', async () => {
  const { client, calls } = newUser();
  const session = newSession(client);
  await session.addItems(Array.from({ length: 120 }, (_, n) => user(`My cat is called Mia${n}.`)));
  assert.equal((await session.getItems()).length, 120);
  calls.length = 0;
  await session.popItem();
  await session.clearSession();
  assert.deepEqual(calls.map((path) => path.replace('/v1/sessions/s', '')),
    ['GET /messages', 'POST /messages/truncate', 'DELETE /messages']);
  assert.deepEqual(await session.getItems(), []);
  await settle();
  assert.deepEqual((await client.recall({ query: 'What is my cat called?' })).messages, []);
});

test('items of another screen are in the session', async () => {
  const { client } = newUser();
  await client.createSession({ sessionId: 's', context: 'coach_conversation', coachId: 'kim' });
  await client.appendMessages('s', { messages: [{ role: 'user', content: 'Hi.' }, { role: 'assistant', content: 'Hello.' }] });
  assert.deepEqual(await newSession(client).getItems(), [user('Hi.'), said('Hello.')]);
});

test('the block is not stored, and a text that only looks like it is', async () => {
  const { client } = newUser();
  await newSession(client).addItems([user('<app-context>\nmine\n</app-context>')]);
  assert.deepEqual(await stored(client), ['user: <app-context>\nmine\n</app-context>']);
});

/** Is the error for a transaction whose items cannot be stored. Its cause says which. */
const unsupported = (cause) => (error) => {
  assert.ok(error instanceof UserError);
  assert.match(error.message, /^Session history transaction items contain invalid or unsupported data\.$/);
  assert.match(error.cause.message, cause);
  return true;
};

test('what JSON cannot hold is an error before anything is stored', async () => {
  const { client, calls } = newUser();
  const cyclic = { ...call, providerData: {} };
  cyclic.providerData.me = cyclic;
  for (const [item, message] of [
    [{ ...call, output: [new Uint16Array(2)] }, /items\[60\]\.output\[0\]: is neither JSON nor bytes/],
    [{ ...call, n: NaN }, /items\[60\]\.n: is neither/], [{ ...call, n: 1n }, /n: is neither/], [{ ...call, f() {} }, /f: is neither/],
    [{ ...call, at: new Date(0) }, /at: is neither/], [cyclic, /items\[60\]\.providerData: contains itself/],
    [null, /items\[60\]: must be an object/], ['x', /must be an object/],
  ]) {
    const items = [...Array.from({ length: 60 }, () => user('a')), item];
    await assert.rejects(newSession(client).addItems(items), { name: 'TypeError', message });
    await assert.rejects(newSession(client).applyHistoryTransaction(append('1', ...items)), unsupported(message));
  }
  await assert.rejects(newSession(client).addItems('x'), /must be an array/);
  assert.deepEqual(calls, []);
});

test('a transaction with what would be lost is an error before anything is stored', async () => {
  const { client, calls } = newUser();
  const with_ = (name, field) => Object.defineProperty({ ...call }, name, field);
  const read = () => assert.fail('an accessor was called');
  const hidden = /items\[0\]: has a field that is hidden, a symbol or an accessor/;
  for (const [transaction, message] of [
    [{ type: 'append_items', items: [with_('providerData', { value: { a: 1 }, enumerable: false })] }, hidden],
    [{ type: 'append_items', items: [with_(Symbol('secret'), { value: 1, enumerable: true })] }, hidden],
    [{ type: 'append_items', items: [with_('providerData', { get: read, enumerable: true })] }, hidden],
    [{ type: 'append_items', items: [{ ...call, providerData: { secret: Symbol('secret') } }] }, /^items\[0\]\.providerData: is neither/],
    [{ type: 'append_items', items: new Array(1) }, /items\[0\]: must be an object/],
    [Object.defineProperty({ type: 'append_items' }, 'items', { get: read, enumerable: true }), /transaction: has a field that is hidden/],
  ]) {
    await assert.rejects(newSession(client).applyHistoryTransaction({ operationId: '1', transaction }), unsupported(message));
  }
  for (const [transaction, message] of [
    [{ type: 'append_items', items: [], metadata: {} }, /append transaction fields are invalid/],
    [{ type: 'append_items', items: [], expectedSuffix: [] }, /append transaction fields are invalid/],
    [{ type: 'replace_suffix', expectedSuffix: [], replacement: [], metadata: {} }, /suffix transaction fields are invalid/],
  ]) {
    await assert.rejects(newSession(client).applyHistoryTransaction({ operationId: '1', transaction }), message);
  }
  const unreadable = { get operationId() { throw new Error('secret'); } };
  await assert.rejects(newSession(client).applyHistoryTransaction(unreadable), {
    message: 'Session history transaction arguments are invalid.',
  });
  assert.deepEqual(calls, []);
});

test('the id of an operation is read once', async () => {
  let reads = 0;
  const session = newSession(newUser().client);
  const args = { get operationId() { reads += 1; return `${reads}`; }, transaction: { type: 'append_items', items: [call] } };
  await session.applyHistoryTransaction(args);
  assert.equal(reads, 1);
  await session.applyHistoryTransaction(append('1', call));
  assert.deepEqual(await session.getItems(), [call]);
});

test('items are stored as they were when they were given', async () => {
  const session = newSession(newUser().client);
  const item = { ...call, providerData: { n: 1, none: undefined } };
  const adding = session.addItems([item]);
  item.providerData.n = 2;
  await adding;
  assert.deepEqual(await session.getItems(), [{ ...call, providerData: { n: 1 } }]);
});

test('many and large items, in order', async () => {
  const { client, calls } = newUser();
  const items = Array.from({ length: 64 }, (_, n) => ({ ...result, callId: `${n}`, output: n < 10 ? 'é'.repeat(60_000) : `${n}` }));
  await newSession(client).addItems(items);
  assert.deepEqual(await newSession(client).getItems(), items);
  assert.deepEqual(await newSession(client).getItems(3), items.slice(-3));
  assert.equal(calls.filter((path) => path.endsWith('/messages') && path.startsWith('POST')).length, 5); // one finds no session
  await assert.rejects(newSession(client).addItems([user('x'.repeat(300_000))]), /256 KiB/);
  await assert.rejects(newSession(client).applyHistoryTransaction(append('1', ...items.slice(10, 60))), /clientMessageIds/);
  assert.equal((await newSession(client).getItems()).length, 64);
});

for (const path of ['messages', 'truncate']) {
  test(`an answer that is lost changes nothing: ${path}`, async () => {
    const { client, lose } = newUser();
    const session = newSession(client);
    await session.addItems([user('a'), call]);
    lose(path);
    await session.addItems([said('b')]);
    lose(path);
    assert.deepEqual(await session.popItem(), said('b'));
    lose(path);
    await session.applyHistoryTransaction(replace('1', [call], [call, result]));
    lose(path);
    await session.applyHistoryTransaction(append('2', user('c')));
    assert.deepEqual(await session.getItems(), [user('a'), call, result, user('c')]);
    lose(path);
    await session.clearSession();
    assert.deepEqual(await session.getItems(), []);
  });
}

test('a process that ends after any call of a run leaves a history that another one continues', async () => {
  const transactions = [append('1', call), replace('2', [call], [call, result]), append('3', said('b'))];
  for (let left = 0; left < 12; left += 1) {
    const { client, other, crashAfter } = newUser(undefined, { attempts: 1 });
    await newSession(other).addItems([user('a')]);
    const apply = async (by) => {
      const session = newSession(by);
      for (const transaction of transactions) await session.applyHistoryTransaction(transaction);
    };
    crashAfter(left);
    const ended = await outcome(apply(client));
    await apply(other);
    assert.deepEqual(await newSession(other).getItems(), [user('a'), call, result, said('b')], `${left}`);
    if (!ended.threw) return;
  }
  assert.fail('the run has more calls');
});

test('adding at the same time loses nothing, and keeps each call together', async () => {
  const { client, other } = newUser();
  const batch = (who, n) => [0, 1, 2].map((place) => user(`${who}${n}-${place}`));
  await Promise.all([client, other].map(async (by, who) => {
    for (let n = 0; n < 4; n += 1) await newSession(by).addItems(batch(who, n));
  }));
  const texts = (await newSession(client).getItems()).map(({ content }) => content);
  assert.equal(texts.length, 24);
  for (let start = 0; start < 24; start += 3) {
    const first = texts[start].split('-')[0];
    assert.deepEqual(texts.slice(start, start + 3), [0, 1, 2].map((place) => `${first}-${place}`));
  }
});

test('an item of the Python session is its text', async () => {
  const { client } = newUser();
  await client.createSession({ sessionId: 's', context: 'coach_conversation', coachId: 'kim' });
  const data = (item) => [{ type: 'data', name: 'openai-agents', data: item }];
  await client.appendMessages('s', { messages: [
    { role: 'assistant', content: 'Hi.', parts: data({ role: 'assistant', content: 'Hi.', id: 'm' }) },
    { role: 'assistant', content: '', parts: data({ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }) }] });
  assert.deepEqual(await newSession(client).getItems(), [said('Hi.')]);
});

test('a run goes on while the memory is down, and its items are stored before the next ones', async (t) => {
  const warned = t.mock.method(console, 'warn', () => {});
  let isDown = true;
  const { client, other } = newUser(async () => { if (isDown) throw new TypeError('fetch failed'); });
  const session = newSession(client);
  assert.deepEqual(await session.getItems(), []);
  assert.equal(await session.recall('Who am I?', 1), '');
  await session.addItems([user('I am Ann.'), said('Hello.')]);
  assert.equal(warned.mock.callCount(), 3);
  isDown = false;
  await session.addItems([user('I like tea.')]);
  assert.deepEqual(await stored(other, 's'), ['user: I am Ann.', 'assistant: Hello.', 'user: I like tea.']);
  const errors = [];
  isDown = true;
  const told = new ThroughlineSession({ client, sessionId: 's', timeout: 100, onError: (error, during) => errors.push([error.name, during]) });
  assert.deepEqual(await told.getItems(), []);
  assert.deepEqual(errors, [['ConnectionError', 'begin']]);
});
