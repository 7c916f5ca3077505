// What is remembered of the user: facts, open loops, goals and the user summary.
import * as api from '../api/calls';
import { useLoad } from '../parts/load';
import { Failure, Loading } from '../parts/state';
import { route } from '../route';
import { Facts } from './facts';
import { Goals } from './goals';
import { Patterns } from './patterns';
import { Todos } from './todos';

async function loadAll() {
  const [memories, todos, goals, summary] = await Promise.all([
    api.listMemories(), api.listTodos(), api.listGoals(), api.getUserSummary(),
  ]);
  return { memories, todos, goals, summary };
}

export function MemoryScreen() {
  const { user, query } = route.value;
  const { data, error, reload } = useLoad(loadAll, [user]);
  return (
    <main class="page-body memory">
      <h1>Memory</h1>
      {error !== undefined && <Failure error={error} retry={() => void reload()} />}
      {!data && error === undefined && <Loading lines={8} />}
      {data && (
        <div class="columns">
          <Facts memories={data.memories} changed={reload} marked={query.fact} />
          <div>
            <Todos todos={data.todos} changed={reload} />
            <Goals goals={data.goals} changed={reload} />
            <Patterns summary={data.summary} />
          </div>
        </div>
      )}
    </main>
  );
}
