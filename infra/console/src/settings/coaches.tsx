// The personas that the user talks to.
import { useSignal } from '@preact/signals';
import * as api from '../api/calls';
import { useLoad } from '../parts/load';
import { Failure, Loading } from '../parts/state';
import { Confirm } from '../parts/confirm';

export function Coaches() {
  const { data, error, reload } = useLoad(api.listCoaches, []);
  const failed = useSignal<unknown>(undefined);
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const values = new FormData(form);
    try {
      await api.putCoach(String(values.get('id')), { name: String(values.get('name')), persona: String(values.get('persona')) });
      form.reset();
      failed.value = undefined;
      await reload();
    } catch (failure) {
      failed.value = failure;
    }
  };
  return (
    <section>
      <h2>Coaches</h2>
      {error !== undefined && <Failure error={error} retry={() => void reload()} />}
      {!data && error === undefined && <Loading lines={2} />}
      {data?.length === 0 && <p class="soft">None. An id without a record talks as the default persona.</p>}
      <ul class="records">
        {data?.map((c) => (
          <li key={c.coachId}>
            <strong>{c.name}</strong> <code>{c.coachId}</code>
            {c.persona && <p>{c.persona}</p>}
            <footer>
              <span class="grow" />
              <Confirm label="Delete" act={() => api.deleteCoach(c.coachId).then(reload)} />
            </footer>
          </li>
        ))}
      </ul>
      <form class="fields" onSubmit={(e) => void save(e)}>
        <label>
          Id <input name="id" required pattern="[A-Za-z0-9_.:\-]{1,128}" />
        </label>
        <label>
          Name <input name="name" required maxLength={500} />
        </label>
        <label>
          Persona <textarea name="persona" rows={2} required />
        </label>
        {failed.value !== undefined && <Failure error={failed.value} />}
        <button type="submit">Save the coach</button>
      </form>
    </section>
  );
}
