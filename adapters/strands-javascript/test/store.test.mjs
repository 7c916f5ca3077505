// Agents with the memory store, and the store beside them.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Agent, MemoryManager } from '@strands-agents/sdk';
import { newStore, newUser, Scripted, settle, stored } from './stack.mjs';

const said = (text, role = 'user') => ({ role, content: [{ text }] });

test('two screens have one memory', async () => {
  const { client } = newUser();
  const say = async (sessionId, context, text, answer) => {
    const memoryManager = new MemoryManager({ stores: [newStore(client, sessionId, { context })], injection: true });
    const agent = new Agent({ model: new Scripted(answer), memoryManager, printer: false });
    await agent.invoke(text);
    await memoryManager.flush();
    return agent;
  };
  await say('designer', 'program_designer', 'I only have bands at home: swap the hip thrusts for glute bridges.', 'Done.');
  await settle();
  const { model, messages } = await say('coach', 'coach_conversation', 'What did I swap the hip thrusts for?', 'For glute bridges.');
  assert.match(model.got[0], /swap the hip thrusts for glute bridges/);
  assert.doesNotMatch(JSON.stringify(messages), /<memory>/);
  assert.deepEqual(await stored(client, 'coach'), ['user: What did I swap the hip thrusts for?', 'assistant: For glute bridges.']);
});

test('parts of tools', async () => {
  const { client } = newUser();
  await newStore(client).addMessages([
    { role: 'assistant', content: [{ text: 'Let me look.' }, { toolUse: { toolUseId: 'c', name: 'look', input: { a: 1 } } }] },
    { role: 'user', content: [{ toolResult: { toolUseId: 'c', status: 'error', content: [{ text: 'no' }, { json: { b: 2 } }] } }] },
    { role: 'user', content: [{ image: { format: 'png', source: { bytes: 'AA==' } } }] },
    said('half \ud83d'),
  ]);
  const [asked, answered, half] = await client.listMessages('s').all();
  assert.deepEqual(asked.parts.map(({ type }) => type), ['text', 'tool-call']);
  assert.equal(answered.role, 'tool');
  const [{ toolName, output, isError }] = answered.parts;
  assert.deepEqual({ toolName, output, isError }, { toolName: 'look', output: ['no', { b: 2 }], isError: true });
  assert.equal(half.content, 'half \ufffd');
});

test('a batch that is repeated is stored once', async () => {
  const { client } = newUser();
  const store = newStore(client, 's', { run: 'run-1' });
  const both = [said('ok'), said('ok', 'assistant')];
  await store.addMessages(both, { sequenceNumbers: [0, 1] });
  await store.addMessages([...both, ...both], { sequenceNumbers: [0, 1, 4, 5] });
  assert.equal((await stored(client)).length, 4);
});

test('a long batch', async () => {
  const { client } = newUser();
  await newStore(client).addMessages(Array.from({ length: 95 }, (_, n) => said(`m${n}`)), { sequenceNumbers: [...Array(95).keys()] });
  assert.deepEqual(await stored(client), Array.from({ length: 95 }, (_, n) => `user: m${n}`));
});

test('a search leaves out this conversation, and facts are added', async () => {
  const { client } = newUser();
  await newStore(client, 'one').addMessages([said('My cat is called Mia.')]);
  await newStore(client).add('Is allergic to latex.');
  await newStore(client).add('Sister is called Ann.', { type: 'PEOPLE' });
  await settle();
  const [found] = await newStore(client, 'other').search('What is my cat called?');
  assert.equal(found.content, 'My cat is called Mia.');
  const own = await newStore(client, 'one').search('What is my cat called?');
  assert.ok(own.every(({ metadata }) => metadata.kind !== 'message'));
  assert.equal((await newStore(client).search('latex allergy', { maxSearchResults: 1 })).length, 1);
  assert.deepEqual((await client.listMemories().all()).map(({ type }) => type).sort(), ['PEOPLE', 'PROFILE']);
});

test('an agent answers while the memory is down', async (t) => {
  const warned = t.mock.method(console, 'warn', () => {});
  const { client, other, line } = newUser();
  const store = newStore(client, 's', { timeout: 3_000 });
  line.isDown = true;
  assert.deepEqual(await store.search('Who am I?'), []);
  await store.addMessages([said('I am Ann.')], { sequenceNumbers: [0] });
  line.isDown = false;
  await store.addMessages([said('I like tea.')], { sequenceNumbers: [1] });
  assert.equal(warned.mock.callCount(), 2);
  assert.deepEqual(await stored(other), ['user: I am Ann.', 'user: I like tea.']);
});
