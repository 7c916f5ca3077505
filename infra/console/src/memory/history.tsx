// How a fact came about: what it replaced, what replaced it, and the messages that say so; and facts that wait for the user.
import * as api from '../api/calls';
import type { Memory } from '../api/types';
import { age, fullTime } from '../format';
import { MessageLink } from '../messages/link';
import { Confirm } from '../parts/confirm';
import { useLoad } from '../parts/load';
import { Failure, Loading } from '../parts/state';

const ends = { replaced: 'replaced', over: 'over', false: 'not true', forgotten: 'forgotten' } as const;

export function History({ id }: { id: string }) {
  const { data, error, reload } = useLoad(() => api.getHistory(id), [id]);
  if (error !== undefined) return <Failure error={error} retry={() => void reload()} />;
  if (!data) return <Loading lines={2} />;
  return (
    <ol class="history" aria-label="History">
      {data.items.map((m) => (
        <li key={m.id}>
          {m.content}
          <footer>
            {m.createdAt && <time title={fullTime(m.createdAt)}>noted {age(m.createdAt)}</time>}
            {m.validUntil && (
              <span>
                {m.endedReason ? ends[m.endedReason] : 'ended'} {fullTime(m.validUntil)}
              </span>
            )}
            {m.messages.map(({ messageId }, i) => (
              <MessageLink key={messageId} id={messageId} label={`message ${i + 1}`} />
            ))}
          </footer>
        </li>
      ))}
    </ol>
  );
}

/** A fact that no prompt has until the user confirms it. */
export function Waiting({ memory, changed }: { memory: Memory; changed(): Promise<void> }) {
  const review = (verdict: 'confirm' | 'reject') => api.reviewMemory(memory.id, verdict).then(changed);
  return (
    <li>
      <p>{memory.content}</p>
      <footer>
        {memory.messageIds?.map((id, i) => <MessageLink key={id} id={id} label={`evidence ${i + 1}`} />)}
        <span class="actions">
          <button type="button" class="quiet" onClick={() => void review('confirm').catch(changed)}>
            Confirm
          </button>
          <Confirm label="Reject" act={() => review('reject')} />
        </span>
      </footer>
    </li>
  );
}
