// The transport with the AI SDK's own chat.
import assert from 'node:assert/strict';
import test from 'node:test';
import { AbstractChat } from 'ai';
import { Client } from '@throughline/client';
import { chatTransport } from '@throughline/ai-sdk';

/** The AI SDK's chat without a page. */
class Chat extends AbstractChat {
  constructor(init) {
    const state = {
      status: 'ready', error: undefined, messages: init.messages ?? [],
      pushMessage(message) { this.messages = [...this.messages, message]; },
      popMessage() { this.messages = this.messages.slice(0, -1); },
      replaceMessage(at, message) { this.messages = this.messages.with(at, message); },
      snapshot: (value) => structuredClone(value),
    };
    super({ ...init, state });
  }
}

const said = ({ messages }) => messages.map(({ role, parts }) =>
  `${role}: ${parts.filter(({ type }) => type === 'text').map(({ text }) => text).join('')}`);

const chunks = (...deltas) => [
  { type: 'start', messageId: 'msg_2', messageMetadata: { promptId: 'prompt_1' } },
  { type: 'data-prompt', data: { promptId: 'prompt_1', userMessageId: 'msg_1' } },
  { type: 'text-start', id: 't' }, ...deltas.map((delta) => ({ type: 'text-delta', id: 't', delta })),
  { type: 'text-end', id: 't' }, { type: 'finish', finishReason: 'stop', messageMetadata: { usage: { totalTokens: 3 } } },
];

const sse = (list) => new Response([...list.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'].join(''));

function scripted(...answers) {
  const client = new Client({ baseUrl: 'http://stack', token: 't', fetch: async () => answers.shift() });
  return chatTransport({ client });
}

test('an answer becomes a message with its metadata', async () => {
  const chat = new Chat({ id: 's', transport: scripted(sse(chunks('Hello ', 'Ann.'))) });
  await chat.sendMessage({ text: 'Hi' });
  assert.equal(chat.error, undefined);
  assert.deepEqual(said(chat), ['user: Hi', 'assistant: Hello Ann.']);
  const { id, metadata } = chat.lastMessage;
  assert.deepEqual([id, metadata], ['msg_2', { promptId: 'prompt_1', usage: { totalTokens: 3 } }]);
});

test('a problem is the error of the chat', async () => {
  const problem = { type: 'about:blank', title: '', status: 403, code: 'forbidden', detail: 'no' };
  const chat = new Chat({ id: 's', transport: scripted(Response.json(problem, { status: 403 })) });
  await chat.sendMessage({ text: 'Hi' });
  assert.equal(chat.status, 'error');
  assert.equal(chat.error.code, 'forbidden');
});
