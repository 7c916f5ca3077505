// Plays the protocol's conformance suite against a stack of its own: node check.mjs STACK. STACK is the built program of
// the local stack. The suite knows no tokens, so a proxy adds one. It needs Node.js 22, and is started with the one that
// is installed beside it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';

const root = import.meta.dirname;
const [program] = process.argv.slice(2);
if (!program) throw new Error('name the program of the local stack');

/** Returns a port that is free now. The suite's own pages come from the proxy, so the stack has to know its origin. */
async function freePort() {
  const server = http.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/** Starts the stack on a free port and returns its process and address, when it is ready. */
async function startStack(environment) {
  const stack = spawn(path.resolve(program), { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: stack.stdout })) {
    const [, base] = /^ready\s+(\S+)/.exec(line) ?? [];
    if (!base) continue;
    stack.stdout.resume();
    return { stack, base };
  }
  throw new Error('the stack ended before it was ready');
}

const port = await freePort();
const { stack, base } = await startStack({ PORT: '0', CORS_ORIGINS: `http://localhost:${port},http://127.0.0.1:${port}` });
const minted = await fetch(`${base}/dev/tokens`, {
  method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ userId: 'conformance' }),
});
const { token } = await minted.json();
const to = new URL(base);
const proxy = http.createServer((request, answer) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const passed = http.request({ host: to.hostname, port: to.port, path: request.url, method: request.method, headers }, (from) => {
    answer.writeHead(from.statusCode, from.headers);
    from.pipe(answer);
  });
  passed.on('error', () => answer.destroy());
  request.pipe(passed);
});
proxy.listen(port, '127.0.0.1');
await once(proxy, 'listening');

let failed = false;
for (const revision of ['2026-07-28', '2025-11-25']) {
  console.log(`\n== ${revision}`);
  const suite = spawn(process.execPath, [
    path.join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js'), 'server',
    '--url', `http://127.0.0.1:${port}/mcp`, '--requirements', revision,
    '--expected-failures', path.join(root, `expected-failures-${revision}.yml`),
  ], { stdio: 'inherit', cwd: root });
  const [code] = await once(suite, 'exit');
  failed ||= code !== 0;
}
proxy.close();
stack.kill('SIGTERM');
await once(stack, 'exit');
process.exit(failed ? 1 : 0);
