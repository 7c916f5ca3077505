// The user summary: patterns, wins and struggles, of the app's own and from the spines.
import { useSignal } from '@preact/signals';
import * as api from '../api/calls';
import type { UserSummary } from '../api/types';
import { age } from '../format';
import { EditForm } from '../parts/edit-form';
import { useLoad } from '../parts/load';
import { Empty, Failure, Loading } from '../parts/state';
import { route } from '../route';

export const remarkKinds = { patterns: 'Patterns', wins: 'Wins', struggles: 'Struggles' } as const;
type Kind = keyof typeof remarkKinds;
export const kinds = Object.keys(remarkKinds) as Kind[];

export function Patterns() {
  const { data, error, reload } = useLoad(async () => ({ summary: await api.getUserSummary() }), [route.value.user]);
  const editing = useSignal(false);
  return (
    <section aria-label="User summary">
      <h2>User summary</h2>
      <p class="soft">Patterns, wins and struggles of the user, whoever the coach was. Spines add to it.</p>
      {error !== undefined && <Failure error={error} retry={() => void reload()} />}
      {!data && error === undefined && <Loading lines={3} />}
      {data && editing.value && <Edit summary={data.summary} reload={reload} done={() => (editing.value = false)} />}
      {data && !editing.value && <Shown summary={data.summary} edit={() => (editing.value = true)} />}
    </section>
  );
}

function Shown({ summary, edit }: { summary?: UserSummary; edit(): void }) {
  const empty = kinds.every((kind) => !summary?.[kind]?.length);
  return (
    <>
      {empty && <Empty title="Nothing yet">Write it by hand, or wait: it also follows from the summaries of sessions.</Empty>}
      {summary && <Remarks of={summary} />}
      <p class="facts-line">
        {summary?.lastUpdated && <span>Written {age(summary.lastUpdated)}</span>}
        <button type="button" class="quiet" data-opens="form" onClick={edit}>
          {empty ? 'Write the user summary' : 'Edit the user summary'}
        </button>
      </p>
    </>
  );
}

/** The remarks of a user summary or of a spine. */
export const Remarks = ({ of }: { of: Partial<Record<Kind, string[]>> }) => (
  <>
    {kinds.map((kind) =>
      of[kind]?.length ? (
        <section key={kind}>
          <h3>{remarkKinds[kind]}</h3>
          <ul>
            {of[kind].map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </section>
      ) : null,
    )}
  </>
);

function Edit({ summary, reload, done }: { summary?: UserSummary; reload(): Promise<void>; done(): void }) {
  const save = async (values: FormData) => {
    const lines = (kind: Kind) => String(values.get(kind)).split('\n').map((line) => line.trim()).filter(Boolean);
    await api.putUserSummary({ patterns: lines('patterns'), wins: lines('wins'), struggles: lines('struggles'), lastUpdated: new Date().toISOString() });
    await reload();
  };
  return (
    <EditForm label="Edit the user summary" save={save} done={done}>
      <p class="soft">One remark a line. This replaces what was observed so far; what is observed later is added.</p>
      {kinds.map((kind) => (
        <label key={kind}>
          {remarkKinds[kind]}
          <textarea name={kind} rows={Math.max(2, summary?.[kind]?.length ?? 0)} defaultValue={summary?.[kind]?.join('\n')} />
        </label>
      ))}
    </EditForm>
  );
}
