// The timeline: its threads are those of prompts, and check-ins are among the messages.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type Thread, threadsOf } from '../src/timeline/threads';
import { launch, withPage } from './browser';
import { stack } from './stack';

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

const minutes = 60_000;

/** The messages at these minutes, newest first. */
function line(...said: [minute: number, sessionId: string, coachId?: string][]) {
  return said
    .map(([minute, sessionId, coachId = 'coach'], i) => ({
      messageId: `m${i}`, sessionId, coachId, timestamp: new Date(Date.UTC(2026, 1, 5) + minute * minutes).toISOString(),
    }))
    .sort((a, b) => Date.parse(b.timestamp) - Date.parse(a.timestamp));
}

test('a thread joins the sittings of one coach, up to a pause of half an hour', () => {
  const read = line([0, 'plan'], [30, 'chat'], [31, 'log', 'other'], [60, 'plan'], [90.001, 'chat'], [120.001, 'log', 'other']);
  const threads = threadsOf(read, false);
  const of = (id: string) => threads.get(id)!;
  assert.deepEqual(of('m0').sessions, ['plan', 'chat']);
  assert.equal(of('m0'), of('m3'));
  assert.deepEqual([of('m0').from, of('m0').to], ['2026-02-05T00:00:00.000Z', '2026-02-05T01:00:00.000Z']);
  assert.notEqual(of('m4'), of('m3'));
  assert.deepEqual([of('m2').coachId, of('m2').sessions, of('m2') === of('m5')], ['other', ['log'], false]);
  assert.ok([...threads.values()].every((thread) => !thread.partial));
});

type Read = ReturnType<typeof line>;

/** The thread of the newest message as internal/prompt/history finds it: its messages' ids. */
function walk([current, ...older]: Read): Set<string> {
  const at = (m: Read[number]) => Date.parse(m.timestamp);
  const sittings: Read[] = [];
  const ofCoach = [current!, ...older].filter((m) => m.coachId === current!.coachId);
  for (const sessionId of new Set(ofCoach.map((m) => m.sessionId))) {
    let sitting: Read = [];
    for (const m of ofCoach.filter((one) => one.sessionId === sessionId)) {
      if (sitting.length === 0 || at(sitting.at(-1)!) - at(m) > 30 * minutes) sittings.push((sitting = []));
      sitting.push(m);
    }
  }
  let edge = at(current!);
  const found: Read = [];
  for (const sitting of sittings.sort((a, b) => at(b[0]!) - at(a[0]!))) {
    if (edge - at(sitting[0]!) > 30 * minutes) continue;
    found.push(...sitting);
    edge = Math.min(edge, at(sitting.at(-1)!));
  }
  return new Set(found.map((m) => m.messageId));
}

test('threads are those of prompts, whatever was read so far', () => {
  let state = 1;
  const random = (n: number) => (state = (state * 48_271) % 2_147_483_647) % n;
  for (let round = 0; round < 40; round++) {
    let minute = 0;
    const said = Array.from({ length: 40 }, () => {
      const coach = random(2);
      return [(minute += random(28)), `s${coach}${random(3)}`, `coach ${coach}`] as [number, string, string];
    });
    const all = line(...said);
    const whole = threadsOf(all, false);
    for (const [i, m] of all.entries()) {
      const back = all.slice(i).filter((one) => whole.get(one.messageId) === whole.get(m.messageId));
      assert.deepEqual(new Set(back.map((one) => one.messageId)), walk(all.slice(i)));
      const known = threadsOf(all.slice(0, i + 1), true);
      for (const [id, thread] of known) {
        const end: Thread = whole.get(id)!;
        assert.equal(thread.to, end.to);
        if (!thread.partial) assert.deepEqual(thread, end);
      }
    }
  }
});

const messages = (page: Page) => page.getByRole('region', { name: 'Messages' });

test('a thread says what it joins, as the prompt does, and check-ins can be hidden', async () => {
  const api = await stack.as('threaded');
  const ago = (n: number) => new Date(Date.now() - n * minutes).toISOString();
  const say = async (sessionId: string, timestamp: string, content: string) =>
    api.call('POST', `/v1/sessions/${sessionId}/messages`, { messages: [{ role: 'user', content, timestamp }] });
  await api.call('POST', '/v1/sessions', { sessionId: 'd', context: 'program_designer', coachId: 'coach', title: 'Deadlift Prep' });
  await api.call('POST', '/v1/sessions', { sessionId: 't', context: 'coach_conversation', coachId: 'coach', title: 'Tomorrow' });
  await say('d', ago(200), 'I have bands.');
  await say('d', ago(50), 'I only have bands.');
  await say('t', ago(25), 'My glutes are sore.');
  await api.call('POST', '/v1/check-ins', { note: 'Slept badly.', timestamp: ago(35) });
  const prompt = await api.call('POST', '/v1/prompts', { sessionId: 't', context: 'coach_conversation', message: 'And now?', recipe: 'tiered-history' });
  assert.match(JSON.stringify(prompt), /continues an active thread of 2 conversations/);
  await withPage(browser, `${stack.base}/#/threaded/timeline`, {}, async (page) => {
    const rows = messages(page).getByRole('listitem');
    await rows.filter({ hasText: /^Thread with coach, .* to .*, joins Deadlift Prep and Tomorrow$/ }).waitFor();
    await rows.filter({ hasText: /^Sitting with coach, / }).waitFor();
    const order = (await rows.allTextContents()).join('|');
    assert.match(order, /My glutes are sore\..*Slept badly\..*I only have bands\..*Sitting with.*I have bands\./s);
    const toggle = page.getByRole('button', { name: 'Check-ins' });
    await toggle.focus();
    await page.keyboard.press('Enter');
    await page.getByText('Slept badly.').waitFor({ state: 'detached' });
    await page.reload();
    await page.getByText('My glutes are sore.').first().waitFor();
    assert.equal(await page.getByText('Slept badly.').count(), 0);
    assert.equal(await toggle.getAttribute('aria-pressed'), 'false');
    await toggle.click();
    await page.getByText('Slept badly.').waitFor();
    await page.getByRole('button', { name: 'Coach', exact: true }).click();
    await messages(page).getByText('I only have bands.').waitFor({ state: 'detached' });
    assert.equal(await rows.filter({ hasText: 'with coach' }).count(), 0);
  });
});

for (const width of [1440, 360]) {
  test(`older pages leave what is read where it is, at ${width} px`, async () => {
    const user = `paged-${width}`;
    const api = await stack.as(user);
    const title = 'A session with a title of some length';
    await api.call('POST', '/v1/sessions', { sessionId: 'a', context: 'coach_conversation', coachId: 'coach', title });
    await api.open('b', 'workout_log');
    const start = Date.parse('2026-03-01T10:00:00Z');
    for (let n = 0; n < 120; n += 20) {
      const timestamp = (i: number) => new Date(start + (n + i) * minutes).toISOString();
      const batch = Array.from({ length: 20 }, (_, i) => ({ role: 'user', content: `Said ${n + i}.`, timestamp: timestamp(i) }));
      await api.call('POST', `/v1/sessions/${n < 20 ? 'b' : 'a'}/messages`, { messages: batch });
    }
    const checkIn = (day: number) =>
      api.call('POST', '/v1/check-ins', { note: `Slept ${day}.`, timestamp: new Date(start - day * 24 * 60 * minutes).toISOString() });
    for (let day = 0; day < 70; day += 10) await Promise.all(Array.from({ length: 10 }, (_, i) => checkIn(day + i + 1)));
    await withPage(browser, `${stack.base}/#/${user}/timeline`, { width }, async (page) => {
      await page.locator('.page-body').evaluate((box: HTMLElement) => (box.style.overflowAnchor = 'none')); // not all browsers have it
      const entries = messages(page).locator('.entry');
      await entries.filter({ hasText: 'Said 119.' }).waitFor();
      assert.equal(await entries.filter({ hasText: 'Slept' }).count(), 0);
      const heading = messages(page).getByRole('listitem').filter({ hasText: 'with coach' });
      assert.match((await heading.textContent())!, /^Sitting with coach, from before \d\d:\d\d to \d\d:\d\d$/);
      for (const part of ['Said 60.', 'Said 0.', 'Slept 60.']) {
        const earlier = page.getByRole('button', { name: 'Earlier' });
        await earlier.scrollIntoViewIfNeeded();
        const place = entries.nth((await entries.count()) - 1);
        const before = (await place.boundingBox())!.y;
        await earlier.press('Enter');
        await entries.filter({ hasText: part }).first().waitFor();
        const moved = (await place.boundingBox())!.y - before;
        assert.ok(Math.abs(moved) < 1, `the page moved by ${moved} px when ${part} came`);
      }
      assert.match((await heading.textContent())!, /^Thread with coach, \d\d:\d\d to \d\d:\d\d, joins Said 0\. and A session with a title of some length$/);
      while (await page.getByRole('button', { name: 'Earlier' }).isVisible()) await page.getByRole('button', { name: 'Earlier' }).click();
      await entries.filter({ hasText: 'Slept 70.' }).waitFor();
      const shown = (await entries.allTextContents()).map((text) => text.replace(/^[\d:]+/, ''));
      assert.deepEqual([shown.length, new Set(shown).size], [190, 190]);
    });
  });
}

test('check-ins that cannot be read leave the messages', async () => {
  const api = await stack.as('half');
  await api.open('a', 'coach_conversation');
  await api.append('a', ['I am here.']);
  await api.call('POST', '/v1/check-ins', { note: 'Slept well.' });
  await withPage(browser, `${stack.base}/#/half/memory`, { expected: ['503'] }, async (page) => {
    const problem = { type: 'urn:x', title: 'Unavailable', status: 503, detail: 'the table is busy', code: 'unavailable' };
    await page.route('**/v1/check-ins*', (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify(problem) }));
    await page.goto(`${stack.base}/#/half/timeline`);
    await messages(page).getByText('the table is busy').waitFor();
    await messages(page).locator('.entry', { hasText: 'I am here.' }).waitFor();
    await page.unroute('**/v1/check-ins*');
    await messages(page).getByRole('button', { name: 'Try again' }).click();
    await messages(page).getByText('Slept well.').waitFor();
    assert.equal(await messages(page).locator('.entry', { hasText: 'I am here.' }).count(), 1);
  });
});
