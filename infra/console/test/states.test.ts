// What a screen shows before it has its data, and when the stack does not answer.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page, Route } from 'playwright-core';
import { launch, withPage } from './browser';
import { stack } from './stack';

let browser: Browser;
before(async () => {
  browser = await launch();
  const api = await stack.as('states');
  await api.call('POST', '/v1/sessions', { sessionId: 'a', context: 'coach_conversation', coachId: 'coach', title: 'Titled' });
  await api.append('a', ['I am here.', 'So am I.']);
});
after(async () => {
  await browser?.close();
});

/** Holds back the requests to an address until the returned function is called. */
async function hold(page: Page, address: string): Promise<() => void> {
  let go = () => {};
  const free = new Promise<void>((resolve) => (go = resolve));
  await page.route(address, async (route: Route) => {
    await free;
    await route.continue();
  });
  return go;
}

const left = (page: Page) => page.getByRole('region', { name: 'Left chat' });
const field = (page: Page) => page.getByRole('textbox', { name: 'Message in the left chat' });

test('a page that waits for its configuration, and a story that is prepared, say so', async () => {
  await withPage(browser, `${stack.base}/icon.svg`, {}, async (page) => {
    const configured = await hold(page, '**/config.json');
    const prepared = await hold(page, '**/dev/tokens');
    await page.goto(stack.base);
    await page.locator('main[aria-busy=true]').getByText('Loading', { exact: true }).waitFor();
    configured();
    await page.locator('main[aria-busy=true]').getByText('The story begins in a moment.').waitFor();
    prepared();
    await left(page).waitFor();
  });
});

test('names of sessions are not read any more where the user is left', async () => {
  const api = await stack.as('namer');
  for (const sessionId of ['a', 'b']) {
    await api.call('POST', '/v1/sessions', { sessionId, context: 'coach_conversation', coachId: 'coach' });
    await api.append(sessionId, [`I am in ${sessionId}.`]);
  }
  await withPage(browser, `${stack.base}/icon.svg`, {}, async (page) => {
    const answered = await hold(page, '**/messages?*order=asc*');
    const asked = page.waitForRequest(/order=asc/);
    await page.goto(`${stack.base}/#/namer/timeline`);
    await asked;
    await page.goto(`${stack.base}/#/`);
    await page.waitForFunction(() => document.title === 'Throughline');
    answered();
    await page.waitForLoadState('networkidle');
    await page.goto(`${stack.base}/#/namer/timeline`);
    for (const id of ['a', 'b']) await page.locator('.where a', { hasText: `I am in ${id}.` }).waitFor();
  });
});

test('a screen whose data is late is busy, and does not say that there is none', async () => {
  await withPage(browser, `${stack.base}/icon.svg`, {}, async (page) => {
    const listed = await hold(page, '**/v1/sessions?*');
    await page.goto(`${stack.base}/#/states/chats`);
    await left(page).locator('[aria-busy=true]').first().waitFor();
    await page.waitForFunction(() => getComputedStyle(document.querySelector('.pane.left .loading')!).opacity === '1');
    assert.equal(await page.getByText('No session here').count(), 0);
    listed();
    await left(page).getByText('I am here.').waitFor();
  });
});

test('what a gateway refuses without a problem is said by its status', async () => {
  await withPage(browser, `${stack.base}/icon.svg`, { expected: ['429'] }, async (page) => {
    const refusal = { status: 429, contentType: 'application/json', body: '{"message":"Too Many Requests"}' };
    await page.route('**/v1/memories?*', (route) => route.fulfill(refusal));
    await page.goto(`${stack.base}/#/states/memory`);
    await page.getByRole('alert').getByText('The answer was 429').first().waitFor();
  });
});

const screens = {
  chats: 'I am here.', 'chats?left=a': 'I am here.', timeline: 'I am here.', 'session/a': 'So am I.', memory: 'Facts',
  settings: 'Remember facts', health: 'DynamoDB answers',
};

test('a stack that is down is said on every screen, and each comes back by itself', async () => {
  await withPage(browser, `${stack.base}/#/states/settings`, { expected: ['ERR_INTERNET_DISCONNECTED'] }, async (page) => {
    await page.getByText('Remember facts').waitFor();
    for (const [screen, content] of Object.entries(screens)) {
      await page.context().setOffline(true);
      await page.evaluate((hash) => (location.hash = hash), `#/states/memory?of=${encodeURIComponent(screen)}`);
      await page.evaluate((hash) => (location.hash = hash), `#/states/${screen}`);
      await page.locator('.banner').getByText('The stack does not answer.').waitFor();
      await page.getByRole('main').getByRole('alert').first().waitFor();
      assert.doesNotMatch(await page.getByRole('main').innerText(), /No session here|There is no such|No messages|Nothing yet|None/);
      await page.context().setOffline(false);
      await page.getByRole('main').getByText(content).first().waitFor();
      await page.getByRole('alert').first().waitFor({ state: 'detached' });
    }
  });
});

test('what is sent leaves the field at once, and comes back if it was not stored', async () => {
  const api = await stack.as('sender');
  await api.open('a', 'coach_conversation');
  await withPage(browser, `${stack.base}/#/sender/chats?left=a`, { expected: ['ERR_FAILED'] }, async (page) => {
    await left(page).getByText('Say something.').waitFor();
    let refuse = () => {};
    const refused = new Promise<void>((resolve) => (refuse = resolve));
    await page.route('**/v1/chat', async (route) => {
      await refused;
      await route.abort();
    }, { times: 1 });
    await field(page).fill('I bench 80 kg.');
    await page.keyboard.press('Enter');
    await left(page).getByRole('status').getByText('The answer is coming').waitFor();
    assert.equal(await field(page).inputValue(), '');
    assert.equal(await left(page).locator('.message.user').textContent().then((text) => text!.includes('I bench 80 kg.')), true);
    await field(page).fill('And more.');
    refuse();
    await left(page).getByText('The message was not sent.').waitFor();
    assert.equal(await field(page).inputValue(), 'I bench 80 kg.\nAnd more.');
    await page.keyboard.press('Enter');
    await left(page).getByText('Why this answer').waitFor();
    assert.equal(await left(page).locator('.message.user').count(), 1);
    assert.equal(await field(page).inputValue(), '');
  });
});
