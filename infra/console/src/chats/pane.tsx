// One of the two chats: its session, its messages, and the field for the next one.
import { useSignal } from '@preact/signals';
import type { Message, Session } from '../api/types';
import { contextLabel, errorText } from '../format';
import { MessageList } from '../messages/list';
import { MessageView } from '../messages/message';
import { type Loaded, useAgain } from '../parts/load';
import { Empty, Failure, Loading } from '../parts/state';
import { nameOf } from '../names';
import { link, route } from '../route';
import { AnswerSource } from './answer-source';
import type { Chat } from './chat-state';
import { Composer } from './composer';
import { NewSession } from './new-session';

export interface PaneProps {
  side: 'left' | 'right';
  chat?: Chat;
  sessions: Loaded<Session[]>;
  traced: string[];
  onTrace(sessions: string[]): void;
  onPick(session: string): void;
  onCreated(session: Session): void;
}

const label = (session: Session) => `${contextLabel(session.context)} · ${nameOf(session, route.value.user)}`;

export function Pane(props: PaneProps) {
  const { side, chat, traced } = props;
  const sessions = props.sessions.data ?? [];
  const making = useSignal(false);
  const session = chat?.session.value;
  const isTraced = chat !== undefined && traced.includes(chat.id);
  return (
    <section class={`pane ${side}${isTraced ? ' traced' : ''}`} aria-label={`${side === 'left' ? 'Left' : 'Right'} chat`}>
      <header>
        <label>
          <span class="hidden">Session of the {side} chat</span>
          <select value={chat?.id ?? ''} onChange={(e) => props.onPick(e.currentTarget.value)}>
            <option value="">Choose a session</option>
            {chat && !sessions.some((s) => s.sessionId === chat.id) && <option value={chat.id}>{session ? label(session) : chat.id}</option>}
            {sessions.map((s) => (
              <option key={s.sessionId} value={s.sessionId}>
                {label(session?.sessionId === s.sessionId ? session : s)}
              </option>
            ))}
          </select>
        </label>
        <button type="button" class="quiet" onClick={() => (making.value = true)}>
          New
        </button>
        {session && chat && <Actions chat={chat} session={session} />}
      </header>
      {chat ? <Conversation {...props} chat={chat} /> : <NoChat sessions={props.sessions} onNew={() => (making.value = true)} />}
      {making.value && (
        <NewSession
          onClose={() => (making.value = false)}
          onCreated={(created) => {
            making.value = false;
            props.onCreated(created);
          }}
        />
      )}
    </section>
  );
}

/** A side without a chat: the sessions are loading, or could not be read, or none is chosen. */
function NoChat({ sessions, onNew }: { sessions: Loaded<Session[]>; onNew(): void }) {
  if (!sessions.data) {
    return (
      <div class="messages" aria-busy={sessions.error === undefined}>
        {sessions.error === undefined ? <Loading lines={4} /> : <Failure error={sessions.error} retry={() => void sessions.reload()} />}
      </div>
    );
  }
  return (
    <div class="messages">
      <Empty title="No session here">
        {sessions.data.length > 0 ? 'Choose one above, or start another.' : 'This user has none yet. Start the first one.'}
      </Empty>
      <p class="center">
        <button type="button" onClick={onNew}>
          New session
        </button>
      </p>
    </div>
  );
}

function Actions({ chat, session }: { chat: Chat; session: Session }) {
  const failed = useSignal('');
  const act = (work: () => Promise<void>) => () => {
    failed.value = '';
    work().catch((error: unknown) => (failed.value = errorText(error)));
  };
  const completed = session.status !== 'active';
  return (
    <span class="actions">
      {failed.value && <span class="warning">{failed.value}</span>}
      <button type="button" class="quiet" title="The user goes to another screen" onClick={act(() => chat.leave())}>
        Leave
      </button>
      <button type="button" class="quiet" onClick={act(() => chat.setStatus(completed ? 'active' : 'completed'))}>
        {completed ? 'Open again' : 'Close'}
      </button>
      <a href={link('session', session.sessionId)}>Details</a>
    </span>
  );
}

function Conversation({ chat, side, onTrace }: PaneProps & { chat: Chat }) {
  useAgain(chat.error.value, () => void chat.open());
  if (chat.missing.value) {
    return (
      <div class="messages">
        <Empty title="There is no such session">It may belong to another user, or it was deleted.</Empty>
      </div>
    );
  }
  const session = chat.session.value;
  const row = (message: Message) => (
    <MessageView key={message.messageId} message={message}>
      {message.role === 'assistant' && (
        <AnswerSource
          message={message}
          prompt={chat.prompts.value.get(message.messageId)}
          onSeen={() => void chat.showPrompt(message.messageId, message.metadata?.promptId as string | undefined)}
          onTrace={onTrace}
        />
      )}
    </MessageView>
  );
  return (
    <>
      <MessageList store={chat.messages} label={`Messages of the ${side} chat`} render={row}>
        {chat.error.value !== undefined && chat.messages.error.value === undefined && <Failure error={chat.error.value} retry={() => void chat.open()} />}
        <Streaming chat={chat} />
        {session?.messageCount === 0 && !chat.answer.value && chat.messages.pages.value.length === 0 && (
          <Empty title={contextLabel(session.context)}>Say something.</Empty>
        )}
      </MessageList>
      <Composer chat={chat} side={side} />
    </>
  );
}

/** The sign that an answer is coming. */
const Coming = () => (
  <p class="coming" role="status">
    <span class="hidden">The answer is coming</span>
    <i />
    <i />
    <i />
  </p>
);

/** The answer while it comes, and the message that is not stored yet. */
function Streaming({ chat }: { chat: Chat }) {
  const answer = chat.answer.value;
  if (!answer) return null;
  const now = new Date().toISOString();
  return (
    <>
      {!answer.stored && answer.error === undefined && (
        <MessageView message={{ messageId: 'pending', role: 'user', content: answer.asked, timestamp: now }} />
      )}
      {(answer.text || answer.error === undefined) && (
        <MessageView message={{ messageId: 'streaming', role: 'assistant', content: answer.text, timestamp: now }}>
          {!answer.text && <Coming />}
        </MessageView>
      )}
      {answer.error !== undefined && (
        <Failure error={answer.error} retry={answer.stored ? undefined : () => void chat.send()} />
      )}
      {answer.error !== undefined && (
        <p class="soft note">
          {answer.stored ? 'The message is stored. Only the answer is missing.' : 'The message was not sent. Its text is in the field again.'}
        </p>
      )}
    </>
  );
}
