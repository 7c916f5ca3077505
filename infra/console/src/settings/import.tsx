// The import of conversations from a LoCoMo file. It is read in the browser, and each conversation becomes a user.
import { useSignal } from '@preact/signals';
import * as api from '../api/calls';
import { count, errorText } from '../format';
import { go, link, route } from '../route';
import { rememberUser } from '../users';
import { parseLoCoMo, type Conversation } from './locomo';

const perCall = 50;

export function Import() {
  const found = useSignal<Conversation[]>([]);
  const said = useSignal('');
  const over = useSignal(false);
  const read = async (file: File | undefined) => {
    if (!file) return;
    try {
      found.value = parseLoCoMo(await file.text());
      said.value = '';
    } catch (error) {
      found.value = [];
      said.value = `${file.name} cannot be read. ${errorText(error)}`;
    }
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    over.value = false;
    void read(event.dataTransfer?.files[0]);
  };
  return (
    <section>
      <h2>Import</h2>
      <label
        class={over.value ? 'drop over' : 'drop'}
        onDragOver={(e) => {
          e.preventDefault();
          over.value = true;
        }}
        onDragLeave={() => (over.value = false)}
        onDrop={drop}
      >
        Drop a LoCoMo file here, or choose one
        <input type="file" accept=".json,application/json" onChange={(e) => void read(e.currentTarget.files?.[0])} />
      </label>
      {said.value && <p role="status">{said.value}</p>}
      <ul class="records">
        {found.value.map((c) => (
          <li key={c.id}>
            <button type="button" onClick={() => void importAs(c, (text) => (said.value = text))}>
              Import {c.id}
            </button>{' '}
            <span class="soft">
              {count(c.sessions.length)} sessions, {count(c.sessions.reduce((n, s) => n + s.messages.length, 0))} messages
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Imports a conversation as the user of its name, through the API. To import it again changes nothing. */
async function importAs(conversation: Conversation, say: (text: string) => void): Promise<void> {
  const before = route.peek();
  try {
    rememberUser(conversation.id);
    route.value = { ...before, user: conversation.id };
    for (const session of conversation.sessions) {
      say(`${conversation.id}: ${session.id} of ${conversation.sessions.length}`);
      if (!(await api.getSession(session.id))) {
        await api.createSession({ sessionId: session.id, context: session.context, coachId: 'coach' });
      }
      for (let from = 0; from < session.messages.length; from += perCall) {
        await api.appendMessages(session.id, session.messages.slice(from, from + perCall), `${session.id}-${from}`);
      }
    }
    await api.leaveSession(conversation.sessions.at(-1)!.id);
    go(link('timeline', '', {}, conversation.id));
  } catch (error) {
    route.value = before;
    say(`The import stopped. ${errorText(error)}`);
  }
}
