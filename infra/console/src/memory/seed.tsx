// The seed: a short text about the user that the app sets by hand.
import { useSignal } from '@preact/signals';
import * as api from '../api/calls';
import { EditForm } from '../parts/edit-form';
import { useLoad } from '../parts/load';
import { Empty, Failure, Loading } from '../parts/state';
import { route } from '../route';

export function Seed() {
  const load = async () => ({ content: (await api.getSeed())?.content ?? '' });
  const { data, error, reload } = useLoad(load, [route.value.user]);
  const editing = useSignal(false);
  const save = async (values: FormData) => {
    await api.putSeed({ content: String(values.get('content')).trim() });
    await reload();
  };
  return (
    <section aria-label="Seed">
      <h2>Seed</h2>
      <p class="soft">The seed is a short text about the user that the app sets by hand. Prompts have it from the first turn on.</p>
      {error !== undefined && <Failure error={error} retry={() => void reload()} />}
      {!data && error === undefined && <Loading lines={2} />}
      {data && editing.value && (
        <EditForm label="Edit the seed" save={save} done={() => (editing.value = false)}>
          <textarea name="content" aria-label="Seed text" rows={4} maxLength={16000} defaultValue={data.content} />
        </EditForm>
      )}
      {data && !editing.value && (
        <>
          {data.content ? <p class="content">{data.content}</p> : <Empty title="No seed">The app has not written one, and nobody has here.</Empty>}
          <p class="facts-line">
            <button type="button" class="quiet" data-opens="form" onClick={() => (editing.value = true)}>
              {data.content ? 'Edit the seed' : 'Write a seed'}
            </button>
          </p>
        </>
      )}
    </section>
  );
}
