// The configuration next to index.html: where the API is, and how a user signs in.
import { reach } from './api/reach';

export interface SignIn {
  kind: 'local' | 'code';
  authorizeUrl?: string;
  tokenUrl?: string;
  clientId?: string;
  scope?: string;
}

export interface Config {
  /** Base address of the HTTP API; empty where it is the page's own. */
  apiUrl: string;
  /** Base address of the function URL that streams chats and exports; empty where it is the API's. */
  streamUrl: string;
  signIn: SignIn;
}

export let config: Config = { apiUrl: '', streamUrl: '', signIn: { kind: 'local' } };

export async function loadConfig(): Promise<void> {
  const answer = await reach('config.json', { cache: 'no-cache' });
  if (!answer.ok) throw new Error(`config.json: ${answer.status}`);
  config = { ...config, ...(await answer.json()) };
}

/** Whether the page runs on a local stack, which gives tokens for any user and has routes under /dev. */
export const isLocal = () => config.signIn.kind === 'local';
