// Every screen: it opens by its address, reads well at both widths and in both themes, and does what it says.
import AxeBuilder from 'axe-core';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launch, withPage } from './browser';
import { stack } from './stack';

let browser: Browser;
let screens: Record<string, string>;
before(async () => {
  browser = await launch();
  const api = await stack.as('ann');
  await api.call('PUT', '/v1/profile', { name: 'Ann', about: 'Nurse with night shifts.' });
  await api.open('intake', 'coach_conversation');
  await api.say('intake', 'I live in Berlin. My left knee is injured. Remind me to buy a kettlebell.');
  await api.call('PATCH', '/v1/sessions/intake', { status: 'completed' });
  await stack.settle();
  await api.open('designer', 'program_designer');
  await api.say('designer', 'I moved, I live in Munich now. What about my knee?');
  await api.call('POST', '/v1/sessions/designer/leave');
  await api.call('POST', '/v1/check-ins', { note: 'Slept badly after the night shift.' });
  await api.call('POST', '/v1/goals', { title: 'Run a half marathon', goalType: 'target' });
  await stack.settle();
  const { items } = await api.call<{ items: { promptId: string }[] }>('GET', '/v1/prompts?sessionId=designer');
  screens = {
    start: '#/', chats: '#/ann/chats?left=intake&right=designer', timeline: '#/ann/timeline', session: '#/ann/session/intake',
    memory: '#/ann/memory', settings: '#/ann/settings', health: '#/ann/health', prompts: '#/ann/prompts?session=designer',
    prompt: `#/ann/prompt/${items[0]!.promptId}`, 'an empty user': '#/nobody/timeline', nothing: '#/ann/nowhere',
    'no session': '#/ann/session/none', 'no prompt': '#/ann/prompt/none', 'no chat': '#/nobody/chats',
  };
});
after(async () => {
  await browser?.close();
});

const views = [{ width: 1440 }, { width: 390 }, { width: 360, dark: true }];

test('no screen has a fault of accessibility, at any width and in both themes', async () => {
  await withPage(browser, `${stack.base}/#/ann/timeline`, {}, async (page) => {
    for (const [name, hash] of Object.entries(screens)) {
      await page.goto(`${stack.base}/${hash}`);
      await page.waitForFunction((title) => document.title.startsWith(title), titleOf(hash));
      await page.waitForFunction(() => !document.querySelector('.loading') && document.querySelector('h1, .empty'));
      await checkScreen(page, name);
    }
    for (const address of ['/docs', '/no/such/page']) {
      await page.goto(stack.base + address);
      await checkScreen(page, address);
    }
    const answer = await fetch(`${stack.base}/no/such/page`);
    assert.equal(answer.headers.get('Content-Type'), 'application/problem+json', 'a program gets a problem and no page');
  });
});

test('at twice the size, messages can be read, and the field for the next one stays in sight', async () => {
  await withPage(browser, `${stack.base}/#/ann/chats?left=intake&right=designer`, { width: 640 }, async (page) => {
    await page.setViewportSize({ width: 640, height: 360 }); // a window of 1280 by 720
    const pane = page.getByRole('region', { name: 'Left chat' });
    await pane.getByText('I live in Berlin.').filter({ visible: true }).first().waitFor();
    const inSight = async () => {
      const box = (await page.getByRole('textbox', { name: 'Message in the left chat' }).boundingBox())!;
      return box.y >= 0 && box.y + box.height <= 360;
    };
    assert.ok(await inSight());
    assert.ok((await page.getByRole('log', { name: 'Messages of the left chat' }).boundingBox())!.height >= 180);
    await page.locator('main.chats').evaluate((main) => (main.scrollTop = main.scrollHeight));
    assert.ok(await inSight());
    await page.goto(`${stack.base}/#/ann/session/intake`);
    assert.ok((await page.getByRole('log', { name: 'Messages' }).boundingBox())!.height >= 180);
  });
});

/** The beginning of a screen's title. */
function titleOf(hash: string): string {
  const screen = hash.split(/[/?]/)[2] ?? '';
  return screen.charAt(0).toUpperCase() + screen.slice(1) || 'Throughline';
}

async function checkScreen(page: Page, name: string): Promise<void> {
  for (const { width, dark } of views) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${name} is ${wide} px wider than a window of ${width} px`);
    if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AxeBuilder.source);
    const found = await page.evaluate(async () => {
      const { axe } = window as unknown as { axe: { run(options: unknown): Promise<{ violations: Violation[] }> } };
      return (await axe.run({ resultTypes: ['violations'] })).violations;
    });
    assert.deepEqual(found.map((v) => `${name}, ${width} px: ${v.id}: ${v.nodes.map((n) => n.target.join(' ')).join(', ')}`), []);
  }
}

interface Violation {
  id: string;
  nodes: { target: string[] }[];
}

test('facts are pinned, edited and deleted, and lead to their evidence', async () => {
  await withPage(browser, `${stack.base}/#/ann/memory`, {}, async (page) => {
    await page.getByText('The user lives in Munich now.', { exact: true }).waitFor();
    await page.getByText('before: The user lives in Berlin.').waitFor();
    await page.getByRole('textbox', { name: 'New fact' }).fill('Likes mornings.');
    await page.getByRole('button', { name: 'Add' }).first().click();
    const fact = page.getByRole('listitem').filter({ hasText: 'Likes mornings.' });
    await fact.getByRole('button', { name: 'Pin' }).click();
    await fact.getByText('in every prompt').waitFor();
    await fact.getByRole('button', { name: 'Edit' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('textbox', { name: 'Fact', exact: true }).waitFor({ state: 'detached' });
    await fact.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Fact', exact: true }).fill('Likes evenings.');
    await page.getByRole('button', { name: 'Save' }).click();
    const edited = page.getByRole('listitem').filter({ hasText: 'Likes evenings.' });
    await edited.getByRole('button', { name: 'Delete' }).click();
    await edited.getByRole('button', { name: 'Really?' }).click();
    await edited.waitFor({ state: 'detached' });
    await page.getByRole('listitem').filter({ hasText: 'left knee' }).getByRole('button', { name: 'evidence' }).click();
    await page.locator('.message.marked', { hasText: 'My left knee is injured' }).waitFor();
  });
});

test('a fact has a history, is restored, and waits for a decision where the user wants it', async () => {
  const api = await stack.as('rita');
  await api.call('PUT', '/v1/preferences', { reviewMemories: true });
  await api.open('chat', 'coach_conversation');
  await api.say('chat', 'I live in Berlin. I work as a nurse.');
  await api.call('PATCH', '/v1/sessions/chat', { status: 'completed' });
  await stack.settle();
  await withPage(browser, `${stack.base}/#/rita/memory`, {}, async (page) => {
    await page.getByRole('heading', { name: 'Waiting for a decision' }).waitFor();
    // The spine says the same, in an item of its own.
    const waiting = (text: string) =>
      page.getByRole('listitem').filter({ hasText: text }).filter({ has: page.getByRole('button', { name: /evidence/ }) });
    await waiting('The user lives in Berlin.').getByRole('button', { name: 'Confirm' }).click();
    await page.getByRole('heading', { name: 'About the user' }).waitFor();
    await waiting('The user works as a nurse.').getByRole('button', { name: 'Reject' }).click();
    await waiting('The user works as a nurse.').getByRole('button', { name: 'Really?' }).click();
    await waiting('The user works as a nurse.').waitFor({ state: 'detached' });
    const { items } = await api.call<{ items: { id: string }[] }>('GET', '/v1/memories');
    await api.call('PATCH', `/v1/memories/${encodeURIComponent(items[0]!.id)}`, { validUntil: '2026-01-01T00:00:00.000Z', endedReason: 'over' });
    await page.reload();
    await page.getByText('No longer true (1)').click();
    const past = page.getByRole('listitem').filter({ hasText: 'The user lives in Berlin.' });
    await past.getByRole('button', { name: 'History' }).click();
    await page.getByRole('list', { name: 'History' }).getByText('noted').waitFor();
    await past.getByRole('button', { name: 'Restore' }).click();
    await past.getByRole('button', { name: 'Really?' }).click();
    await page.getByText('No longer true').waitFor({ state: 'detached' });
  });
});

test('the timeline is filtered by context, and the address keeps the filter', async () => {
  await withPage(browser, `${stack.base}/#/ann/timeline`, {}, async (page) => {
    const messages = page.getByRole('region', { name: 'Messages' });
    await messages.getByText('I moved').first().waitFor();
    await page.getByRole('button', { name: 'Coach', exact: true }).click();
    await messages.getByText('I moved').first().waitFor({ state: 'detached' });
    await page.reload();
    await messages.getByText('I live in Berlin').first().waitFor();
    assert.equal(await messages.getByText('I moved').count(), 0);
  });
});

test('preferences are kept, everything is exported, and an erasure gives its receipt', async () => {
  const api = await stack.as('leaver');
  await api.open('only', 'coach_conversation');
  await api.say('only', 'My name is Lee.');
  await withPage(browser, `${stack.base}/#/leaver/settings`, {}, async (page) => {
    const saved = page.waitForResponse((r) => r.url().endsWith('/v1/preferences') && r.request().method() === 'PUT');
    await page.getByLabel('Remember facts').uncheck();
    await saved;
    await page.reload();
    await page.getByRole('checkbox', { name: 'Remember facts', checked: false }).waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export as a file' }).click();
    assert.equal((await download).suggestedFilename(), 'leaver.ndjson');
    await page.getByText(/records exported/).waitFor();
    const left = page.getByRole('region', { name: 'Left chat' });
    await page.goto(`${stack.base}/#/leaver/chats?left=only`);
    await left.locator('.message', { hasText: 'My name is Lee.' }).first().waitFor();
    await page.goto(`${stack.base}/#/leaver/settings`);
    assert.ok(await page.getByRole('button', { name: 'Erase everything' }).isDisabled());
    await page.getByLabel('Type the user id').fill('leaver');
    await page.getByRole('button', { name: 'Erase everything' }).click();
    await page.getByRole('heading', { name: /^Erased on/ }).waitFor();
    await page.goto(`${stack.base}/#/leaver/chats?left=only`);
    await left.getByText('There is no such session').waitFor();
    assert.doesNotMatch(await page.getByRole('main').innerText(), /Lee\./);
    await page.goto(`${stack.base}/#/leaver/settings`);
    await page.reload();
    await page.getByRole('heading', { name: /^Erased on/ }).waitFor();
    await page.goto(`${stack.base}/#/leaver/timeline`);
    await page.getByText('No messages').waitFor();
  });
});

test('a LoCoMo file is imported through the API', async () => {
  const turn = (n: number, speaker: string, text: string) => ({ dia_id: `D1:${n}`, speaker, text });
  const file = JSON.stringify([
    {
      sample_id: 'conv-1',
      conversation: {
        speaker_a: 'Mia', speaker_b: 'Tom', session_1_date_time: '1:56 pm on 8 May, 2023',
        session_1: [turn(1, 'Mia', 'I adopted a dog called Rex.'), turn(2, 'Tom', 'How lovely!')],
      },
    },
  ]);
  await withPage(browser, `${stack.base}/#/ann/settings`, {}, async (page) => {
    const input = page.locator('input[type=file]');
    await input.setInputFiles({ name: 'broken.json', mimeType: 'application/json', buffer: Buffer.from('{}') });
    await page.getByText('broken.json cannot be read.').waitFor();
    await input.setInputFiles({ name: 'locomo.json', mimeType: 'application/json', buffer: Buffer.from(file) });
    await page.getByRole('button', { name: 'Import conv-1' }).click();
    await page.locator('.entry').getByText('I adopted a dog called Rex.').waitFor();
    assert.match(page.url(), /#\/conv-1\/timeline$/);
    await page.getByText('8 May 2023').first().waitFor();
  });
});

test('health shows what is late and a migration that runs', async () => {
  await withPage(browser, `${stack.base}/#/ann/health`, { expected: ['403'] }, async (page) => {
    const since = new Date(Date.now() - 3600_000).toISOString();
    const progress = {
      action: 'backfill', done: false, percent: 40.6, messagesPerSecond: 512, secondsLeft: 600, sessions: 7, messages: 70, problems: 1,
    };
    const health = {
      queues: [{ name: 'sessions', overdue: 100, more: true, since }],
      deadLetters: [{ function: 'summarize', messages: 2 }],
      migration: { stage: 'dual', percent: 25, backfilled: 10, cleaned: false, progress },
      degraded: [{ source: 'deadLetters', reason: 'unavailable' }],
    };
    await page.route('**/v1/health', (route) => route.fulfill({ json: health }));
    await page.reload();
    await page.locator('.bad', { hasText: '100 or more since 1 h ago' }).waitFor();
    await page.locator('.bad', { hasText: 'Dead letters of summarize' }).waitFor();
    await page.getByText('Dead letters could not be read: unavailable.').waitFor();
    await page.getByText('dual, 25% of the users; the history of 10% of the users is copied').waitFor();
    await page.getByText('Backfill: 40%, 7 sessions, 70 messages, 512 messages a second, 10 minutes left').waitFor();

    const problem = { type: '', title: 'Forbidden', status: 403, code: 'forbidden', detail: 'no' };
    await page.route('**/v1/health', (route) => route.fulfill({ status: 403, json: problem }));
    await page.reload();
    await page.getByText('It needs a sign-in with the scope throughline/app.').waitFor();
  });
});

test('health names what is down', async () => {
  await withPage(browser, `${stack.base}/#/ann/health`, {}, async (page) => {
    await page.getByText('DynamoDB answers').waitFor();
    await page.getByText('Every message is in the shared store.').waitFor();
    const background = page.getByRole('region', { name: 'Background work' });
    await background.getByText('Sessions overdue').waitFor();
    await background.getByText('Dead letters of summarize').waitFor();
    await page.getByText(/of 1,000,000/).waitFor();
    await page.getByRole('cell', { name: 'not priced' }).first().waitFor();
    await page.getByRole('cell', { name: 'throughline-offline' }).first().waitFor();
    await page.getByRole('row', { name: /^Together [\d,]+ [\d,]+ [\d,]+$/ }).waitFor();
    await page.getByLabel('pinecone is down').check();
    const api = await stack.as('ann');
    await api.say('designer', 'What about my plan?');
    await page.reload();
    await page.getByText(/pinecone/).first().waitFor();
    await page.getByRole('region', { name: 'Last turns' }).getByText(/search|pinecone|recall/).first().waitFor();
    await page.getByLabel('pinecone is down').uncheck();
  });
});
