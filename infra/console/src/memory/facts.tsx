// Facts by type, with the messages that they come from and the facts that they have replaced.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import * as api from '../api/calls';
import type { Memory, NewMemory } from '../api/types';
import { forgetRecord } from '../chats/forget';
import { age, fullTime } from '../format';
import { MessageLink } from '../messages/link';
import { Confirm } from '../parts/confirm';
import { EditForm } from '../parts/edit-form';
import { Empty, Failure } from '../parts/state';
import { History, Waiting } from './history';

const types: Record<string, string> = {
  PROFILE: 'About the user', PEOPLE: 'People', PROJECT: 'Projects', MANNER: 'How to answer',
};
type Changed = () => Promise<void>;

interface Props {
  memories: Memory[];
  /** Whether prompts use facts that were read from chats. */
  remembers: boolean;
  changed: Changed;
  /** The id of the fact that the address names. */
  marked?: string;
}

export function Facts(props: Props) {
  const { memories, changed, marked } = props;
  const waiting = memories.filter((m) => m.status === 'waiting');
  const live = memories.filter((m) => !waiting.includes(m) && !m.supersededBy && !m.validUntil);
  // An app may have types of its own, which have no label here.
  const labels = { ...Object.fromEntries(live.map(({ type }) => [type, type])), ...types };
  return (
    <section class="facts">
      <h2>Facts</h2>
      <AddFact changed={changed} />
      {memories.length === 0 && <Empty title="Nothing yet">Facts come from what the user says, once a session rests.</Empty>}
      {waiting.length > 0 && (
        <section>
          <h3>Waiting for a decision</h3>
          <ul class="records">
            {waiting.map((m) => (
              <Waiting key={m.id} memory={m} changed={changed} />
            ))}
          </ul>
        </section>
      )}
      {Object.entries(labels).map(([type, label]) => {
        const rows = live.filter((m) => m.type === type).sort((a, b) => Number(b.pinned) - Number(a.pinned));
        return rows.length === 0 ? null : (
          <section key={type}>
            <h3>{label}</h3>
            <ul class="records">
              {rows.map((m) => (
                <Fact key={m.id} memory={m} {...props} marked={marked === m.id} />
              ))}
            </ul>
          </section>
        );
      })}
      <Past {...props} live={[...live, ...waiting]} />
    </section>
  );
}

interface FactProps extends Omit<Props, 'marked'> {
  memory: Memory;
  marked: boolean;
}

function Fact({ memory, memories, remembers, changed, marked }: FactProps) {
  const editing = useSignal(false);
  const told = useSignal(false);
  const element = useRef<HTMLLIElement>(null);
  const replaced = memories.filter((m) => m.supersededBy === memory.id);
  useEffect(() => {
    if (marked) element.current?.scrollIntoView({ block: 'center' });
  }, [marked]);
  const past = Boolean(memory.supersededBy ?? memory.validUntil);
  const seeded = memory.source === 'seeded';
  const remove = async () => {
    await api.deleteMemory(memory.id);
    forgetRecord(memory.content);
    await changed();
  };
  return (
    <li ref={element} class={`${marked ? 'marked' : ''}${past ? ' past' : ''}`}>
      {editing.value ? <EditFact memory={memory} done={() => (editing.value = false)} changed={changed} /> : <p>{memory.content}</p>}
      {replaced.map((m) => (
        <p key={m.id} class="replaced">
          before: <s>{m.content}</s>
        </p>
      ))}
      <footer>
        {memory.pinned && (seeded || remembers) && <span class="pinned">in every prompt</span>}
        <span>{seeded ? 'set by hand' : `heard${memory.confidence ? `, ${Math.round(memory.confidence * 100)}% sure` : ''}`}</span>
        {memory.createdAt && <time title={fullTime(memory.createdAt)}>{age(memory.createdAt)}</time>}
        {memory.messageIds?.map((id, i) => (
          <MessageLink key={id} id={id} label={memory.messageIds!.length > 1 ? `evidence ${i + 1}` : 'evidence'} />
        ))}
        {memory.validUntil && <span>until {fullTime(memory.validUntil)}</span>}
        <span class="actions">
          {!past && <Pin memory={memory} changed={changed} />}
          {!past && (
            <button type="button" class="quiet" data-opens="form" onClick={() => (editing.value = !editing.value)}>
              Edit
            </button>
          )}
          {past && memory.endedReason !== 'forgotten' && (
            <Confirm label="Restore" act={() => api.restoreMemory(memory.id).then(changed)} />
          )}
          <button type="button" class="quiet" aria-expanded={told.value} onClick={() => (told.value = !told.value)}>
            History
          </button>
          <Confirm label="Delete" act={remove} />
        </span>
      </footer>
      {told.value && <History id={memory.id} />}
    </li>
  );
}

function Pin({ memory, changed }: { memory: Memory; changed: Changed }) {
  const change = () => api.changeMemory(memory.id, { pinned: !memory.pinned }).then(changed, changed);
  return (
    <button type="button" class="quiet" aria-pressed={memory.pinned} onClick={() => void change()}>
      {memory.pinned ? 'Unpin' : 'Pin'}
    </button>
  );
}

function EditFact({ memory, done, changed }: { memory: Memory; done(): void; changed: Changed }) {
  const save = (values: FormData) => api.changeMemory(memory.id, { content: String(values.get('content')) }).then(changed);
  return (
    <EditForm label="Edit the fact" save={save} done={done}>
      <textarea name="content" aria-label="Fact" required defaultValue={memory.content} rows={2} />
    </EditForm>
  );
}

function AddFact({ changed }: { changed: Changed }) {
  const error = useSignal<unknown>(undefined);
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const values = new FormData(form);
    try {
      await api.createMemory({ type: String(values.get('type')) as NewMemory['type'], content: String(values.get('content')) });
      form.reset();
      error.value = undefined;
      await changed();
    } catch (failure) {
      error.value = failure;
    }
  };
  return (
    <form class="inline" onSubmit={(e) => void add(e)}>
      <select name="type" aria-label="Type of the new fact">
        {Object.entries(types).map(([type, label]) => (
          <option key={type} value={type}>
            {label}
          </option>
        ))}
      </select>
      <input name="content" required aria-label="New fact" placeholder="Add a fact" />
      <button type="submit">Add</button>
      {error.value !== undefined && <Failure error={error.value} />}
    </form>
  );
}

/** Facts that hold no longer. They stay out of prompts. */
function Past(props: Props & { live: Memory[] }) {
  const { memories, live, marked } = props;
  const past = memories.filter((m) => !live.includes(m));
  if (past.length === 0) return null;
  return (
    <details open={past.some((m) => m.id === marked)}>
      <summary>No longer true ({past.length})</summary>
      <ul class="records">
        {past.map((m) => (
          <Fact key={m.id} memory={m} {...props} memories={[]} marked={marked === m.id} />
        ))}
      </ul>
    </details>
  );
}
