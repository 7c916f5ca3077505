// What the tests share: users of their own on the stack, and a model that answers as it is made to.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Model } from '@strands-agents/sdk';
import { Client } from '@throughline/client';
import { ThroughlineMemoryStore, ThroughlineSnapshots } from '@throughline/strands';

export const base = process.env.THROUGHLINE;
assert.ok(base, 'run make adapters, which starts a stack');

async function post(path, body) {
  const answer = await fetch(base + path, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
  });
  return answer.json();
}

/** Returns a new user's client. The line of the first one can be down. */
export function newUser() {
  const line = { isDown: false };
  const token = async () => (await post('/dev/tokens', { server: true })).token;
  const user = `strands-${randomUUID()}`;
  const fetching = async (...args) => {
    if (line.isDown) throw new TypeError('fetch failed');
    return fetch(...args);
  };
  const client = (more) => new Client({ baseUrl: base, token, ...more }).as(user);
  return { client: client({ fetch: fetching }), other: client(), line };
}

/** Waits until everything that was stored is indexed. */
export const settle = async () => assert.ok((await post('/dev/settle', { timeoutMs: 30000 })).settled);

export const newStore = (client, sessionId = 's', options = {}) =>
  new ThroughlineMemoryStore({ client, sessionId, context: 'coach_conversation', coachId: 'kim', timeout: 20_000, ...options });

export const newSnapshots = (client, options = {}) =>
  new ThroughlineSnapshots({ client, context: 'coach_conversation', coachId: 'kim', timeout: 20_000, ...options });

/** Returns what a session of the user holds. */
export const stored = async (client, sessionId = 's') =>
  (await client.listMessages(sessionId).all()).filter(({ content }) => content !== '').map(({ role, content }) => `${role}: ${content}`);

export const textsOf = (messages) => messages.flatMap(({ content }) =>
  content.flatMap((block) => typeof block.text === 'string' ? [block.text] : []));

/** Answers as it is made to, and keeps what it gets. An answer is a text or a call of a tool. */
export class Scripted extends Model {
  got = [];

  constructor(...answers) {
    super();
    this.answers = answers;
  }

  updateConfig() {}

  getConfig() {
    return { modelId: 'scripted' };
  }

  async *stream(messages) {
    this.got.push(JSON.stringify(messages));
    const answer = this.answers.shift();
    const isText = typeof answer === 'string';
    yield { type: 'modelMessageStartEvent', role: 'assistant' };
    yield isText ? { type: 'modelContentBlockStartEvent' }
      : { type: 'modelContentBlockStartEvent', start: { type: 'toolUseStart', name: answer.name, toolUseId: answer.id } };
    yield {
      type: 'modelContentBlockDeltaEvent',
      delta: isText ? { type: 'textDelta', text: answer } : { type: 'toolUseInputDelta', input: JSON.stringify(answer.input) },
    };
    yield { type: 'modelContentBlockStopEvent' };
    yield { type: 'modelMessageStopEvent', stopReason: isText ? 'endTurn' : 'toolUse' };
  }
}
