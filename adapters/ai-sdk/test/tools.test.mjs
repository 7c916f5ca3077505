// The tools, called by a model.
import assert from 'node:assert/strict';
import test from 'node:test';
import { generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { memoryTools } from '@throughline/ai-sdk';
import { calling, generated, newUser } from './stack.mjs';

/** Returns what a tool answers a model. */
async function call(client, toolName, input, id) {
  const { steps } = await generateText({
    model: new MockLanguageModelV4({ doGenerate: [calling(toolName, input, id), generated('Done.')] }),
    prompt: 'Go.', tools: memoryTools({ client }), stopWhen: isStepCount(2),
  });
  return steps[0].toolResults[0].output;
}

test('search, remember and forget by exact id', async () => {
  const { client } = newUser();
  const { id } = await call(client, 'remember', { content: 'Is allergic to latex.', type: 'PROFILE' });
  assert.equal((await call(client, 'remember', { content: 'Is allergic to latex.', type: 'PROFILE' })).id, id);
  const other = await call(client, 'remember', { content: 'Has a dog.' });
  assert.notEqual(other.id, id);
  const found = await call(client, 'search', { query: 'allergic latex' });
  assert.ok(found.some((item) => item.id === id && item.content === 'Is allergic to latex.' && item.kind === 'memory'));
  assert.deepEqual(await call(client, 'forget', { id }), { forgotten: id });
  assert.deepEqual(await call(client, 'forget', { id: 'memory_none' }), { error: 'no memory has the id memory_none' });
  const left = await client.listMemories().all();
  assert.deepEqual(left.map(({ content }) => content), ['Has a dog.']);
});
