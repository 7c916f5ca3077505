// Opens the console in Chromium and says what a user sees while the stack goes away and comes back:
// node tools/watch.mjs ADDRESS SCREEN TEXT. It prints "open" when the screen at ADDRESS shows TEXT. After a line on its
// input it goes to SCREEN, and prints "waiting" when that says that the stack does not answer, and "back" when it shows
// TEXT by itself.
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const [address, screen, text] = process.argv.slice(2);
const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executablePath = process.env.CHROMIUM ?? places.find((place) => existsSync(place));
if (!executablePath) throw new Error('Chromium is missing: install the package chromium, or name the program in CHROMIUM');

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const page = await browser.newPage();
  const shown = page.getByRole('main').getByText(text).filter({ visible: true }).first();
  await page.goto(address);
  await shown.waitFor();
  console.log('open');

  await createInterface({ input: process.stdin })[Symbol.asyncIterator]().next();
  await page.evaluate((hash) => (location.hash = hash), screen);
  await page.getByRole('main').getByRole('alert').first().waitFor();
  await page.getByText('The stack does not answer.').first().waitFor();
  console.log('waiting');

  await shown.waitFor({ timeout: 60_000 });
  await page.getByRole('alert').first().waitFor({ state: 'detached' });
  console.log('back');
} finally {
  await browser.close();
  process.stdin.destroy();
}
