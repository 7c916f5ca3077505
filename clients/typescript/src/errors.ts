import type { FieldProblem, Problem } from './operations.js';

/** An error answer of the API (RFC 9457). */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';

  /** retryAfter is how many milliseconds the answer asks to wait, or undefined. */
  constructor(readonly problem: Problem, readonly retryAfter?: number) {
    super([`${problem.status} ${problem.code}: ${problem.detail}`,
      ...(problem.errors ?? []).map((e) => `[${e.field}: ${e.message}]`),
      ...(problem.requestId ? [`(request ${problem.requestId})`] : [])].join(' '));
  }

  /** The id of the request, by which the server's log has it. It is undefined for a gateway's answer without one. */
  get requestId(): string | undefined { return this.problem.requestId || undefined; }

  get status(): number { return this.problem.status; }

  /** code is the kind of problem for programs. Where a gateway or a firewall answers without a problem, it is that of the status. */
  get code(): Problem['code'] { return this.problem.code; }

  /** errors say what is wrong with which part of the input. */
  get errors(): FieldProblem[] { return this.problem.errors ?? []; }
}

/** An answer that was lost: no connection, or one that was cut before the answer's end. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** A call that took longer than its timeout. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** The codes of answers without a problem. The code of other statuses is 'internal'. */
const codes: Record<number, Problem['code']> = {
  400: 'invalid', 401: 'unauthorized', 403: 'forbidden', 404: 'not_found', 405: 'method_not_allowed', 413: 'too_large',
  429: 'rate_limited', 502: 'unavailable', 503: 'unavailable', 504: 'unavailable',
};

/** Reads the problem of an answer whose status is 400 or above. */
export async function readProblem(response: Response): Promise<ProblemError> {
  const text = await response.text().catch(() => '');
  let problem: Partial<Problem> = {};
  try {
    problem = JSON.parse(text) as Partial<Problem>;
  } catch {
    // A gateway answers without a problem.
  }
  return new ProblemError({
    type: 'about:blank', title: response.statusText, detail: `${response.url} answered without a problem document`,
    code: codes[response.status] ?? 'internal',
    requestId: response.headers.get('X-Request-Id') ?? '', ...problem, status: response.status,
  }, milliseconds(response.headers.get('Retry-After')));
}

/** Returns the wait of a Retry-After, which has seconds or a date, or undefined. */
function milliseconds(wait: string | null): number | undefined {
  if (wait === null) return undefined;
  const ms = /^\d+$/.test(wait) ? Number(wait) * 1000 : Date.parse(wait) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}
