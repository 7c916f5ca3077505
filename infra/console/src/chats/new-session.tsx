// The dialog that starts a session.
import { useSignal } from '@preact/signals';
import * as api from '../api/calls';
import type { ContextName, Session } from '../api/types';
import { contextLabel, contexts } from '../format';
import { Dialog } from '../parts/dialog';
import { useLoad } from '../parts/load';
import { Failure } from '../parts/state';

interface Props {
  onClose(): void;
  onCreated(session: Session): void;
}

export function NewSession({ onClose, onCreated }: Props) {
  const coaches = useLoad(api.listCoaches, []);
  const error = useSignal<unknown>(undefined);
  const create = async (event: SubmitEvent) => {
    event.preventDefault();
    const values = new FormData(event.currentTarget as HTMLFormElement);
    const title = String(values.get('title')).trim();
    try {
      onCreated(
        await api.createSession({
          context: String(values.get('context')) as ContextName,
          coachId: String(values.get('coach')).trim(),
          ...(title ? { title } : {}),
        }),
      );
    } catch (failure) {
      error.value = failure;
    }
  };
  return (
    <Dialog title="New session" onClose={onClose}>
      <form class="fields" onSubmit={(e) => void create(e)}>
        <label>
          Context
          <select name="context">
            {contexts.map((c) => (
              <option key={c} value={c}>
                {contextLabel(c)}
              </option>
            ))}
          </select>
        </label>
        <label>
          Coach
          <input name="coach" required defaultValue="coach" list="coaches" pattern="[A-Za-z0-9_.:\-]{1,128}" />
        </label>
        <datalist id="coaches">
          {coaches.data?.map((c) => (
            <option key={c.coachId} value={c.coachId}>
              {c.name}
            </option>
          ))}
        </datalist>
        <label>
          <span>
            Title <span class="soft">optional</span>
          </span>
          <input name="title" maxLength={200} />
        </label>
        {error.value !== undefined && <Failure error={error.value} />}
        <button type="submit" class="primary">
          Start
        </button>
      </form>
    </Dialog>
  );
}
