// All messages of the user in one line, over all contexts, with the sessions beside them.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import * as api from '../api/calls';
import type { Degradation, Message, Session } from '../api/types';
import { contextLabel, contexts, dayOf, errorText, fullTime, plural, timeOfDay } from '../format';
import { useLoad } from '../parts/load';
import { Empty, Failure, Loading } from '../parts/state';
import { link, route, setQuery } from '../route';

export function Timeline() {
  const { user, query } = route.value;
  const sessions = useLoad(api.listSessions, [user]);
  return (
    <main class="page-body timeline">
      <h1>Timeline</h1>
      <div class="filters" role="group" aria-label="Context">
        {['', ...contexts].map((c) => (
          <button key={c} type="button" aria-pressed={(query.context ?? '') === c} onClick={() => setQuery({ context: c })}>
            {c ? contextLabel(c) : 'All contexts'}
          </button>
        ))}
      </div>
      <div class="columns">
        <Line context={query.context} user={user} titles={titlesOf(sessions.data)} />
        <Sessions sessions={sessions.data} error={sessions.error} context={query.context} />
      </div>
    </main>
  );
}

const titlesOf = (sessions: Session[] = []) => new Map(sessions.map((s) => [s.sessionId, s.title ?? s.sessionId]));

/** The messages, newest first, a page at a time. */
function Line({ context, user, titles }: { context?: string; user: string; titles: Map<string, string> }) {
  const items = useSignal<Message[] | undefined>(undefined);
  const cursor = useSignal<string | undefined>(undefined);
  const degraded = useSignal<Degradation[]>([]);
  const error = useSignal<unknown>(undefined);
  const load = async (more: boolean) => {
    try {
      error.value = undefined;
      const page = await api.listTimeline({ context, limit: 50, cursor: more ? cursor.value : undefined });
      items.value = more ? [...(items.value ?? []), ...page.items] : page.items;
      cursor.value = page.nextCursor;
      degraded.value = page.degraded ?? [];
    } catch (failure) {
      error.value = failure;
    }
  };
  useEffect(() => {
    items.value = undefined;
    void load(false);
  }, [context, user]);
  return (
    <section aria-label="Messages">
      {degraded.value.map((d) => (
        <p key={d.source} class="warning">
          Without {d.source}: {d.reason}
        </p>
      ))}
      {error.value !== undefined && <Failure error={error.value} retry={() => void load(false)} />}
      {!items.value && error.value === undefined && <Loading lines={8} />}
      {items.value?.length === 0 && <Empty title="No messages">They appear as soon as they are stored.</Empty>}
      <ol class="line">
        {items.value?.map((m, i) => (
          <Row key={m.messageId} message={m} before={items.value![i - 1]} title={titles.get(m.sessionId)} />
        ))}
      </ol>
      {cursor.value && (
        <button type="button" onClick={() => void load(true)}>
          Earlier
        </button>
      )}
    </section>
  );
}

/** One message, under the name of its day and of its context where these change. */
function Row({ message, before, title }: { message: Message; before?: Message; title?: string }) {
  const day = dayOf(message.timestamp);
  const newDay = !before || dayOf(before.timestamp) !== day;
  const newSession = newDay || before?.sessionId !== message.sessionId;
  return (
    <>
      {newDay && <li class="day">{day}</li>}
      {newSession && (
        <li class="where">
          <span class="context">{contextLabel(message.context)}</span>{' '}
          <a href={link('session', message.sessionId)}>{title ?? message.sessionId}</a>
        </li>
      )}
      <li class={`entry ${message.role}`}>
        <time dateTime={message.timestamp} title={fullTime(message.timestamp)}>
          {timeOfDay(message.timestamp)}
        </time>
        <a href={link('session', message.sessionId, { message: message.messageId })}>{message.content.slice(0, 280)}</a>
      </li>
    </>
  );
}

function Sessions({ sessions, error, context }: { sessions?: Session[]; error?: unknown; context?: string }) {
  const shown = sessions?.filter((s) => !context || s.context === context);
  return (
    <section aria-label="Sessions">
      <h2>Sessions</h2>
      {error !== undefined && <p class="warning">{errorText(error)}</p>}
      {shown?.length === 0 && <p class="soft">None.</p>}
      <ul class="records">
        {shown?.map((s) => (
          <li key={s.sessionId}>
            <a href={link('session', s.sessionId)}>{s.title ?? s.sessionId}</a>
            <p>{s.summary?.text ?? <span class="soft">No summary yet. It follows when the user leaves or the session rests.</span>}</p>
            <footer>
              <span class="context">{contextLabel(s.context)}</span>
              <span>{s.status}</span>
              <span>{plural(s.messageCount, 'message')}</span>
              {s.summary && <SummaryKind session={s} />}
            </footer>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** How a summary was made and how far it reaches. */
export function SummaryKind({ session }: { session: Session }) {
  const { kind, coveredThrough, inProgress } = session.summary!;
  const behind = session.messageCount - coveredThrough;
  return (
    <span>
      {kind === 'model' ? 'by the model' : 'extract'}
      {inProgress ? ', in progress' : ''}
      {behind > 0 ? `, ${plural(behind, 'message')} behind` : ''}
    </span>
  );
}
