// Whether the stack answers. While it does not, it is asked every second, and what got no answer is done again as soon
// as there is one.
import { signal } from '@preact/signals';
import { config } from '../config';
import type { Problem } from './types';

/** ApiError is an answer of the API that is an error. Its text is for people. */
export class ApiError extends Error {
  constructor(
    readonly problem: Problem,
    readonly retryAfter: number,
  ) {
    super([problem.detail, ...(problem.errors ?? []).map((e) => `${e.field} ${e.message}`)].join(': '));
  }
}

/** Unreachable is the error of a request that got no answer. */
export class Unreachable extends Error {
  constructor() {
    super('The stack does not answer.');
  }
}

/** Whether a request got no answer, and none has got one since. */
export const down = signal(false);

/** How often a stack that does not answer is asked, in milliseconds. */
const interval = 1000;

const waiting = new Set<() => void>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** Makes a request. A request without an answer fails with Unreachable. */
export async function reach(address: string, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(address, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw unreachable();
  }
}

/** Returns the error of a request that got no answer, and begins to ask for the stack. */
export function unreachable(): Unreachable {
  down.value = true;
  askSoon();
  return new Unreachable();
}

/** Calls a function when the stack answers, after a moment at the earliest. The returned function gives that up. */
export function whenBack(again: () => void): () => void {
  waiting.add(again);
  askSoon();
  return () => waiting.delete(again);
}

/** Asks the stack whether it is there. Any answer will do, of another origin too, except that it is not ready. */
async function ask(): Promise<void> {
  timer = undefined;
  try {
    const { status } = await fetch(`${config.apiUrl}/healthz`, { mode: 'no-cors', cache: 'no-store' });
    if (status < 500) return comeBack();
  } catch {
    // It does not answer yet.
  }
  askSoon();
}

function askSoon(): void {
  timer ??= setTimeout(() => void ask(), interval);
}

function comeBack(): void {
  down.value = false;
  const calls = [...waiting];
  waiting.clear();
  for (const again of calls) again();
}

/** Returns the error that an answer reports. A gateway answers without a problem, at most with a message. */
export async function errorOf(answer: Response): Promise<ApiError> {
  const said = ((await answer.json().catch(() => null)) ?? {}) as Partial<Problem> & { message?: string };
  const detail = `The answer was ${answer.status} ${said.message ?? answer.statusText}`.trim() + '.';
  const problem = { type: '', title: answer.statusText, code: 'internal', detail, ...said, status: answer.status } as const;
  return new ApiError(problem, Number(answer.headers.get('Retry-After') ?? 0));
}
