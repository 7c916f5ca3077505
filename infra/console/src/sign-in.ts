// Who the page speaks for. On a local stack a token is made for any user; elsewhere users sign in at the stack's issuer.
import { isLocal } from './config';

const tokens = new Map<string, string>();

/** Returns the user's token. With renew it gets a new one, after the API has refused the last. */
export async function token(user: string, renew = false): Promise<string> {
  const held = tokens.get(user);
  if (held && !renew) return held;
  if (!isLocal()) throw new SignedOut();
  const answer = await fetch('/dev/tokens', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ userId: user }),
  });
  if (!answer.ok) throw new SignedOut();
  const made = ((await answer.json()) as { token: string }).token;
  tokens.set(user, made);
  return made;
}

/** SignedOut is the error of a user who has to sign in again. */
export class SignedOut extends Error {
  constructor() {
    super('You are signed out.');
  }
}

const usersKey = 'throughline.users';

/** The users that this browser has used, the last one first. */
export function knownUsers(): string[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(usersKey) ?? '[]');
    return Array.isArray(list) ? list.filter((name): name is string => typeof name === 'string') : [];
  } catch {
    return []; // storage is blocked or holds something else
  }
}

export function rememberUser(user: string): void {
  if (knownUsers()[0] === user) return;
  const list = [user, ...knownUsers().filter((name) => name !== user)].slice(0, 12);
  try {
    localStorage.setItem(usersKey, JSON.stringify(list));
  } catch {
    // The list is a convenience only.
  }
}
