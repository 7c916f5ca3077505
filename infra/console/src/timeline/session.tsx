// One session of any length, with its summary. An address with a message opens it there.
import { signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import * as api from '../api/calls';
import type { Message, Session } from '../api/types';
import { forgetSaid } from '../chats/forget';
import { age, contextLabel, plural } from '../format';
import { Finder } from '../messages/finder';
import { MessageList } from '../messages/list';
import { MessageView } from '../messages/message';
import { MessageStore } from '../messages/store';
import { nameOf } from '../names';
import { Confirm } from '../parts/confirm';
import { useLoad } from '../parts/load';
import { EmptyScreen, WaitingScreen } from '../parts/state';
import { go, link, route, setQuery } from '../route';
import { deleteMessage, Quotes } from './quotes';
import { SummaryKind } from './timeline';

export function SessionScreen() {
  const { id, query, user } = route.value;
  const session = useLoad(() => api.getSession(id), [id, user]);
  const store = useMemo(() => new MessageStore(id), [id, user]);
  useEffect(() => {
    void (query.message ? store.loadTo((m) => m.messageId === query.message) : store.load());
  }, [store, query.message]);
  const quoting = useMemo(() => signal<Message[]>([]), [user]);
  const row = (m: Message) => (
    <MessageView
      key={m.messageId}
      message={m}
      marked={m.messageId === query.message}
      actions={<RowActions message={m} remove={() => deleteMessage(store, m, quoting).then(session.reload)} />}
    />
  );
  if (session.error !== undefined || !('data' in session)) {
    return <WaitingScreen name="Session" error={session.error} retry={session.reload} />;
  }
  if (!session.data) return <EmptyScreen title="There is no such session">It may belong to another user, or it was deleted.</EmptyScreen>;
  return (
    <main class="session">
      <About session={session.data} />
      <Finder store={store} session={session.data} at={query.message} show={(message) => setQuery({ message })} />
      <Quotes store={store} quoting={quoting} changed={session.reload} />
      <MessageList store={store} label="Messages" render={row} target={query.message} />
    </main>
  );
}

function RowActions({ message: { metadata }, remove }: { message: Message; remove(): Promise<void> }) {
  return (
    <>
      {typeof metadata?.promptId === 'string' && <a href={link('prompt', metadata.promptId)}>Why this answer</a>}
      <Confirm label="Delete" act={remove} />
    </>
  );
}

function About({ session }: { session: Session }) {
  const remove = async () => {
    await api.deleteSession(session.sessionId);
    forgetSaid(session.sessionId);
    go(link('timeline'));
  };
  return (
    <header class="about">
      <h1>{nameOf(session, route.value.user)}</h1>
      <p class="facts-line">
        <span class="context">{contextLabel(session.context)}</span>
        <span>with {session.coachId}</span>
        <span>{session.status}</span>
        <span>{plural(session.messageCount, 'message')}</span>
        {session.lastMessageAt && <span>{age(session.lastMessageAt)}</span>}
      </p>
      {session.summary ? (
        <p class="summary">
          {session.summary.text} <span class="soft">({<SummaryKind session={session} />})</span>
        </p>
      ) : (
        <p class="soft">No summary yet. It follows when the user leaves or the session rests.</p>
      )}
      <p class="facts-line">
        <a href={link('chats', '', { left: session.sessionId })}>Go on chatting</a>
        <a href={link('prompts', '', { session: session.sessionId })}>Prompts</a>
        <Confirm label="Delete the session" sure="Delete it with all that was drawn from it?" act={remove} />
      </p>
    </header>
  );
}
