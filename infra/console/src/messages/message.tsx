// One message. Its content is text and never markup.
import type { ComponentChildren } from 'preact';
import type { Message } from '../api/types';
import { contextLabel, fullTime, timeOfDay } from '../format';

interface Props {
  message: Pick<Message, 'messageId' | 'role' | 'content' | 'timestamp'> & Partial<Message>;
  marked?: boolean;
  showContext?: boolean;
  children?: ComponentChildren;
}

const roles: Record<string, string> = { user: 'User', assistant: 'Answer', system: 'System' };

export function MessageView({ message, marked, showContext, children }: Props) {
  return (
    <article class={`message ${message.role}${marked ? ' marked' : ''}`} data-message={message.messageId}>
      <header>
        <span class="role">{roles[message.role]}</span>
        {showContext && message.context && <span class="context">{contextLabel(message.context)}</span>}
        <time dateTime={message.timestamp} title={fullTime(message.timestamp)}>
          {timeOfDay(message.timestamp)}
        </time>
        {message.metadata?.interrupted === true && <span class="warning">interrupted</span>}
      </header>
      <p class="content">{message.content}</p>
      {children}
    </article>
  );
}
