// Agents whose messages and state the SDK's SessionManager keeps in the memory.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Agent, MemoryManager, SessionManager, tool } from '@strands-agents/sdk';
import { newSnapshots, newStore, newUser, Scripted, settle, stored, textsOf } from './stack.mjs';

const weight = tool({
  name: 'weight', description: 'The weight of an exercise.', inputSchema: {
    type: 'object', properties: { exercise: { type: 'string' } }, required: ['exercise'],
  },
  callback: ({ exercise }) => `${exercise}: 40 kg`,
});

function newAgent(client, answers, { sessionId = 's', manager = {}, snapshots = {}, ...options } = {}) {
  const storage = { snapshot: newSnapshots(client, snapshots) };
  const sessionManager = new SessionManager({ sessionId, storage, ...manager });
  return new Agent({ model: new Scripted(...answers), sessionManager, printer: false, ...options });
}

async function restored(client, options) {
  const agent = newAgent(client, [], options);
  await agent.initialize();
  return agent;
}

test('another process goes on', async () => {
  const { client } = newUser();
  const one = newAgent(client, [{ name: 'weight', id: 'c', input: { exercise: 'squat' } }, 'It is 40 kg.'], { tools: [weight] });
  one.appState.set('unit', 'kg');
  await one.invoke('How heavy is my squat?');
  const two = newAgent(client, ['Yes.'], { tools: [weight] });
  await two.initialize();
  assert.deepEqual(JSON.parse(JSON.stringify(two.messages)), JSON.parse(JSON.stringify(one.messages)));
  assert.equal(two.appState.get('unit'), 'kg');
  await two.invoke('Is that much?');
  assert.deepEqual(await stored(client), [
    'user: How heavy is my squat?', 'assistant: It is 40 kg.', 'user: Is that much?', 'assistant: Yes.']);
  const parts = (await client.listMessages('s').all()).flatMap(({ parts = [] }) => parts.map(({ type }) => type));
  assert.deepEqual(parts.filter((type) => type !== 'data'), ['tool-call', 'tool-result']);
});

test('the memory has what an agent heard', async () => {
  const { client } = newUser();
  await newAgent(client, ['Noted.']).invoke('My cat is called Mia.');
  await settle();
  const memoryManager = new MemoryManager({ stores: [newStore(client, 'other', { writable: false })], injection: true });
  const other = newAgent(client, ['Mia.'], { sessionId: 'other', memoryManager });
  await other.invoke('What is my cat called?');
  assert.match(other.model.got[0], /My cat is called Mia\./);
  assert.deepEqual(await stored(client, 'other'), ['user: What is my cat called?', 'assistant: Mia.']);
});

test('each message is stored once, whenever snapshots are saved', async () => {
  const { client } = newUser();
  const manager = { saveLatestOn: 'message', snapshotTrigger: () => true };
  const agent = newAgent(client, ['1', '2'], { manager });
  await agent.invoke('one');
  await agent.invoke('two');
  assert.deepEqual(await stored(client), ['user: one', 'assistant: 1', 'user: two', 'assistant: 2']);
  const ids = await agent.sessionManager.listSnapshotIds({ target: agent });
  assert.equal(ids.length, 2);
  assert.deepEqual(await agent.sessionManager.listSnapshotIds({ target: agent, startAfter: ids[0] }), ids.slice(1));
  assert.ok(await agent.sessionManager.restoreSnapshot({ target: agent, snapshotId: ids[0] }));
  assert.deepEqual(textsOf(agent.messages), ['one', '1']);
});

test('a message that was redacted is gone, and one that left the window stays', async () => {
  const { client } = newUser();
  const location = { sessionId: 's', scope: 'agent', scopeId: 'a' };
  const said = (text, role = 'user') => ({ role, content: [{ text }], trackingId: text });
  const snapshots = newSnapshots(client);
  const save = (...messages) => snapshots.saveSnapshot({
    location, snapshotId: 'latest', isLatest: true,
    snapshot: { scope: 'agent', schemaVersion: '1.0', createdAt: '', data: { messages, state: {} }, appData: {} },
  });
  await save(said('one'), said('1', 'assistant'), said('My password is hunter2.'), said('2', 'assistant'));
  await save(said('1', 'assistant'), said('[redacted]'), said('2', 'assistant'));
  assert.deepEqual((await stored(client)).sort(), ['assistant: 1', 'assistant: 2', 'user: [redacted]', 'user: one']);
  const { data } = await newSnapshots(client).loadSnapshot({ location });
  assert.deepEqual(textsOf(data.messages), ['1', '[redacted]', '2']);
});

test('agents of one session have messages of their own', async () => {
  const { client } = newUser();
  await newAgent(client, ['Hi.'], { id: 'one' }).invoke('Hello, one.');
  await newAgent(client, ['Hi.'], { id: 'two' }).invoke('Hello, two.');
  await client.appendMessages('s', { messages: [{ role: 'user', content: 'From another screen.' }] });
  assert.deepEqual(textsOf((await restored(client, { id: 'one' })).messages), ['Hello, one.', 'Hi.']);
  assert.deepEqual(textsOf((await restored(client, { id: 'two' })).messages), ['Hello, two.', 'Hi.']);
});

test('a session can be deleted', async () => {
  const { client } = newUser();
  const agent = newAgent(client, ['Hi.']);
  await agent.invoke('Hello.');
  await agent.sessionManager.deleteSession();
  await agent.sessionManager.deleteSession();
  assert.deepEqual((await restored(client)).messages, []);
  assert.deepEqual(await client.listDocuments({}).all(), []);
});

test('an agent goes on while the memory is down, and its messages are stored with the next ones', async (t) => {
  const warned = t.mock.method(console, 'warn', () => {});
  const { client, other, line } = newUser();
  const first = newAgent(other, ['Hello.']);
  first.appState.set('name', 'Ann');
  await first.invoke('I am Ann.');
  line.isDown = true;
  const agent = newAgent(client, ['Hi.', 'Tea it is.'], { snapshots: { timeout: 3_000 } });
  await agent.invoke('Who am I?');
  line.isDown = false;
  await agent.invoke('I like tea.');
  assert.ok(warned.mock.callCount() > 0);
  const next = await restored(other);
  assert.deepEqual(textsOf(next.messages), ['I am Ann.', 'Hello.', 'Who am I?', 'Hi.', 'I like tea.', 'Tea it is.']);
  assert.equal(next.appState.get('name'), 'Ann');
});
