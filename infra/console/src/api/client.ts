// Requests to the API, with the user's token and errors as problems (RFC 9457).
import { config } from '../config';
import { route } from '../route';
import { token } from '../sign-in';
import { ApiError, errorOf, reach } from './reach';

export interface Request {
  method?: string;
  body?: unknown;
  key?: string;
  signal?: AbortSignal;
  /** Whether the request goes to the address that streams. */
  stream?: boolean;
}

/** Makes a request and returns its answer. A token that is refused is renewed once. */
export async function send(path: string, request: Request = {}): Promise<Response> {
  const user = route.peek().user;
  const bearer = await token(user);
  let answer = await attempt(path, request, bearer);
  if (answer.status === 401) answer = await attempt(path, request, await token(user, bearer));
  if (!answer.ok) throw await errorOf(answer);
  return answer;
}

async function attempt(path: string, request: Request, bearer: string): Promise<Response> {
  const headers: Record<string, string> = { Authorization: `Bearer ${bearer}` };
  if (request.body !== undefined) headers['Content-Type'] = 'application/json';
  if (request.key) headers['Idempotency-Key'] = request.key;
  return reach((request.stream && config.streamUrl ? config.streamUrl : config.apiUrl) + path, {
    method: request.method ?? 'GET',
    headers,
    body: request.body === undefined ? undefined : JSON.stringify(request.body),
    signal: request.signal,
  });
}

/** Makes a request to a route under /dev, or another one that needs no token. */
export async function sendOpen<T>(path: string, body?: unknown): Promise<T> {
  const answer = await reach(path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!answer.ok) throw await errorOf(answer);
  return (await answer.json()) as T;
}

/** Makes a request and returns the JSON of its answer. */
export async function json<T>(path: string, request: Request = {}): Promise<T> {
  return (await (await send(path, request)).json()) as T;
}

/** Returns the JSON at a path, or undefined where there is no such record. */
export async function find<T>(path: string): Promise<T | undefined> {
  try {
    return await json<T>(path);
  } catch (error) {
    if (error instanceof ApiError && error.problem.status === 404) return undefined;
    throw error;
  }
}
