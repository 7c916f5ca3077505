// The background work of the whole stage: what is overdue, dead letters, and the migration.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import * as api from '../api/calls';
import { ApiError } from '../api/reach';
import type { Health, Migration } from '../api/types';
import { age, count, fullTime, plural, words } from '../format';
import { useLoad } from '../parts/load';
import { Empty, Failure, Loading } from '../parts/state';
import { Level } from '../prompt/bar';

/** How often the figures are read while the page is open, in milliseconds. */
const every = 10_000;

/** Work that waits longer than this, in milliseconds, is shown as a problem. The sweep runs each minute. */
const late = 10 * 60_000;

export function Background() {
  const { data, error, reload } = useLoad(api.getHealth, []);
  useEffect(() => {
    const timer = setInterval(() => void (document.hidden || reload()), every);
    return () => clearInterval(timer);
  }, [reload]);
  if (error instanceof ApiError && error.problem.status === 403) {
    return (
      <section aria-label="Background work">
        <h2>Background work</h2>
        <Empty title="For the app alone">It needs a sign-in with the scope throughline/app.</Empty>
      </section>
    );
  }
  return (
    <>
      <section aria-label="Background work">
        <h2>Background work</h2>
        {error !== undefined && <Failure error={error} retry={() => void reload()} />}
        {!data && error === undefined && <Loading lines={3} />}
        {data && <Work health={data} />}
      </section>
      {data?.migration && (
        <section aria-label="Migration">
          <h2>Migration</h2>
          <Stage of={data.migration} />
        </section>
      )}
    </>
  );
}

const kinds: Record<string, string> = {
  sessions: 'Sessions overdue',
  deletions: 'Deletions overdue',
  records: 'Records overdue',
  spines: 'Spines overdue',
};

function Work({ health }: { health: Health }) {
  return (
    <>
      <dl class="figures">
        {health.queues.map((q) => (
          <Figure key={q.name} label={kinds[q.name] ?? words(q.name)} bad={q.since !== undefined && Date.now() - Date.parse(q.since) > late}>
            {count(q.overdue)}
            {q.more && ' or more'}
            {q.since && (
              <small class="soft" title={fullTime(q.since)}>
                {' '}
                since {age(q.since)}
              </small>
            )}
          </Figure>
        ))}
        {health.deadLetters.map((d) => (
          <Figure key={d.function} label={`Dead letters of ${d.function}`} bad={d.messages > 0}>
            {count(d.messages)}
          </Figure>
        ))}
      </dl>
      {health.degraded.map((d) => (
        <p key={d.source} class="warning">
          {words(d.source)} could not be read: {d.reason}.
        </p>
      ))}
      <p class="soft">The sweep works on what is overdue each minute.</p>
    </>
  );
}

function Stage({ of: m }: { of: Migration }) {
  const isDone = m.stage === 'shared' && m.percent === 100;
  return (
    <>
      <p>
        <strong>{m.stage}</strong>, {m.percent === 100 ? 'all users' : `${m.percent}% of the users`}
        {isDone && !m.progress && '. Every message is in the shared store.'}
        {m.stage !== 'embedded' && !isDone && <span class="soft">; the history of {m.backfilled}% of the users is copied</span>}
        {m.verifiedAt && <span class="soft">; verified {age(m.verifiedAt)}</span>}
        {m.cleaned && <span class="soft">; cleaned up</span>}
      </p>
      {m.progress && <Progress of={m.progress} />}
    </>
  );
}

function Progress({ of: p }: { of: NonNullable<Migration['progress']> }) {
  return (
    <>
      <Level part={p.percent} of={100} />
      <p class={p.problems > 0 ? 'warning' : ''}>
        {words(p.action)}: {p.done ? 'done' : `${Math.floor(p.percent)}%`}, {plural(p.sessions, 'session')}, {plural(p.messages, 'message')}
        {!p.done && `, ${count(p.messagesPerSecond)} messages a second, ${left(p.secondsLeft)} left`}
        {p.problems > 0 && `, ${plural(p.problems, 'session')} with a problem: the log names them`}
      </p>
    </>
  );
}

const left = (seconds: number) => (seconds < 120 ? `${Math.round(seconds)} s` : plural(Math.round(seconds / 60), 'minute'));

interface FigureProps {
  label: string;
  bad?: boolean;
  children: ComponentChildren;
}

export const Figure = ({ label, bad, children }: FigureProps) => (
  <div class={bad ? 'bad' : ''}>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
);
