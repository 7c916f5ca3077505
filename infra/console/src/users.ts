// The users that this browser has looked at, for the list of the user switcher.
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
