// The timeline of all contexts, with the sessions beside it.
import * as api from '../api/calls';
import type { Session } from '../api/types';
import { contextLabel, contexts, plural } from '../format';
import { nameOf } from '../names';
import { type Loaded, useLoad } from '../parts/load';
import { Failure, Loading } from '../parts/state';
import { link, route, setQuery } from '../route';
import { Line } from './line';

export function Timeline() {
  const { user, query } = route.value;
  const sessions = useLoad(api.listSessions, [user]);
  const checkIns = query.checkIns !== 'hidden';
  return (
    <main class="page-body timeline">
      <h1>Timeline</h1>
      <div class="filters" role="group" aria-label="What is shown">
        {['', ...contexts].map((c) => (
          <button key={c} type="button" aria-pressed={(query.context ?? '') === c} onClick={() => setQuery({ context: c })}>
            {c ? contextLabel(c) : 'All contexts'}
          </button>
        ))}
        <button type="button" class="apart" aria-pressed={checkIns} onClick={() => setQuery({ checkIns: checkIns ? 'hidden' : '' })}>
          Check-ins
        </button>
      </div>
      <div class="columns">
        <Line context={query.context} user={user} checkIns={checkIns} titles={titlesOf(sessions, user)} />
        <Sessions sessions={sessions} user={user} context={query.context} />
      </div>
    </main>
  );
}

/** The names of the sessions, when they were read. Without them sessions have their ids. */
function titlesOf({ data, error }: Loaded<Session[]>, user: string): Map<string, string> | undefined {
  if (!data && error === undefined) return undefined;
  return new Map(data?.map((s) => [s.sessionId, nameOf(s, user)]));
}

interface SessionsProps {
  sessions: Loaded<Session[]>;
  user: string;
  context?: string;
}

function Sessions({ sessions: { data, error, reload }, user, context }: SessionsProps) {
  const shown = data?.filter((s) => !context || s.context === context);
  return (
    <section aria-label="Sessions">
      <h2>Sessions</h2>
      {error !== undefined && <Failure error={error} retry={() => void reload()} />}
      {!data && error === undefined && <Loading lines={5} />}
      {shown?.length === 0 && <p class="soft">None.</p>}
      <ul class="records">
        {shown?.map((s) => (
          <li key={s.sessionId}>
            <a href={link('session', s.sessionId)}>{nameOf(s, user)}</a>
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
