// The field for the next message. Enter sends, Shift and Enter begin a new line.
import { contextLabel, words } from '../format';
import type { Chat, Options } from './chat-state';

const agents = ['coach', 'goalArchitect', 'patternAnalyst', 'motivator', 'accountabilityPartner'] as const;
export const recipes = ['unified', 'working-context', 'context-format', 'context-format@0.5', 'tiered-history', 'block-map'] as const;

export function Composer({ chat, side }: { chat: Chat; side: string }) {
  const session = chat.session.value;
  const busy = chat.sending.value;
  const send = (event: Event) => {
    event.preventDefault();
    void chat.send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) send(event);
  };
  return (
    <form class="composer" onSubmit={send}>
      <textarea
        rows={2}
        aria-label={`Message in the ${side} chat`}
        placeholder={session ? `Message in ${contextLabel(session.context)}` : ''}
        value={chat.draft.value}
        onInput={(e) => (chat.draft.value = e.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <div class="row">
        <Choice chat={chat} name="agentId" label="Agent" values={agents} />
        <Choice chat={chat} name="recipe" label="Recipe" values={recipes} />
        <button type="submit" class="primary" disabled={busy || !session}>
          {busy ? 'Answering' : 'Send'}
        </button>
      </div>
    </form>
  );
}

interface ChoiceProps {
  chat: Chat;
  name: keyof Options;
  label: string;
  values: readonly string[];
}

function Choice({ chat, name, label, values }: ChoiceProps) {
  const change = (value: string) => (chat.options.value = { ...chat.options.value, [name]: value || undefined });
  return (
    <label class="choice">
      <span class="hidden">{label}</span>
      <select value={chat.options.value[name] ?? ''} onChange={(e) => change(e.currentTarget.value)}>
        <option value="">{label}</option>
        {values.map((v) => (
          <option key={v} value={v}>
            {name === 'agentId' ? words(v) : v}
          </option>
        ))}
      </select>
    </label>
  );
}
