// Runs the tests in Chromium against a stack of their own: node tools/test.mjs STACK [TALLY] [NAME]. STACK is the built
// program of the local stack. The counts of passed and failed tests are added to TALLY, and a skipped test is a failed
// one. NAME is a part of the names of the tests to run.
import { build } from 'esbuild';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const root = path.join(import.meta.dirname, '..');
const out = path.join(root, 'node_modules/.test');
const [program, tally, name = ''] = process.argv.slice(2);
if (!program) throw new Error('name the program of the local stack');

rmSync(out, { recursive: true, force: true });
const files = readdirSync(path.join(root, 'test')).filter((file) => file.endsWith('.test.ts'));
await build({
  absWorkingDir: root,
  entryPoints: files.map((file) => `test/${file}`),
  outdir: out,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
});

// The sweep comes often, and idle sessions rest soon, so that spines are written. The quota is more than the tests spend.
const settings = { PORT: '0', TRIGGERS: 'idle=2s,sweep=1s', DAILY_TOKENS: '1000000', CORS_ORIGINS: '*' };

/** Starts the stack on a free port and returns its process, when it is ready. */
async function startStack() {
  const stack = spawn(path.resolve(program), { env: { ...process.env, ...settings }, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: stack.stdout })) {
    const [, base] = /^ready\s+(\S+)/.exec(line) ?? [];
    if (!base) continue;
    process.env.BASE = base;
    stack.stdout.resume();
    return stack;
  }
  throw new Error('the stack ended before it was ready');
}

const stack = await startStack();
const counts = { passed: 0, failed: 0, skipped: 0 };
const tests = run({
  files: files.map((file) => path.join(out, file.replace('.ts', '.mjs'))),
  concurrency: 1,
  timeout: 300_000,
  ...(name ? { testNamePatterns: [name] } : {}),
});
tests.on('test:pass', (event) => (event.skip || event.todo ? counts.skipped++ : counts.passed++));
tests.on('test:fail', () => counts.failed++);
tests.compose(new spec()).pipe(process.stdout);
await once(tests, 'end');
stack.kill('SIGTERM');
await once(stack, 'exit');
if (tally) appendFileSync(tally, `${counts.passed} ${counts.failed + counts.skipped}\n`);
if (counts.passed === 0 || counts.failed > 0 || (counts.skipped > 0 && !name)) process.exitCode = 1;
