// The address of a screen: #/USER/SCREEN/ID?name=value.
import { signal } from '@preact/signals';

export interface Route {
  user: string;
  screen: string;
  id: string;
  query: Record<string, string>;
}

export const route = signal<Route>(parse(location.hash));

addEventListener('hashchange', () => {
  route.value = parse(location.hash);
});

export function parse(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [user = '', screen = '', id = ''] = path.split('/').map(decode);
  return { user, screen, id, query: Object.fromEntries(new URLSearchParams(query)) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // an address that somebody has cut
  }
}

type Query = Record<string, string | undefined>;

/** Returns the address of a screen of the current user, or of another one. */
export function link(screen: string, id = '', query: Query = {}, user = route.value.user): string {
  const path = [user, screen, ...(id ? [id] : [])].map(encodeURIComponent).join('/');
  const values = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return `#/${path}${values.length > 0 ? `?${new URLSearchParams(values)}` : ''}`;
}

export function go(address: string): void {
  location.hash = address;
}

/** Changes values of the current address without a new entry in the browser's history. */
export function setQuery(change: Query): void {
  const { screen, id, query, user } = route.value;
  replace(link(screen, id, { ...query, ...change }, user));
}

/** Changes the address without a new entry in the browser's history. */
export function replace(address: string): void {
  history.replaceState(null, '', address);
  route.value = parse(location.hash);
}
