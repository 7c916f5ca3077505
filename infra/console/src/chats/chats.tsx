// Two chats side by side, and the feed of events.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import * as api from '../api/calls';
import type { Session } from '../api/types';
import { contextLabel } from '../format';
import { nameOf } from '../names';
import { useLoad } from '../parts/load';
import { route, setQuery } from '../route';
import { playing } from '../story';
import { chatOf } from './chat-state';
import { Pane } from './pane';
import { feedOf } from './feed';
import { FeedView } from './feed-view';

type Side = 'left' | 'right';

export function Chats() {
  const { user, query } = route.value;
  const feed = feedOf(user);
  const sessions = useLoad(api.listSessions, [user]);
  const traced = useSignal<string[]>([]);
  const shown = useSignal<Side | 'feed'>('left');
  useFirstSessions(sessions.data);
  useEffect(() => {
    if (playing.value) shown.value = playing.value;
  }, [playing.value]);
  const names = tabNames(sessions.data ?? [], query, user);
  const pane = (side: Side) => {
    const id = query[side];
    return (
      <Pane
        key={side}
        side={side}
        chat={id ? chatOf(id, feed) : undefined}
        sessions={sessions}
        traced={traced.value}
        onTrace={(ids) => (traced.value = ids)}
        onPick={(session) => setQuery({ [side]: session })}
        onCreated={(session) => {
          sessions.set([session, ...(sessions.data ?? [])]);
          setQuery({ [side]: session.sessionId });
        }}
      />
    );
  };
  return (
    <main class={`chats show-${shown.value}`}>
      <h1 class="hidden">Chats</h1>
      <nav class="tabs" aria-label="Parts of this screen">
        {(['left', 'right', 'feed'] as const).map((part) => (
          <button key={part} type="button" aria-pressed={shown.value === part} onClick={() => (shown.value = part)}>
            {part === 'feed' ? 'Events' : names[part]}
          </button>
        ))}
      </nav>
      {pane('left')}
      {pane('right')}
      <FeedView feed={feed} />
    </main>
  );
}

/** The names of the two chats on a telephone, where one of them is seen: their contexts, or their sessions if those are the same. */
function tabNames(sessions: Session[], query: Record<string, string>, user: string): Record<Side, string> {
  const [left, right] = [query.left, query.right].map((id) => sessions.find((s) => s.sessionId === id));
  const name = left?.context === right?.context ? (s: Session) => nameOf(s, user) : (s: Session) => contextLabel(s.context);
  return { left: left ? name(left) : 'First chat', right: right ? name(right) : 'Second chat' };
}

/** Where the address names no session, the two that were used last are shown. */
function useFirstSessions(sessions: Session[] | undefined): void {
  useEffect(() => {
    const { left, right } = route.peek().query;
    if (!sessions || left || right || sessions.length === 0) return;
    const [first, second] = sessions;
    setQuery({ left: (second ?? first)!.sessionId, right: second ? first!.sessionId : undefined });
  }, [sessions]);
}
