// What leads through a session: days, the jump to a day, the search, and the name of one without a title.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { inTurns } from '../src/timeline/turns';
import type { Entry } from '../src/timeline/store';
import { launch, withPage } from './browser';
import { stack } from './stack';

let browser: Browser;
const day = 24 * 60 * 60_000;
const start = Date.parse('2026-03-01T10:00:00Z');

before(async () => {
  browser = await launch();
  const api = await stack.as('days');
  await api.open('untitled', 'coach_conversation');
  for (let d = 0; d < 12; d++) {
    const messages = Array.from({ length: 30 }, (_, i) => ({
      role: i % 2 ? 'assistant' : 'user', timestamp: new Date(start + d * day + i * 60_000).toISOString(),
      content: d === 2 && i === 4 ? 'My Kettlebell came.' : `On day ${d}, message ${i} of a session without a title.`,
    }));
    await api.call('POST', '/v1/sessions/untitled/messages', { messages });
  }
});
after(async () => {
  await browser?.close();
});

for (const width of [1440, 360]) {
  test(`a session has its days, can be searched, and opens at a day, at ${width} px`, async () => {
    await withPage(browser, `${stack.base}/#/days/session/untitled`, { width }, async (page) => {
      await page.getByRole('heading', { name: 'On day 0, message 0 of a session without a…' }).waitFor();
      await page.getByText('On day 11, message 29').waitFor();
      await page.locator('.messages .day').getByText('12 Mar').waitFor();
      const list = page.getByRole('log', { name: 'Messages' });

      await page.getByLabel('Go to a day').fill('2026-03-05');
      await list.locator('.marked', { hasText: 'On day 4, message 0' }).waitFor();
      assert.match(await list.locator('.marked').evaluate((row) => row.previousElementSibling!.textContent!), /5 Mar/);

      await page.getByRole('searchbox', { name: 'Search in this session' }).fill('kettlebell');
      await page.keyboard.press('Enter');
      await list.locator('.marked', { hasText: 'My Kettlebell came.' }).waitFor();
      await page.keyboard.press('Enter');
      await page.getByText('No older message has it.').waitFor();
      await page.getByRole('searchbox', { name: 'Search in this session' }).fill('day 11, message 29 ');
      await page.getByRole('button', { name: 'Newer' }).click();
      await list.locator('.marked', { hasText: 'On day 11, message 29' }).waitFor();
      assert.ok(await list.locator('.marked').isVisible());
      assert.match(page.url(), /message=/);
    });
  });
}

test('a session without a title has its first words in lists and on a telephone, where two chats have their names', async () => {
  const api = await stack.as('days');
  await api.open('other', 'workout_log');
  await withPage(browser, `${stack.base}/#/days/chats?left=untitled&right=other`, { width: 390 }, async (page) => {
    const select = page.getByRole('combobox', { name: 'Session of the left chat' });
    await select.getByText('Coach · On day 0, message 0').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Workout Log', exact: true }).click();
    await page.getByRole('region', { name: 'Right chat' }).getByText('Say something.').waitFor();
    await page.goto(`${stack.base}/#/days/timeline`);
    await page.getByRole('region', { name: 'Sessions' }).getByRole('link', { name: 'On day 0, message 0' }).waitFor();
  });
});

test('the prompts of a session without a title have its first words', async () => {
  const api = await stack.as('named');
  await api.open('9f2c', 'coach_conversation');
  for (const text of ['Shall I run on Friday?', 'And on Sunday?']) await api.say('9f2c', text);
  const { items } = await api.call<{ items: { promptId: string }[] }>('GET', '/v1/prompts?sessionId=9f2c');
  // The inspector comes first, because a session with a summary is shown by that.
  for (const screen of [`prompt/${items[0]!.promptId}`, 'prompts?session=9f2c']) {
    await withPage(browser, `${stack.base}/#/named/${screen}`, {}, async (page) => {
      await page.getByRole('main').getByRole('link', { name: 'Coach · Shall I run on Friday?' }).waitFor();
      if (screen.startsWith('prompt/')) await page.getByRole('button', { name: /^Conversation \S/ }).first().waitFor();
      assert.doesNotMatch(await page.getByRole('main').innerText(), /9f2c/);
    });
  }
});

test('what is deleted is in no storage of the tab, in no event and in no open chat', async () => {
  const api = await stack.as('forgets');
  await api.open('a', 'coach_conversation');
  await api.append('a', ['I like rowing.']);
  await withPage(browser, `${stack.base}/#/forgets/chats?left=a`, {}, async (page) => {
    const left = page.getByRole('region', { name: 'Left chat' });
    const events = page.getByRole('complementary', { name: 'What happens to the memory' });
    const kept = () => page.evaluate(() => JSON.stringify({ ...sessionStorage }));
    await left.getByText('I like rowing.', { exact: true }).waitFor();
    await page.getByRole('textbox', { name: 'Message in the left chat' }).fill('I am allergic to latex.');
    await page.keyboard.press('Enter');
    await left.getByText('Why this answer').waitFor();
    await events.locator('.remembered', { hasText: 'latex' }).waitFor();
    assert.match(await kept(), /latex/);

    await page.evaluate(() => (location.hash = '#/forgets/session/a'));
    const row = page.locator('.messages .message', { hasText: 'I am allergic to latex.' }).first();
    await row.hover();
    await row.getByRole('button', { name: 'Delete' }).click();
    await row.getByRole('button', { name: 'Really?' }).click();
    const quoting = page.getByRole('region', { name: 'Messages that quote it' });
    await quoting.getByRole('button', { name: 'Delete them too' }).click();
    await quoting.getByRole('button', { name: 'Really?' }).click();
    await quoting.waitFor({ state: 'detached' });
    assert.doesNotMatch(await kept(), /latex/);

    await page.evaluate(() => (location.hash = '#/forgets/chats?left=a'));
    await left.getByText('I like rowing.', { exact: true }).waitFor();
    assert.doesNotMatch(await page.getByRole('main').innerText(), /latex/);
    await page.getByRole('textbox', { name: 'Message in the left chat' }).fill('I like swimming.');
    await page.keyboard.press('Enter');
    await left.getByText('Why this answer').waitFor();
    assert.match(await kept(), /swimming/);
    await page.evaluate(() => (location.hash = '#/forgets/session/a'));
    await page.getByRole('button', { name: 'Delete the session' }).click();
    await page.getByRole('button', { name: 'Delete it with all' }).click();
    await page.getByRole('heading', { name: 'Timeline' }).waitFor();
    assert.doesNotMatch(await kept(), /swimming/);
  });
});

test('the timeline has the newest turn first, and the question before its answer', () => {
  const at = (minute: number) => new Date(start + minute * 60_000).toISOString();
  const said = (id: string, minute: number, role: string, sessionId: string) =>
    ({ time: at(minute), message: { messageId: id, role, sessionId, timestamp: at(minute) } }) as Entry;
  const asc = [
    said('q1', 0, 'user', 'a'), said('other', 0, 'user', 'b'), said('a1', 1, 'assistant', 'a'),
    { time: at(2), checkIn: { id: 'c' } } as Entry,
    said('q2', 3, 'user', 'a'), said('a2', 3, 'assistant', 'a'), said('more', 4, 'assistant', 'a'),
    said('late', 60, 'assistant', 'a'),
  ];
  const ids = inTurns([...asc].reverse()).map((e) => ('message' in e ? e.message.messageId : e.checkIn.id));
  assert.deepEqual(ids, ['late', 'q2', 'a2', 'more', 'c', 'other', 'q1', 'a1']);
});

test('after a deletion the session names the messages that repeat the words, and deletes them on request', async () => {
  const api = await stack.as('quotes');
  await api.open('told', 'coach_conversation');
  await api.open('later', 'workout_log');
  const told = 'My daughter Mia has a severe peanut allergy.';
  const say = (session: string, ...contents: string[]) =>
    api.call('POST', `/v1/sessions/${session}/messages`, {
      messages: contents.map((content, i) => ({ role: i % 2 ? 'assistant' : 'user', content })),
    });
  await say('told', told, 'Noted: your daughter Mia has a severe peanut allergy.', 'What shall we cook?');
  await say('later', 'No nuts: daughter Mia has a severe peanut allergy.');
  await withPage(browser, `${stack.base}/#/quotes/session/told`, {}, async (page) => {
    const row = page.locator('.messages .message', { hasText: told });
    await row.hover();
    await row.getByRole('button', { name: 'Delete' }).click();
    await row.getByRole('button', { name: 'Really?' }).click();
    const notice = page.getByRole('region', { name: 'Messages that quote it' });
    await notice.getByText('2 messages that you have not deleted repeat words of what you deleted').waitFor();
    await notice.getByRole('link', { name: 'No nuts' }).waitFor();
    await notice.getByRole('button', { name: 'Delete them too' }).click();
    await notice.getByRole('button', { name: 'Really?' }).click();
    await notice.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'What shall we cook?' }).waitFor();
    assert.deepEqual(await page.getByText('peanut').allInnerTexts(), []);
  });
  const left = (await api.call('GET', '/v1/messages')) as { items: { content: string }[] };
  assert.deepEqual(left.items.map((m) => m.content), ['What shall we cook?']);
});
