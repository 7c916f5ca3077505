// Chromium for the tests. A page that reports an error of its own, breaks its policy or calls another host fails the
// test that opened it.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export async function launch(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? places.find((place) => existsSync(place));
  assert.ok(executablePath, 'Chromium is missing: install the package chromium, or name the program in CHROMIUM');
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

export interface View {
  width?: number;
  dark?: boolean;
  /** Whether things may move. */
  motion?: boolean;
  /** Origins besides the page's own that it may call. */
  origins?: string[];
  /** Parts of console errors that the test causes on purpose. */
  expected?: string[];
}

/** Opens an address in a browser of its own, hands the page to a test, and checks that nothing went wrong in it. */
export async function withPage(browser: Browser, url: string, view: View, test: (page: Page) => Promise<void>): Promise<void> {
  const width = view.width ?? 1440;
  const context = await browser.newContext({
    viewport: { width, height: width < 600 ? 780 : 900 },
    colorScheme: view.dark ? 'dark' : 'light',
    reducedMotion: view.motion ? 'no-preference' : 'reduce',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const wrong: string[] = [];
  const expected = ['404', ...(view.expected ?? [])];
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' && !expected.some((part) => text.includes(part))) wrong.push(text);
  });
  page.on('request', (request) => {
    const host = new URL(request.url()).origin;
    const allowed = [new URL(url).origin, ...(view.origins ?? [])];
    if (!allowed.includes(host) && !request.url().startsWith('blob:')) wrong.push(`a request to ${host}`);
  });
  try {
    await page.goto(url);
    await test(page);
    assert.deepEqual(wrong, []);
  } finally {
    await context.close();
  }
}
