import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';

const base = process.env.THROUGHLINE;
const info = await (await fetch(`${base}/dev/info`)).json();
const issued = await fetch(`${base}/dev/tokens`, {
  method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"server":true}',
});
const { token } = await issued.json();
const issuer = createServer(async (request, response) => {
  const isRight = request.headers.authorization === `Basic ${btoa('app:s%3A1')}` && await text(request) === 'grant_type=client_credentials';
  response.end(JSON.stringify(isRight ? { access_token: token } : { error: 'invalid_client' }));
}).listen(0);
after(() => issuer.close());
await once(issuer, 'listening');
Object.assign(process.env, {
  TOKEN_URL: `http://localhost:${issuer.address().port}`, TOKEN_FORM: 'grant_type=client_credentials', CLIENT_ID: 'app',
  CLIENT_SECRET: 's:1', OPENAI_BASE_URL: info.openaiBaseUrl, OPENAI_API_KEY: 'offline',
  MODEL: 'throughline-offline', PROMPT_FUNCTION: `${info.functions.prompt}:live`, AWS_ENDPOINT_URL_LAMBDA: info.lambdaEndpoint,
  AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b',
});
globalThis.awslambda = { streamifyResponse: (handle) => handle };
const { handler } = await import('./index.mjs');

test('a turn is answered with the prompt of the stack, and stored', async () => {
  const user = `own-lambda-${randomUUID()}`;
  for (const message of ['I only have resistance bands at home.', 'What should I do tomorrow?']) {
    let said = '';
    const body = Buffer.from(JSON.stringify({ message })).toString('base64');
    await handler({ headers: { user }, body, isBase64Encoded: true }, { write: (piece) => { said += piece; }, end: () => {} });
    assert.ok(said.length > 10, said);
  }
  const { Client } = await import('@throughline/client');
  const memory = new Client({ baseUrl: base, token }).as(user);
  const stored = await memory.listMessages('coach').all();
  assert.equal(stored.length, 4);
});
