// The route of the app between its page and Throughline. It says who asks, and keeps the credential on the server.
const base = process.env.THROUGHLINE ?? 'http://localhost:8080';
/** Where the chat is. On AWS it has an address of its own, CoachUrl, beside ApiUrl. */
const chatBase = process.env.THROUGHLINE_STREAM ?? base;

/** What a page may call: its chats and their history. */
const allowed = [
  /^POST \/v1\/chat$/, /^GET \/v1\/chat\/[^/]+\/stream$/, /^PUT \/v1\/sessions\/[^/]+$/,
  /^GET \/v1\/sessions\/[^/]+\/(ui-)?messages$/, /^POST \/v1\/sessions\/[^/]+\/messages\/truncate$/,
];

/** The server's credential. Here it is the local stack's; on AWS it comes from your issuer, by client credentials. */
let held;
async function credential() {
  if (!held || Date.parse(held.expiresAt) < Date.now() + 60_000) {
    const body = JSON.stringify({ server: true, scopes: ['throughline/user', 'throughline/on-behalf'] });
    const answer = await fetch(`${base}/dev/tokens`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
    held = await answer.json();
  }
  return held.token;
}

/** Who is signed in. Here your app checks its own session. */
const signedIn = (request) => /(?:^|; )user=([\w-]+)/.exec(request.headers.get('Cookie') ?? '')?.[1];

async function handle(request) {
  const { pathname, search } = new URL(request.url);
  const user = signedIn(request);
  if (!user) return new Response(null, { status: 401 });
  if (!allowed.some((call) => call.test(`${request.method} ${pathname}`))) return new Response(null, { status: 404 });
  const headers = { Authorization: `Bearer ${await credential()}`, 'Throughline-User': encodeURIComponent(user) };
  for (const name of ['Content-Type', 'Idempotency-Key']) {
    if (request.headers.has(name)) headers[name] = request.headers.get(name);
  }
  const body = request.method === 'GET' ? undefined : await request.text();
  const root = pathname.startsWith('/v1/chat') ? chatBase : base;
  const answer = await fetch(root + pathname + search, { method: request.method, headers, body, signal: request.signal });
  const kept = ['Content-Type', 'Retry-After', 'Idempotency-Replayed'].filter((name) => answer.headers.has(name));
  return new Response(answer.body, {
    status: answer.status, headers: Object.fromEntries(kept.map((name) => [name, answer.headers.get(name)])),
  });
}

export { handle as GET, handle as POST, handle as PUT };
