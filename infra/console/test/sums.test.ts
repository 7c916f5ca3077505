// What sums the user up: spines, the user summary and the seed, on the memory screen.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launch, withPage } from './browser';
import { stack } from './stack';

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

const address = (user: string) => `${stack.base}/#/${user}/memory`;
const part = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

interface Spines {
  items: { coachId: string; text: string }[];
}

/** Makes a user with a spine, and returns its text. */
async function withSpine(user: string): Promise<string> {
  const api = await stack.as(user);
  await api.open(`${user}-log`, 'workout_log');
  await api.say(`${user}-log`, 'I deadlifted 140 kg yesterday, a new record! But I skip my warm-up when I am tired. I live in Berlin.');
  await api.call('PATCH', `/v1/sessions/${user}-log`, { status: 'completed' });
  for (const end = Date.now() + 30_000; Date.now() < end; ) {
    await stack.settle();
    const { items } = await api.call<Spines>('GET', '/v1/spines');
    if (items[0]) return items[0].text;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error('there is no spine after 30 s');
}

test('the spine is beside the user summary, and follows the preferences', async () => {
  const text = await withSpine('spiny');
  const api = await stack.as('spiny');
  await withPage(browser, address('spiny'), {}, async (page) => {
    const spines = part(page, 'Spines');
    await spines.getByText(text).waitFor();
    await spines.getByText('Workout Log').first().waitFor();
    await part(page, 'User summary').getByRole('listitem').first().waitFor();
    const heard = page.getByRole('listitem').filter({ hasText: /heard/ }).first();
    await heard.getByRole('button', { name: 'Pin' }).click();
    await heard.getByText('in every prompt').waitFor();
    await api.call('POST', '/v1/memories', { type: 'PEOPLE', content: 'Trains with Maria.', pinned: true });
    await api.call('PUT', '/v1/preferences', { contexts: { coach_conversation: { share: false } } });
    await page.reload();
    await spines.getByText('not shown in Coach').waitFor();
    assert.equal(await page.getByText('Memory is off').count(), 0);
    await api.call('PUT', '/v1/preferences', { memory: false });
    await page.reload();
    await spines.getByText('Kept out of all prompts').waitFor();
    await page.getByText('what was read from chats is kept, and no prompt uses it').waitFor();
    assert.equal(await page.getByText('in every prompt').count(), 1);
    assert.equal(await spines.getByText(text).count(), 0);
    await api.call('PUT', '/v1/preferences', {});
    await api.call('DELETE', '/v1/sessions/spiny-log');
    await page.reload();
    await spines.getByText('Not written yet').waitFor();
  });
});

test('the user summary is written and edited with the keyboard alone', async () => {
  await withPage(browser, address('summed'), {}, async (page) => {
    const summary = part(page, 'User summary');
    await summary.getByText('Nothing yet').waitFor();
    await summary.getByRole('button', { name: 'Write the user summary' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.activeElement?.getAttribute('name') === 'patterns');
    await page.keyboard.type('Trains late.');
    await page.keyboard.press('Tab');
    await page.keyboard.type('Ran 10 km.\nSlept well.');
    await summary.getByRole('button', { name: 'Save' }).focus();
    await page.keyboard.press('Enter');
    await summary.getByRole('listitem').filter({ hasText: 'Slept well.' }).waitFor();
    await page.waitForFunction(() => document.activeElement?.textContent === 'Edit the user summary');
    await page.reload();
    await summary.getByRole('listitem').first().waitFor();
    assert.deepEqual(await summary.getByRole('listitem').allTextContents(), ['Trains late.', 'Ran 10 km.', 'Slept well.']);
    await summary.getByRole('button', { name: 'Edit the user summary' }).click();
    assert.equal(await summary.getByLabel('Wins').inputValue(), 'Ran 10 km.\nSlept well.');
    await page.keyboard.press('Escape');
    await summary.getByRole('listitem').first().waitFor();
    await page.waitForFunction(() => document.activeElement?.textContent === 'Edit the user summary');
  });
});

test('the seed is written, emptied, and kept open where saving fails', async () => {
  await withPage(browser, address('seeded'), { expected: ['503'] }, async (page) => {
    const seed = part(page, 'Seed');
    await seed.getByText('No seed').waitFor();
    await seed.getByRole('button', { name: 'Write a seed' }).click();
    await seed.getByLabel('Seed text').fill('Ann is a <b>nurse</b>.');
    const problem = { type: 'urn:x', title: 'Unavailable', status: 503, detail: 'the table is busy', code: 'unavailable' };
    await page.route('**/v1/seed', (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify(problem) }));
    await seed.getByRole('button', { name: 'Save' }).click();
    await seed.getByText('the table is busy').waitFor();
    assert.equal(await seed.getByLabel('Seed text').inputValue(), 'Ann is a <b>nurse</b>.');
    await page.unroute('**/v1/seed');
    await seed.getByRole('button', { name: 'Save' }).click();
    await seed.getByText('Ann is a <b>nurse</b>.').waitFor();
    await seed.getByRole('button', { name: 'Edit the seed' }).click();
    await seed.getByLabel('Seed text').fill('');
    await seed.getByRole('button', { name: 'Save' }).click();
    await seed.getByText('No seed').waitFor();
  });
});

test('a part that cannot be read says so, and the others are there', async () => {
  await withPage(browser, address('partly'), { expected: ['503'] }, async (page) => {
    const problem = { type: 'urn:x', title: 'Unavailable', status: 503, detail: 'the table is busy', code: 'unavailable' };
    await page.route('**/v1/spines', (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify(problem) }));
    await page.reload();
    await part(page, 'Spines').getByText('the table is busy').waitFor();
    await part(page, 'Seed').getByText('No seed').waitFor();
    await page.unroute('**/v1/spines');
    await part(page, 'Spines').getByRole('button', { name: 'Try again' }).click();
    await part(page, 'Spines').getByText('Not written yet').waitFor();
  });
});
