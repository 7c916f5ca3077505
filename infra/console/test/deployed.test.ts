// The console as it is deployed: static files of another origin than the API's, with the policy of template.yaml, whose
// users sign in at an issuer. The issuer is an OpenID provider that requires PKCE of public clients.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import Provider from 'oidc-provider';
import type { Browser, Page } from 'playwright-core';
import { launch, withPage } from './browser';
import { stack } from './stack';

const root = process.cwd();
const servers: Server[] = [];
let browser: Browser;
let issuer: string;
let site: string;

before(async () => {
  browser = await launch();
  let config = '';
  site = await serve((request, response) => {
    const name = new URL(request.url!, 'http://site').pathname.slice(1) || 'index.html';
    const type = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.json': 'application/json' };
    response.setHeader('Content-Security-Policy', policy());
    response.setHeader('Content-Type', type[path.extname(name) as keyof typeof type] ?? 'application/octet-stream');
    response.end(name === 'config.json' ? config : readFileSync(path.join(root, 'dist', name)));
  });
  issuer = await startIssuer(`${site}/`);
  const signIn = { kind: 'code', authorizeUrl: `${issuer}/auth`, tokenUrl: `${issuer}/token`, clientId: 'console' };
  config = JSON.stringify({ apiUrl: stack.base, streamUrl: streamUrl(), signIn });
});
after(async () => {
  await browser?.close();
  for (const server of servers) server.closeAllConnections();
  for (const server of servers) server.close();
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function startIssuer(redirectUri: string): Promise<string> {
  const free = createServer();
  await new Promise<void>((done) => free.listen(0, '127.0.0.1', done));
  const { port } = free.address() as AddressInfo;
  await new Promise((done) => free.close(done));
  const address = `http://127.0.0.1:${port}`;
  const provider = new Provider(address, {
    clients: [{
      client_id: 'console', token_endpoint_auth_method: 'none', redirect_uris: [redirectUri], response_types: ['code'],
      grant_types: ['authorization_code', 'refresh_token'],
    }],
    scopes: ['openid', 'throughline/user', 'throughline/app'],
    clientBasedCORS: (_: unknown, origin: string) => origin === site,
    issueRefreshToken: () => true,
  });
  await new Promise<void>((done) => servers.push(provider.listen(port, '127.0.0.1', done)));
  return address;
}

/** The output CoachUrl of a stage, which has a path at the door that is the default. */
const streamUrl = (): string => `${stack.base}/live`;

/** The policy of template.yaml, with the addresses of this stage. */
function policy(): string {
  const template = readFileSync(path.join(root, 'template.yaml'), 'utf8');
  const [, text] = /ContentSecurityPolicy: !Sub >-\n((?: {14}.*\n)+)/.exec(template)!;
  const addresses: Record<string, string> = {
    ApiUrl: stack.base, StreamOrigin: new URL(streamUrl()).origin, TokenOrigin: issuer,
  };
  return text!.trim().replace(/\s+/g, ' ').replace(/\$\{(\w+)\}/g, (_, name: string) => addresses[name]!);
}

/** Signs in at the issuer's own pages. */
async function signIn(page: Page): Promise<void> {
  await page.route(/fonts\.googleapis/, (route) => route.abort());
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${issuer}/**`);
  await page.locator('input[name=login]').fill('ann');
  await page.locator('input[name=password]').fill('any');
  await page.getByRole('button').first().click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(`${site}/**`);
}

/** Returns the subject of a token by the issuer, or nothing where it has not issued it. */
async function subject(bearer: string): Promise<string | undefined> {
  const answer = await fetch(`${issuer}/me`, { headers: { Authorization: bearer } });
  return answer.ok ? ((await answer.json()) as { sub: string }).sub : undefined;
}

test('a user of another issuer signs in, reads, and stays signed in when the token is refused', async () => {
  const api = await stack.as('ann');
  await api.open('deployed', 'coach_conversation');
  await api.append('deployed', ['Said before the console was deployed.']);
  const view = { origins: [stack.base, issuer, 'https://fonts.googleapis.com'], expected: ['401', 'ERR_FAILED'] };
  await withPage(browser, site, view, async (page) => {
    // The local stack trusts its own issuer alone. So a token of this issuer becomes the stack's token of the same user.
    const bearers: string[] = [];
    let refuse = false;
    await page.route(`${stack.base}/v1/**`, async (route) => {
      const headers = route.request().headers();
      const bearer = headers.authorization;
      if (!bearer) return route.continue(); // a preflight
      if (refuse || (await subject(bearer)) !== 'ann') {
        refuse = false;
        const headers = { 'Access-Control-Allow-Origin': site };
        return route.fulfill({ status: 401, headers, json: { title: 'Not authenticated', status: 401, code: 'unauthorized' } });
      }
      bearers.push(bearer);
      return route.continue({ headers: { ...headers, authorization: `Bearer ${api.token}` } });
    });
    await page.goto(`${site}/#/me/timeline`);
    assert.equal(await page.getByRole('button', { name: 'Play the story' }).count(), 0);
    await signIn(page);
    await page.getByText('Said before the console was deployed.').filter({ visible: true }).first().waitFor();
    assert.equal(page.url(), `${site}/#/me/timeline`);
    await page.evaluate((url) => fetch(url, { mode: 'no-cors' }), `${streamUrl()}/v1/chat`); // the policy lets it out

    refuse = true;
    await page.getByRole('link', { name: 'Memory' }).click();
    await page.getByRole('heading', { name: 'Spine of each coach' }).waitFor();
    await page.locator('.loading').first().waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('alert').count(), 0);
    assert.equal(new Set(bearers).size, 2, 'one token from the code, one from the refresh token');
    const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    assert.ok(bearers.every((b) => !stored.includes(b.slice('Bearer '.length))), 'no token is in the storage of the browser');

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.goto(`${site}/?code=abc&state=forged#/me/timeline`);
    await page.getByText('the answer was to another request').waitFor();
  });
});
