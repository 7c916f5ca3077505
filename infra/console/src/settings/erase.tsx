// The erasure of the user, and its receipt.
import { useSignal } from '@preact/signals';
import * as api from '../api/calls';
import type { Erasing, Receipt } from '../api/types';
import { forgetUser } from '../chats/forget';
import { count, fullTime, words } from '../format';
import { useLoad } from '../parts/load';
import { Failure } from '../parts/state';

export function Erase({ user }: { user: string }) {
  const last = useLoad(api.getErasure, [user]);
  const typed = useSignal('');
  const busy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const erase = async (event: SubmitEvent) => {
    event.preventDefault();
    busy.value = true;
    error.value = undefined;
    try {
      let answer = await api.eraseUser();
      while ('erasing' in answer) {
        last.set(answer);
        await new Promise((resolve) => setTimeout(resolve, 1000));
        answer = await api.eraseUser();
      }
      forgetUser(user);
      last.set(answer);
      typed.value = '';
    } catch (failure) {
      error.value = failure;
    } finally {
      busy.value = false;
    }
  };
  return (
    <section class="erase">
      <h2>Erase</h2>
      <p class="soft">Everything of this user goes: messages, summaries, memories, prompts and vectors. It cannot be undone.</p>
      <form class="inline" onSubmit={(e) => void erase(e)}>
        <input
          aria-label="Type the user id to erase everything"
          placeholder={`Type ${user}`}
          value={typed.value}
          onInput={(e) => (typed.value = e.currentTarget.value)}
        />
        <button type="submit" class="danger" disabled={busy.value || typed.value !== user}>
          {busy.value ? 'Erasing' : 'Erase everything'}
        </button>
      </form>
      {error.value !== undefined && <Failure error={error.value} />}
      {last.data && <ReceiptView receipt={last.data} />}
    </section>
  );
}

function ReceiptView({ receipt }: { receipt: Receipt | Erasing }) {
  const done = 'erasedAt' in receipt ? receipt : undefined;
  const { counts, vectors } = 'progress' in receipt ? receipt.progress : receipt;
  return (
    <section class="receipt" role="status">
      <h3>{done ? `Erased on ${fullTime(done.erasedAt)}` : 'Erasing'}</h3>
      <dl>
        {Object.entries(counts as Record<string, number>).map(([kind, n]) => (
          <div key={kind}>
            <dt>{words(kind)}</dt>
            <dd>{count(n)}</dd>
          </div>
        ))}
        <div>
          <dt>Vectors</dt>
          <dd>{count(vectors)}</dd>
        </div>
        {done && (
          <>
            <div>
              <dt>Remaining</dt>
              <dd>{count(done.remaining)}</dd>
            </div>
            {done.left && (
              <div>
                <dt>Left of other kinds</dt>
                <dd>
                  {Object.entries(done.left)
                    .map(([key, n]) => `${key} ${count(n)}`)
                    .join(', ')}
                </dd>
              </div>
            )}
            <div>
              <dt>In backups until</dt>
              <dd>{fullTime(done.backupsUntil)}</dd>
            </div>
          </>
        )}
      </dl>
    </section>
  );
}
