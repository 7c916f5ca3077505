// The local stack that the runner has started, and its API as an app uses it.
export const base = process.env.BASE!;

class Stack {
  readonly base = base;

  async post<T>(path: string, body: unknown): Promise<T> {
    const answer = await fetch(this.base + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  settle = () => this.post('/dev/settle', { timeoutMs: 20_000 });
  faults = (body: unknown) => this.post('/dev/faults', body);
  token = async (userId: string, expiresIn?: number) =>
    (await this.post<{ token: string }>('/dev/tokens', { userId, ...(expiresIn ? { expiresIn } : {}) })).token;

  /** Returns the API as one user sees it. */
  async as(user: string): Promise<Api> {
    return new Api(await this.token(user));
  }
}

export const stack = new Stack();

class Api {
  constructor(readonly token: string) {}

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(base + path, {
      method,
      headers: { Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (answer.headers.get('Content-Type')?.startsWith('application/json') ? JSON.parse(text) : undefined) as T;
  }

  open = (sessionId: string, context: string) =>
    this.call('POST', '/v1/sessions', { sessionId, context, coachId: 'coach' });
  say = (sessionId: string, message: string) => this.call('POST', '/v1/chat', { sessionId, message });
  append = (sessionId: string, contents: string[]) =>
    this.call<{ messages: { messageId: string }[] }>('POST', `/v1/sessions/${sessionId}/messages`, {
      messages: contents.map((content, i) => ({ role: i % 2 ? 'assistant' : 'user', content })),
    });
}
