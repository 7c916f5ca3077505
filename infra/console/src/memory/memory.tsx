// What is remembered of the user: facts, open loops, goals, spines, the user summary and the seed.
import * as api from '../api/calls';
import { useLoad } from '../parts/load';
import { Failure, Loading } from '../parts/state';
import { link, route } from '../route';
import { Facts } from './facts';
import { Goals } from './goals';
import { Patterns } from './patterns';
import { Seed } from './seed';
import { Spines } from './spines';
import { Todos } from './todos';

async function loadAll() {
  const [memories, todos, goals, preferences] = await Promise.all([
    api.listMemories(), api.listTodos(), api.listGoals(), api.getPreferences(),
  ]);
  return { memories, todos, goals, remembers: preferences.memory };
}

export function MemoryScreen() {
  const { user, query } = route.value;
  const { data, error, reload } = useLoad(loadAll, [user]);
  return (
    <main class="page-body memory">
      <h1>Memory</h1>
      {error !== undefined && <Failure error={error} retry={() => void reload()} />}
      {!data && error === undefined && <Loading lines={8} />}
      {data && !data.remembers && (
        <p class="notice">
          Memory is off in the <a href={link('settings')}>settings</a>: what was read from chats is kept, and no prompt uses it.
        </p>
      )}
      {data && (
        <div class="columns">
          <Facts memories={data.memories} remembers={data.remembers} changed={reload} marked={query.fact} />
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
