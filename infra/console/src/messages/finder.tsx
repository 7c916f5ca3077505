// The search in one session, and the jump to one of its days.
import { useSignal } from '@preact/signals';
import type { Message, Session } from '../api/types';
import type { MessageStore } from './store';

interface Props {
  store: MessageStore;
  session: Session;
  /** The message that is shown, from where the search goes on. */
  at?: string;
  show(messageId: string): void;
}

export function Finder({ store, session, at, show }: Props) {
  const text = useSignal('');
  const said = useSignal('');
  const look = async (search: () => Promise<Message | undefined>, nothing: string) => {
    said.value = 'Searching';
    const found = await search();
    said.value = found || store.error.value !== undefined ? '' : nothing;
    if (found) show(found.messageId);
  };
  const find = (way: 'older' | 'newer') => {
    const part = text.value.trim().toLowerCase();
    if (part) void look(() => store.find((m) => m.content.toLowerCase().includes(part), way, at), `No ${at ? way : ''} message has it.`.replace('  ', ' '));
  };
  const jump = (day: string) => {
    if (day) void look(() => store.since(new Date(`${day}T00:00`).getTime()), 'Nothing was said on that day or later.');
  };
  return (
    <search class="finder">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          find('older');
        }}
      >
        <input type="search" aria-label="Search in this session" placeholder="Search" onInput={(e) => (text.value = e.currentTarget.value)} />
        <button type="submit">Older</button>
        <button type="button" onClick={() => find('newer')}>
          Newer
        </button>
      </form>
      <label>
        Go to
        <input type="date" aria-label="Go to a day" min={dayOnly(session.startedAt)} max={dayOnly(session.lastMessageAt)} onChange={(e) => jump(e.currentTarget.value)} />
      </label>
      <span class="soft" role="status">
        {said.value}
      </span>
    </search>
  );
}

/** The day of a time at the reader's place, as a field for days takes it. */
function dayOnly(time: string | null): string | undefined {
  if (!time) return undefined;
  const at = new Date(time);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}
