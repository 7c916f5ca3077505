// Serves the page and the route as Next.js does, without its weight: node server.mjs, with the stack's address in THROUGHLINE.
import { build } from 'esbuild';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as route from './app/v1/[...path]/route.js';

const here = import.meta.dirname;
const { outputFiles: [bundle] } = await build({
  stdin: {
    contents: `import { createRoot } from 'react-dom/client'; import Page from './app/page.jsx';
      createRoot(document.body).render(<Page />);`,
    loader: 'jsx', resolveDir: here,
  },
  bundle: true, minify: true, format: 'esm', platform: 'browser', jsx: 'automatic', write: false,
  define: { 'process.env.NODE_ENV': '"production"' },
});
const css = await readFile(path.join(here, 'app/page.css'));
const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Two screens, one memory</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/page.css">
<body><script type="module" src="/page.js"></script></body></html>`;
const files = {
  '/': ['text/html; charset=utf-8', page],
  '/page.js': ['text/javascript; charset=utf-8', bundle.contents],
  '/page.css': ['text/css', css],
};

/** Answers with a file, or calls the route with the request as the web has it. */
async function serve(request, response) {
  const url = new URL(request.url, 'http://page');
  if (files[url.pathname]) {
    const [type, body] = files[url.pathname];
    const user = /(?:^|; )user=/.test(request.headers.cookie ?? '') ? {} : {
      'Set-Cookie': `user=guest-${randomUUID()}; Path=/; HttpOnly; SameSite=Lax`, // your app signs its users in
    };
    return response.writeHead(200, { 'Content-Type': type, ...user }).end(body);
  }
  const call = route[request.method];
  if (!url.pathname.startsWith('/v1/') || !call) return response.writeHead(404).end();
  const left = new AbortController();
  response.on('close', () => left.abort());
  const hasBody = !['GET', 'HEAD'].includes(request.method);
  const answer = await call(new Request(url, {
    method: request.method, headers: request.headers, signal: left.signal,
    ...(hasBody && { body: Readable.toWeb(request), duplex: 'half' }),
  }));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (!answer.body) return response.end();
  await pipeline(Readable.fromWeb(answer.body), response);
}

const server = createServer((request, response) => {
  serve(request, response).catch((error) => {
    if (!response.destroyed && error.name !== 'AbortError') console.error(error.message);
    response.headersSent ? response.destroy() : response.writeHead(502).end();
  });
});
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`ready  http://127.0.0.1:${server.address().port}`);
});
