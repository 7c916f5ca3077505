// Who the page speaks for. On a local stack a token is made for any user. Elsewhere users sign in at the stack's issuer
// with the authorization code flow and PKCE (RFC 7636), and the page keeps their tokens in memory only.
import { signal } from '@preact/signals';
import { errorOf, reach, unreachable } from './api/reach';
import { config, isLocal } from './config';
import { replace } from './route';

/** SignedOut is the error of a user who has to sign in again. */
export class SignedOut extends Error {
  constructor() {
    super('You are signed out.');
  }
}

/** Whether there is a user: always on a local stack, and after signing in elsewhere. */
export const signedIn = signal(false);

const localTokens = new Map<string, Promise<string>>();
let issued: { access: string; refresh?: string } | undefined;
let renewing: Promise<void> | undefined;

/** Returns the user's token, or another one than the token that the API has refused. */
export async function token(user: string, refused?: string): Promise<string> {
  if (isLocal()) return localToken(user, refused);
  if (issued && issued.access === refused) {
    renewing ??= refresh(issued.refresh).finally(() => (renewing = undefined));
  }
  await renewing;
  if (!issued) throw new SignedOut();
  return issued.access;
}

async function localToken(user: string, refused?: string): Promise<string> {
  const held = localTokens.get(user);
  if (held && (await held) !== refused) return held;
  const renewed = localTokens.get(user);
  if (renewed && renewed !== held) return renewed; // by another request
  const made = mint(user);
  localTokens.set(user, made);
  made.catch(() => localTokens.delete(user));
  return made;
}

async function mint(userId: string): Promise<string> {
  const answer = await reach('/dev/tokens', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ userId }),
  });
  if (answer.status === 503) throw unreachable(); // the stack is starting
  if (!answer.ok) throw await errorOf(answer);
  return ((await answer.json()) as { token: string }).token;
}

const pendingKey = 'throughline.sign-in';

/** What the page has to know when the issuer sends the user back. */
interface Pending {
  state: string;
  verifier: string;
  hash: string;
}

const redirectUri = () => location.origin + location.pathname;

/** Sends the user to the issuer. */
export async function beginSignIn(): Promise<void> {
  const pending: Pending = { state: random(), verifier: random(), hash: location.hash };
  sessionStorage.setItem(pendingKey, JSON.stringify(pending));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(pending.verifier));
  const { authorizeUrl, clientId, scope } = config.signIn;
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId!,
    redirect_uri: redirectUri(),
    scope: scope ?? 'openid throughline/user throughline/app',
    state: pending.state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  });
  location.assign(`${authorizeUrl}?${query}`);
}

/** Ends a sign-in, where the issuer has sent the user back with a code. It is called once, when the page starts. */
export async function finishSignIn(): Promise<void> {
  signedIn.value = isLocal();
  const { code, state } = Object.fromEntries(new URLSearchParams(location.search));
  const pending = JSON.parse(sessionStorage.getItem(pendingKey) ?? 'null') as Pending | null;
  if (isLocal() || !state) return;
  sessionStorage.removeItem(pendingKey);
  replace(location.pathname + (pending?.hash ?? ''));
  if (!code || state !== pending?.state) throw new Error('The issuer refused, or the answer was to another request.');
  await redeem({ grant_type: 'authorization_code', code, redirect_uri: redirectUri(), code_verifier: pending.verifier });
}

async function refresh(refreshToken: string | undefined): Promise<void> {
  signOut();
  if (refreshToken) await redeem({ grant_type: 'refresh_token', refresh_token: refreshToken });
}

export function signOut(): void {
  issued = undefined;
  signedIn.value = isLocal();
}

async function redeem(form: Record<string, string>): Promise<void> {
  const body = new URLSearchParams({ ...form, client_id: config.signIn.clientId! });
  const answer = await reach(config.signIn.tokenUrl!, { method: 'POST', body });
  if (!answer.ok) throw new SignedOut();
  const tokens = (await answer.json()) as { access_token: string; refresh_token?: string };
  issued = { access: tokens.access_token, refresh: tokens.refresh_token ?? form.refresh_token };
  signedIn.value = true;
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
