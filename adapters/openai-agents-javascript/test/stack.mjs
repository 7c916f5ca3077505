// What the tests share: users of their own on the stack, and runs with models that answer as they are made to.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Agent, Runner } from '@openai/agents';
import { assistantMessage, ScriptedModel } from '@openai/agents/testing';
import { Client } from '@throughline/client';
import { ThroughlineSession, withMemory } from '@throughline/openai-agents';

export const base = process.env.THROUGHLINE;
assert.ok(base, 'run make adapters, which starts a stack');

async function post(path, body) {
  const answer = await fetch(base + path, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
  });
  return answer.json();
}

/**
 * Returns a new user's client, and its requests by method and path. before is called with each of them. lose loses the answer of
 * the next change of a path, and after some requests, crashAfter ends all others.
 */
export function newUser(before = async () => {}, options = {}) {
  const calls = [];
  let [lost, left] = [undefined, Infinity];
  const counting = async (url, init) => {
    const call = `${init.method} ${new URL(url).pathname}`;
    await before(call);
    calls.push(call);
    // The last request arrives, and its answer does not.
    const answer = left >= 0 ? await fetch(url, init) : undefined;
    left -= 1;
    if (left < 0) throw new TypeError('the process ended');
    if (lost && init.method !== 'GET' && call.endsWith(lost)) {
      lost = undefined;
      throw new TypeError('the answer is lost');
    }
    return answer;
  };
  const token = async () => (await post('/dev/tokens', { server: true })).token;
  const user = `agents-${randomUUID()}`;
  const client = (more) => new Client({ baseUrl: base, token, ...more }).as(user);
  return {
    client: client({ fetch: counting, ...options }), calls, other: client(),
    lose: (path) => { lost = path; },
    crashAfter: (count) => { left = count; },
  };
}

/** Waits until everything that was stored is indexed. */
export const settle = async () => assert.ok((await post('/dev/settle', { timeoutMs: 30000 })).settled);

/** The session waits longer than by default: the machine of a test may be busy. */
export const newSession = (client, sessionId = 's', context = 'coach_conversation') =>
  new ThroughlineSession({ client, sessionId, context, coachId: 'kim', timeout: 20_000 });

/** Runs an agent with a session and its memory. */
export async function say(session, text, answers, { tools = [], stream = false } = {}) {
  const model = new ScriptedModel(answers.map((answer) => [typeof answer === 'string' ? assistantMessage(answer) : answer]));
  const agent = new Agent({ name: 'coach', model, tools });
  const runner = new Runner({ callModelInputFilter: withMemory(session), tracingDisabled: true });
  const result = await runner.run(agent, text, { session, stream });
  if (stream) await result.completed;
  return { text: result.finalOutput, calls: model.calls.map(({ request }) => request.input) };
}

/** Returns the text of the last message of the user that a model got. */
export function lastUser(input) {
  const { content } = input.findLast(({ role }) => role === 'user');
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('\n');
}

/** Returns what a session of the user holds. */
export async function stored(client, sessionId = 's') {
  const messages = await client.listMessages(sessionId).all();
  return messages.map(({ role, content }) => `${role}: ${content}`);
}

export const user = (content) => ({ type: 'message', role: 'user', content });
