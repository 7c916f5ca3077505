// The story of two screens, at a stack: faults, lost answers and cuts, and nothing is doubled or lost.
import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Client, ProblemError } from '@throughline/client';

const base = process.env.THROUGHLINE;
assert.ok(base, 'run make clients, which starts a stack');
const user = `typescript-${Date.now().toString(36)}`;
const dev = async (path, body) => (await fetch(base + path, {
  method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
})).json();
const token = async () => (await dev('/dev/tokens', { userId: user })).token;
const credential = async () => (await dev('/dev/tokens', { server: true })).token;

/** A fetch that does what is asked and loses every answer at first. */
function losing() {
  const seen = new Set();
  return async (url, init) => {
    const answer = await fetch(url, init);
    const call = `${init.method} ${url} ${init.headers['Idempotency-Key']}`;
    if (seen.has(call)) return answer;
    seen.add(call);
    await answer.text();
    throw new TypeError('the connection was closed');
  };
}

/** A fetch that cuts the first answer of each chat after its first 300 bytes. */
function cutting() {
  let cut = false;
  return async (url, init) => {
    const answer = await fetch(url, init);
    if (cut || !url.endsWith('/v1/chat')) return answer;
    cut = true;
    const reader = answer.body.getReader();
    let left = 300;
    return new Response(new ReadableStream({
      async pull(stream) {
        const { value } = await reader.read();
        const piece = value?.slice(0, left) ?? new Uint8Array();
        left -= piece.length;
        if (piece.length > 0) stream.enqueue(piece);
        if (left > 0 && value) return;
        await reader.cancel();
        stream.error(new TypeError('terminated'));
      },
    }), answer);
  };
}

async function say(client, sessionId, message) {
  let text = '';
  let promptId;
  for await (const { event, data } of client.chat({ sessionId, message })) {
    if (event === 'prompt') promptId = data.promptId;
    if (event === 'token') text += data.text;
  }
  return { text, promptId };
}

/** Returns the record of a prompt, which may be stored shortly after the answer. */
async function recorded(server, promptId) {
  for (let left = 50; ; left--) {
    try {
      return await server.getPrompt(promptId);
    } catch (error) {
      if (left === 0 || error.code !== 'not_found') throw error;
      await setTimeout(100);
    }
  }
}

test('two screens, one memory', async () => {
  const designer = new Client({ baseUrl: base, token, fetch: losing() });
  const coach = new Client({ baseUrl: base, token, fetch: cutting() });
  await designer.createSession({ context: 'program_designer', coachId: 'kim', sessionId: 'designer' });
  await coach.createSession({ context: 'coach_conversation', coachId: 'kim', sessionId: 'coach' });

  const swap = 'I only have bands at home: swap the hip thrusts for glute bridges.';
  const { session } = await designer.appendMessages('designer', {
    messages: [{ role: 'user', content: swap }, { role: 'assistant', content: 'I can do that.' }],
  });
  assert.equal(session.messageCount, 2);

  await dev('/dev/faults', { dynamodb: { errorRate: 0.05 } });
  const answered = await say(coach, 'coach', 'What should I do tomorrow? My glutes are sore.').finally(
    () => dev('/dev/faults', { dynamodb: {} }));
  const server = new Client({ baseUrl: base, token: credential }).as(user);
  const prompt = await recorded(server, answered.promptId);
  assert.match(JSON.stringify(prompt), /glute bridges/);

  const stored = await coach.listMessages('coach', { limit: 1 }).all();
  assert.deepEqual(stored.map((m) => m.role), ['user', 'assistant']);
  assert.equal(stored[1].content, answered.text);
  const timeline = await designer.listTimeline({ order: 'asc' }).all();
  assert.equal(timeline.length, 4);

  const kinds = [];
  for await (const line of coach.export()) kinds.push(line.kind);
  assert.equal(kinds.filter((kind) => kind === 'message').length, 4);
  await designer.deleteSession('designer');
  await assert.rejects(coach.getSession('designer'),
    (error) => error instanceof ProblemError && error.code === 'not_found');
});
