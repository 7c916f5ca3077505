// What the user meant to do.
import * as api from '../api/calls';
import type { Todo } from '../api/types';
import { forgetRecord } from '../chats/forget';
import { age } from '../format';
import { Confirm } from '../parts/confirm';
import { Empty } from '../parts/state';

type Changed = () => Promise<void>;

export function Todos({ todos, changed }: { todos: Todo[]; changed: Changed }) {
  const pending = todos.filter((t) => t.status === 'PENDING');
  const done = todos.filter((t) => t.status === 'COMPLETED');
  return (
    <section>
      <h2>Open loops</h2>
      {todos.length === 0 && <Empty title="Nothing open">Promises that the user makes in a chat appear here.</Empty>}
      <ul class="records">
        {[...pending, ...done].map((t) => (
          <Row key={t.id} todo={t} changed={changed} />
        ))}
      </ul>
    </section>
  );
}

function Row({ todo, changed }: { todo: Todo; changed: Changed }) {
  const done = todo.status === 'COMPLETED';
  const toggle = () => api.changeTodo(todo.id, { status: done ? 'PENDING' : 'COMPLETED' }).then(changed, changed);
  const since = todo.completedAt ?? todo.createdAt;
  const remove = async () => {
    await api.deleteTodo(todo.id);
    forgetRecord(todo.content);
    await changed();
  };
  return (
    <li class={done ? 'past' : ''}>
      <label class="check">
        <input type="checkbox" checked={done} onChange={() => void toggle()} /> {todo.content}
      </label>
      <footer>
        <span>to {todo.coachId}</span>
        {since && <time>{done ? `done ${age(since)}` : age(since)}</time>}
        <span class="grow" />
        <Confirm label="Delete" act={remove} />
      </footer>
    </li>
  );
}
