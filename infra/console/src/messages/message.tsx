// One message. Its content is text and never markup.
import type { ComponentChildren } from 'preact';
import type { Message } from '../api/types';
import { fullTime, timeOfDay } from '../format';

interface Props {
  message: Pick<Message, 'messageId' | 'role' | 'content' | 'timestamp'> & Partial<Message>;
  marked?: boolean;
  /** What can be done with the message, at the end of its first line. */
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

const roles: Record<string, string> = { user: 'User', assistant: 'Answer', system: 'System' };

export function MessageView({ message, marked, actions, children }: Props) {
  return (
    <article class={`message ${message.role}${marked ? ' marked' : ''}`} data-message={message.messageId}>
      <header>
        <span class="role">{roles[message.role]}</span>
        <time dateTime={message.timestamp} title={fullTime(message.timestamp)}>
          {timeOfDay(message.timestamp)}
        </time>
        {message.metadata?.interrupted === true && <span class="warning">interrupted</span>}
        {actions && <span class="actions">{actions}</span>}
      </header>
      {message.content && <p class="content">{message.content}</p>}
      {children}
    </article>
  );
}
