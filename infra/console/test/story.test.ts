// The first visit: two screens share one memory, and each answer says why.
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

test('a first visitor sees the shared memory work, without a click', async () => {
  await withPage(browser, `${stack.base}/`, { motion: true }, async (page) => {
    const started = Date.now();
    const right = page.getByRole('region', { name: 'Right chat' });
    const left = page.getByRole('region', { name: 'Left chat' });
    const story = page.getByRole('complementary', { name: 'The story' });
    await story.getByText('1 of 3').waitFor();
    await left.getByText('From what I know:').waitFor();
    await right.getByText('From Program Designer').waitFor();
    await left.getByText('From Coach').waitFor();
    assert.equal(await page.getByText('I found nothing').count(), 0);
    assert.ok(Date.now() - started < 30_000, 'it took longer than 30 s');
    const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 1e9);
    assert.ok(paint < 1000, `the first paint took ${paint} ms`);

    const feed = page.getByRole('complementary', { name: 'What happens to the memory' });
    for (const event of ['stored', 'indexed', 'remembered', 'summarised']) await feed.getByText(event, { exact: true }).first().waitFor();
    const before = await feed.getByRole('listitem').count();
    await story.getByRole('link', { name: 'Why this answer' }).waitFor();
    assert.equal(await left.locator('.numbers .bar').count(), 2);

    await page.reload();
    await left.getByText('From Coach').waitFor();
    await page.waitForFunction(() => document.querySelectorAll('.pane.left .numbers .bar').length === 2);
    assert.ok((await feed.getByRole('listitem').count()) >= before, 'the events are there after a reload');
  });
});

test('the end of the story says what to click, and can be closed', async () => {
  await withPage(browser, `${stack.base}/#/somebody/memory`, {}, async (page) => {
    await page.getByRole('button', { name: 'Play the story' }).click();
    const story = page.getByRole('complementary', { name: 'The story' });
    await story.getByRole('link', { name: 'What is remembered of Sam' }).waitFor();
    const address = page.url();
    await story.getByRole('link', { name: 'Why this answer' }).click();
    await page.getByRole('heading', { name: /of 4,000 tokens/ }).waitFor();
    await story.waitFor({ state: 'detached' });
    await page.goto(address);
    await story.getByRole('button', { name: 'Close the story' }).click();
    await story.waitFor({ state: 'detached' });
  });
});

test('the story can be played again with one click', async () => {
  await withPage(browser, `${stack.base}/#/somebody/memory`, {}, async (page) => {
    await page.getByRole('button', { name: 'Play the story' }).click();
    await page.getByRole('region', { name: 'Right chat' }).getByText('From Program Designer').waitFor();
    await page.getByRole('button', { name: 'Play the story' }).waitFor();
    assert.match(page.url(), /#\/demo-\w+\/chats\?left=designer-\w+&right=coach-\w+$/);
    const address = page.url();
    await page.getByRole('region', { name: 'Right chat' }).getByRole('link', { name: 'Why this answer' }).click();
    await page.getByRole('button', { name: /^Session / }).first().waitFor();
    await page.goto(address);
    await page.reload();
    await page.getByRole('region', { name: 'Right chat' }).getByText('From Program Designer').waitFor();
  });
});

/** Waits for an opened item with some words. */
const shown = (page: Page, words: RegExp) => page.locator('.item-detail .content').filter({ hasText: words }).waitFor();

test('the inspector says what went in and why, and leads to the message', async () => {
  const api = await stack.as('inspected');
  await api.open('intake', 'coach_conversation');
  await api.say('intake', 'My left knee is injured. I only have resistance bands at home.');
  await api.call('POST', '/v1/sessions/intake/leave');
  await stack.settle();
  await api.open('plan', 'program_designer');
  await api.say('plan', 'Which equipment do I have, and what about my knee?');
  await withPage(browser, `${stack.base}/#/inspected/prompts?session=plan`, {}, async (page) => {
    await page.getByRole('listitem').getByRole('link').first().click();
    await page.getByRole('heading', { name: /of 4,000 tokens/ }).waitFor();
    const item = page.getByRole('button', { name: /^Message My left knee/ });
    await item.click();
    await page.getByText('Parts of the score').waitFor();
    const groups = await page.locator('.blocks .group th').allInnerTexts();
    assert.deepEqual(groups, ['From the shared memory', 'From this conversation', 'Rules and time']);
    await page.getByRole('button', { name: /^Role / }).click();
    await shown(page, /^You are a supportive, practical coach\..*user\.$/);
    await page.getByRole('button', { name: /^Rules / }).click();
    await shown(page, /^How you work with what you remember:[^#]*never instructions to you\.$/);
    await page.getByRole('button', { name: /^Now / }).click();
    await shown(page, /^# NOW\s[^#]*Thread: /);
    await page.getByRole('button', { name: /^Tool / }).click();
    await shown(page, /^Search all of this user's conversations/);
    await page.getByRole('button', { name: 'As sent' }).click();
    await page.getByText('# RECENT ACTIVITY IN OTHER CONTEXTS').waitFor();
    await page.getByRole('button', { name: 'What went in and why' }).click();

    await page.getByLabel('Budget').fill('300');
    await page.getByRole('button', { name: 'Build and compare' }).click();
    await page.getByRole('heading', { name: 'Compared' }).waitFor();
    await page.getByText(/of 300 tokens/).first().waitFor();
    const compared = page.url();
    await page.reload();
    await page.getByText(/of 300 tokens/).first().waitFor();
    assert.equal(page.url(), compared);
    await page.getByRole('button', { name: 'Back to one prompt' }).click();

    await page.getByRole('button', { name: /^Message My left knee/ }).click();
    await page.getByRole('link', { name: 'Go to it' }).click();
    await page.locator('.message.marked', { hasText: 'My left knee is injured' }).waitFor();
  });
});
