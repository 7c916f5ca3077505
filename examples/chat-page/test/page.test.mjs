// The page in Chromium, against the stack at THROUGHLINE.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';
import test, { after, before, beforeEach } from 'node:test';
import { chromium } from 'playwright-core';

const stack = process.env.THROUGHLINE;
assert.ok(stack, 'run make adapters, which starts a stack');
const places = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
let server, base, browser, page;

/** Stands between the page's server and the stack. As on AWS, the chat has an address of its own. While it is closed, it holds an
 * answer after its first words. */
const gate = { opened: Promise.resolve(), open() {}, close() { this.opened = new Promise((open) => { this.open = open; }); } };
const between = createServer(async (request, response) => {
  const body = request.method === 'GET' ? undefined : Buffer.concat(await request.toArray());
  const [, door, url] = /^(\/live)?(.*)$/.exec(request.url);
  if (Boolean(door) !== url.startsWith('/v1/chat')) return response.writeHead(404).end('{"message":"Not Found"}');
  const answer = await fetch(stack + url, { method: request.method, headers: request.headers, body });
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (!answer.body) return response.end();
  const isChat = request.method === 'POST' && door;
  const frames = isChat ? (await answer.text()).split(/(?<=\n\n)/) : answer.body;
  for await (const frame of frames) {
    response.write(frame);
    if (isChat && frame.includes('text-delta')) await gate.opened;
  }
  response.end();
});

before(async () => {
  await once(between.listen(0, '127.0.0.1'), 'listening');
  const address = `http://127.0.0.1:${between.address().port}`;
  server = spawn(process.execPath, [path.join(import.meta.dirname, '../server.mjs')], {
    env: { ...process.env, PORT: '0', THROUGHLINE: address, THROUGHLINE_STREAM: `${address}/live` }, stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: server.stdout })) {
    base = /^ready\s+(\S+)/.exec(line)?.[1];
    if (base) break;
  }
  const executablePath = places.find((place) => place && existsSync(place));
  assert.ok(executablePath, 'Chromium is missing: install the package chromium, or name the program in CHROMIUM');
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
});

after(async () => {
  await browser?.close();
  server?.kill();
  between.close();
  between.closeAllConnections();
});

/** Each test has a user of its own, and fails if the page has an error. */
beforeEach(async (t) => {
  const context = await browser.newContext({ viewport: { width: 1100, height: 720 } });
  page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const errors = [];
  page.on('pageerror', (error) => errors.push(error));
  t.after(async () => {
    gate.open();
    await context.close();
    assert.deepEqual(errors, []);
  });
  await page.goto(base);
});

const screen = (name) => page.getByRole('region', { name });
const answers = (name) => screen(name).locator('li.assistant:not(.waiting)');

/** Waits for a part of a screen. It fails if the screen says what went wrong. */
async function shown(name, part) {
  const problem = screen(name).getByRole('alert');
  await part.or(problem).first().waitFor();
  assert.deepEqual(await problem.allTextContents(), []);
}

async function type(name, text) {
  await shown(name, screen(name).getByRole('textbox'));
  await screen(name).getByRole('textbox').fill(text);
  await screen(name).getByRole('button', { name: 'Send' }).click();
}

/** Waits until a screen has this many answers and waits for no other. */
async function answered(name, count) {
  await shown(name, answers(name).nth(count - 1));
  await screen(name).getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
  assert.equal(await answers(name).count(), count);
  return answers(name).last().textContent();
}

/** Returns the roles of what is stored, as the page's own user reads it. */
const stored = (id) => page.evaluate(async (session) => {
  const answer = await fetch(`/v1/sessions/${session}/messages`);
  return (await answer.json()).items.map(({ role }) => role).join(' ');
}, id);

test('two screens, one memory, and the history after a reload', async () => {
  await type('Program designer', 'I only have bands at home: swap the hip thrusts for glute bridges.');
  await answered('Program designer', 1);
  await type('Coach', 'What did I swap the hip thrusts for?');
  assert.match(await answered('Coach', 1), /glute bridges/);
  if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT });
  await page.reload();
  assert.match(await answered('Coach', 1), /glute bridges/);
  await answered('Program designer', 1);
  assert.equal(await screen('Coach').locator('li.user').textContent(), 'What did I swap the hip thrusts for?');
});

test('an answer is shown as it comes', async () => {
  gate.close();
  await type('Coach', 'Tell me how a week of training looks.');
  await shown('Coach', answers('Coach').first());
  const first = await answers('Coach').first().textContent();
  assert.ok(await screen('Coach').getByRole('button', { name: 'Stop' }).isVisible());
  gate.open();
  const whole = await answered('Coach', 1);
  assert.ok(whole.startsWith(first) && whole.length > first.length, `${first} and ${whole}`);
});

test('a page that is loaded anew during an answer joins it', async (t) => {
  t.after(() => slowModel(0));
  await slowModel(3000);
  await type('Coach', 'Shall I rest?');
  while (await stored('coach') !== 'user') await page.waitForTimeout(20); // the model is called after that
  const joined = page.waitForResponse((response) => response.url().endsWith('/v1/chat/coach/stream'));
  await page.reload();
  assert.equal((await joined).status(), 200);
  await answered('Coach', 1);
  assert.equal(await stored('coach'), 'user assistant');
  assert.equal(await screen('Coach').locator('li.user').count(), 1);
});

/** Lets the stack's model wait before it answers. */
const slowModel = (latencyMs) => fetch(`${stack}/dev/faults`, {
  method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ openai: latencyMs ? { latencyMs } : {} }),
});

test('Again answers anew in the place of the former answer', async () => {
  for (const [n, text] of ['Hello.', 'Shall I run today?'].entries()) {
    await type('Coach', text);
    await answered('Coach', n + 1);
  }
  const former = await screen('Coach').locator('li.assistant').last().textContent();
  gate.close();
  await screen('Coach').getByRole('button', { name: 'Again' }).click();
  await screen('Coach').getByRole('button', { name: 'Stop' }).waitFor();
  gate.open();
  assert.equal(await answered('Coach', 2), former); // the offline model answers the same in the same conversation
  assert.equal(await stored('coach'), 'user assistant user assistant');
});

test('the route allows nothing but the chats', async () => {
  const status = await page.evaluate(async () => Promise.all(['/v1/export', '/v1/profile'].map(async (url) => (await fetch(url)).status)));
  assert.deepEqual(status, [404, 404]);
  assert.equal((await fetch(`${base}/v1/sessions/coach/ui-messages`)).status, 401);
});
