// One function for each call of the API that the console makes.
import { find, json, send } from './client';
import type * as t from './types';

const part = encodeURIComponent;
type Values = Record<string, string | number | undefined>;

function withQuery(path: string, values: Values): string {
  const set = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set.map(([k, v]) => [k, String(v)]))}`;
}

/** Reads all pages of a list, up to a number of items. */
async function all<T>(path: string, most = 1000): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page: t.Page<T> = await json(withQuery(path, { limit: 200, cursor }));
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor && items.length < most);
  return items;
}

export const listSessions = () => all<t.Session>('/v1/sessions');
export const getSession = (id: string) => find<t.Session>(`/v1/sessions/${part(id)}`);
export const createSession = (body: t.NewSession) => json<t.Session>('/v1/sessions', { method: 'POST', body });
export const changeSession = (id: string, body: t.ChangedSession) =>
  json<t.Session>(`/v1/sessions/${part(id)}`, { method: 'PATCH', body });
export const deleteSession = (id: string) => send(`/v1/sessions/${part(id)}`, { method: 'DELETE' });
export const leaveSession = (id: string) => send(`/v1/sessions/${part(id)}/leave`, { method: 'POST' });

export const listMessages = (session: string, values: Values) =>
  json<t.Page<t.Message>>(withQuery(`/v1/sessions/${part(session)}/messages`, values));
export const appendMessages = (session: string, messages: t.NewMessage[], key?: string) =>
  json<{ messages: t.Message[]; session: t.Session }>(`/v1/sessions/${part(session)}/messages`, {
    method: 'POST',
    body: { messages },
    key,
  });
export const deleteMessage = (session: string, id: string) =>
  json<t.Deletion>(`/v1/sessions/${part(session)}/messages/${part(id)}?quotes=list`, { method: 'DELETE' });
export const listTimeline = (values: Values) =>
  json<t.Page<t.Message> & { degraded?: t.Degradation[] }>(withQuery('/v1/messages', values));

export const listCheckIns = (values: Values) => json<t.Page<t.CheckIn>>(withQuery('/v1/check-ins', values));

/** Finds a message by its id, which holds the second of its time. */
export async function findMessage(id: string): Promise<t.Message | undefined> {
  const second = Number(/_(\d+)_[^_]*$/.exec(id)?.[1]);
  if (!second) return undefined;
  const from = new Date(second * 1000).toISOString();
  const to = new Date((second + 1) * 1000).toISOString();
  const page = await listTimeline({ from, to, limit: 200 });
  return page.items.find((m) => m.messageId === id);
}

export const listPrompts = (sessionId: string, limit = 50) =>
  json<t.Page<t.PromptRecord>>(withQuery('/v1/prompts', { sessionId, limit }));
export const getPrompt = (id: string) => find<t.PromptRecord>(`/v1/prompts/${part(id)}`);
export const buildPrompt = (body: t.PromptBody) => json<t.Prompt>('/v1/prompts', { method: 'POST', body });
export const recall = (query: string, limit = 10) =>
  json<t.RecallAnswer>('/v1/recall', { method: 'POST', body: { query, limit } });

export const listMemories = () => all<t.Memory>('/v1/memories');
export const createMemory = (body: t.NewMemory) => json<t.Memory>('/v1/memories', { method: 'POST', body });
export const changeMemory = (id: string, body: t.ChangedMemory) =>
  json<t.Memory>(`/v1/memories/${part(id)}`, { method: 'PATCH', body });
export const deleteMemory = (id: string) => send(`/v1/memories/${part(id)}`, { method: 'DELETE' });

export const getHistory = (id: string) => json<t.MemoryPast>(`/v1/memories/${part(id)}/history`);
export const restoreMemory = (id: string) => json<t.Memory>(`/v1/memories/${part(id)}/restore`, { method: 'POST' });
export const reviewMemory = (id: string, verdict: 'confirm' | 'reject') =>
  json<t.Memory>(`/v1/memories/${part(id)}/review`, { method: 'POST', body: { verdict } });

export const listTodos = () => all<t.Todo>('/v1/todos');
export const createTodo = (body: t.NewTodo) => json<t.Todo>('/v1/todos', { method: 'POST', body });
export const changeTodo = (id: string, body: t.ChangedTodo) =>
  json<t.Todo>(`/v1/todos/${part(id)}`, { method: 'PATCH', body });
export const deleteTodo = (id: string) => send(`/v1/todos/${part(id)}`, { method: 'DELETE' });

export const listGoals = () => all<t.Goal>('/v1/goals');
export const createGoal = (body: t.NewGoal) => json<t.Goal>('/v1/goals', { method: 'POST', body });
export const changeGoal = (id: string, body: t.ChangedGoal) =>
  json<t.Goal>(`/v1/goals/${part(id)}`, { method: 'PATCH', body });
export const deleteGoal = (id: string) => send(`/v1/goals/${part(id)}`, { method: 'DELETE' });

export const listSpines = async () => (await json<{ items: t.Spine[] }>('/v1/spines')).items;
export const getSeed = () => find<t.Seed>('/v1/seed');
export const putSeed = (body: t.Seed) => json<t.Seed>('/v1/seed', { method: 'PUT', body });
export const putUserSummary = (body: t.UserSummary) =>
  json<t.UserSummary>('/v1/user-summary', { method: 'PUT', body });
export const getUserSummary = () => find<t.UserSummary>('/v1/user-summary');
export const getUsage = () => json<t.Usage>('/v1/usage');
export const getHealth = () => json<t.Health>('/v1/health');
export const getProfile = () => find<t.Profile>('/v1/profile');
export const putProfile = (body: t.Profile) => json<t.Profile>('/v1/profile', { method: 'PUT', body });
export const getPreferences = () => json<t.Preferences>('/v1/preferences');
export const putPreferences = (body: t.Preferences) =>
  json<t.Preferences>('/v1/preferences', { method: 'PUT', body });
export const listCoaches = () => all<t.Coach>('/v1/coaches');
export const putCoach = (id: string, body: t.CoachDoc) =>
  json<t.Coach>(`/v1/coaches/${part(id)}`, { method: 'PUT', body });
export const deleteCoach = (id: string) => send(`/v1/coaches/${part(id)}`, { method: 'DELETE' });

export const eraseUser = () => json<t.Receipt | t.Erasing>('/v1/user', { method: 'DELETE' });
export const getErasure = () => find<t.Receipt | t.Erasing>('/v1/user/erasure');
export const exportUser = (after: string) =>
  send(`/v1/export${after && `?after=${encodeURIComponent(after)}`}`, { stream: true });
