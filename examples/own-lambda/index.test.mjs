import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';

const base = process.env.THROUGHLINE;
const info = await (await fetch(`${base}/dev/info`)).json();
const issued = await fetch(`${base}/dev/tokens`, {
  method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"server":true}',
});
Object.assign(process.env, {
  THROUGHLINE_TOKEN: (await issued.json()).token, OPENAI_BASE_URL: info.openaiBaseUrl, OPENAI_API_KEY: 'offline',
  MODEL: 'throughline-offline', PROMPT_FUNCTION: `${info.functions.prompt}:live`, AWS_ENDPOINT_URL_LAMBDA: info.lambdaEndpoint,
  AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b',
});
globalThis.awslambda = { streamifyResponse: (handle) => handle };
const { handler } = await import('./index.mjs');

test('a turn is answered with the prompt of the stack, and stored', async () => {
  const user = `own-lambda-${randomUUID()}`;
  for (const message of ['I only have resistance bands at home.', 'What should I do tomorrow?']) {
    let text = '';
    const body = Buffer.from(JSON.stringify({ message })).toString('base64');
    await handler({ headers: { user }, body, isBase64Encoded: true }, { write: (piece) => { text += piece; }, end: () => {} });
    assert.ok(text.length > 10, text);
  }
  const { Client } = await import('@throughline/client');
  const memory = new Client({ baseUrl: base, token: process.env.THROUGHLINE_TOKEN }).as(user);
  const stored = await memory.listMessages('coach').all();
  assert.equal(stored.length, 4);
});
