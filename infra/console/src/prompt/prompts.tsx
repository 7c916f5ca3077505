// The prompts of one session, the newest first.
import * as api from '../api/calls';
import { age } from '../format';
import { useLoad } from '../parts/load';
import { Empty, Failure, Loading } from '../parts/state';
import { link, route } from '../route';
import { Level, usage } from './bar';
import { SessionName } from './session-name';

export function Prompts() {
  const session = route.value.query.session ?? '';
  const { data, error, reload } = useLoad(() => api.listPrompts(session), [session]);
  return (
    <main class="page-body">
      <h1>Prompts</h1>
      {session && (
        <p>
          of <SessionName id={session} />
        </p>
      )}
      {error !== undefined && <Failure error={error} retry={() => void reload()} />}
      {!data && error === undefined && <Loading lines={6} />}
      {data?.items.length === 0 && <Empty title="No prompts">Each answer has one, for a week.</Empty>}
      <ol class="prompts">
        {data?.items.map((p) => (
          <li key={p.promptId}>
            <a href={link('prompt', p.promptId)}>{age(p.createdAt)}</a>
            <span>{p.recipe}</span>
            <Level part={p.tokens.total} of={p.tokens.budget} />
            <span class="number">{usage(p)}</span>
          </li>
        ))}
      </ol>
    </main>
  );
}
