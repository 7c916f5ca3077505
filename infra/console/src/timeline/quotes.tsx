// The messages that repeat words of a message which was deleted: answers, for example. They stay unless the user says so.
import type { Signal } from '@preact/signals';
import * as api from '../api/calls';
import type { Message } from '../api/types';
import { forgetSaid } from '../chats/forget';
import { age, contextLabel, plural } from '../format';
import type { MessageStore } from '../messages/store';
import { Confirm } from '../parts/confirm';
import { link } from '../route';

/** Deletes a message of any session, and adds the messages that quote it to those that are known. */
export async function deleteMessage(store: MessageStore, { sessionId, messageId }: Message, quoting: Signal<Message[]>): Promise<void> {
  const { quotedBy } = await api.deleteMessage(sessionId, messageId);
  store.remove(messageId);
  forgetSaid(sessionId);
  const known = quoting.value.filter((m) => m.messageId !== messageId);
  quoting.value = [...known, ...quotedBy.filter((m) => !known.some((k) => k.messageId === m.messageId))];
}

interface Props {
  store: MessageStore;
  quoting: Signal<Message[]>;
  /** Reads the session again: its summary goes with its messages. */
  changed(): unknown;
}

export function Quotes({ store, quoting, changed }: Props) {
  const messages = quoting.value;
  if (messages.length === 0) return null;
  const remove = async () => {
    for (const m of messages) await deleteMessage(store, m, quoting);
    changed();
  };
  return (
    <section class="notice" aria-label="Messages that quote it">
      <p>{plural(messages.length, 'message')} that you have not deleted repeat{messages.length === 1 ? 's' : ''} words of what you deleted:</p>
      <ul>
        {messages.map((m) => (
          <li key={m.messageId}>
            <a href={link('session', m.sessionId, { message: m.messageId })}>{m.content.slice(0, 120)}</a>{' '}
            <span class="soft">
              {m.role}, {contextLabel(m.context)}, {age(m.timestamp)}
            </span>
          </li>
        ))}
      </ul>
      <p class="facts-line">
        <Confirm label="Delete them too" act={remove} />
        <button type="button" class="quiet" onClick={() => (quoting.value = [])}>
          Keep them
        </button>
      </p>
    </section>
  );
}
