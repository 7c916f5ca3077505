// The user's goals.
import { useSignal } from '@preact/signals';
import * as api from '../api/calls';
import type { Goal, NewGoal } from '../api/types';
import { errorText } from '../format';
import { Confirm } from '../parts/confirm';
import { Empty } from '../parts/state';

type Changed = () => Promise<void>;
const statuses = ['active', 'paused', 'completed', 'abandoned'] as const;
const kinds = ['habit', 'target', 'project'] as const;

export function Goals({ goals, changed }: { goals: Goal[]; changed: Changed }) {
  const error = useSignal('');
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const values = new FormData(form);
    try {
      await api.createGoal({ title: String(values.get('title')), goalType: String(values.get('kind')) as NewGoal['goalType'] });
      form.reset();
      await changed();
    } catch (failure) {
      error.value = errorText(failure);
    }
  };
  return (
    <section>
      <h2>Goals</h2>
      <form class="inline" onSubmit={(e) => void add(e)}>
        <select name="kind" aria-label="Kind of the new goal">
          {kinds.map((k) => (
            <option key={k}>{k}</option>
          ))}
        </select>
        <input name="title" required aria-label="New goal" placeholder="Add a goal" />
        <button type="submit">Add</button>
        {error.value && <span class="warning">{error.value}</span>}
      </form>
      {goals.length === 0 && <Empty title="No goals yet">Add one here, or let the app do it.</Empty>}
      <ul class="records">
        {goals.map((g) => (
          <Row key={g.id} goal={g} changed={changed} />
        ))}
      </ul>
    </section>
  );
}

function Row({ goal, changed }: { goal: Goal; changed: Changed }) {
  const change = (status: string) =>
    api.changeGoal(goal.id, { status: status as (typeof statuses)[number] }).then(changed, changed);
  return (
    <li class={goal.status === 'active' ? '' : 'past'}>
      <p>{goal.title}</p>
      <footer>
        <span>{goal.goalType}</span>
        <select aria-label={`Status of ${goal.title}`} value={goal.status} onChange={(e) => void change(e.currentTarget.value)}>
          {statuses.map((s) => (
            <option key={s}>{s}</option>
          ))}
        </select>
        <span class="grow" />
        <Confirm label="Delete" act={() => api.deleteGoal(goal.id).then(changed)} />
      </footer>
    </li>
  );
}
