// What is remembered of the user: facts, open loops, goals, spines, the user summary and the seed.
import * as api from '../api/calls';
import { useLoad } from '../parts/load';
import { Failure, Loading } from '../parts/state';
import { route } from '../route';
import { Facts } from './facts';
import { Goals } from './goals';
import { Patterns } from './patterns';
import { Seed } from './seed';
import { Spines } from './spines';
import { Todos } from './todos';

async function loadAll() {
  const [memories, todos, goals] = await Promise.all([api.listMemories(), api.listTodos(), api.listGoals()]);
  return { memories, todos, goals };
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
          </div>
        </div>
      )}
      {data && (
        <div class="columns even">
          <Spines />
          <div>
            <Patterns />
            <Seed />
          </div>
        </div>
      )}
    </main>
  );
}
