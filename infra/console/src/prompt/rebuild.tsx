// The same turn again, with another recipe, scoping or budget.
import { useSignal } from '@preact/signals';
import * as api from '../api/calls';
import type { PromptBody, PromptRecord } from '../api/types';
import { recipes } from '../chats/composer';
import { words } from '../format';
import { Failure } from '../parts/state';
import { setQuery } from '../route';

const agents = ['coach', 'goalArchitect', 'patternAnalyst', 'motivator', 'accountabilityPartner'];
const strategies = ['last-n', 'token-window', 'compaction'];

export function Rebuild({ prompt }: { prompt: PromptRecord }) {
  const error = useSignal<unknown>(undefined);
  const busy = useSignal(false);
  const build = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    busy.value = true;
    error.value = undefined;
    try {
      const built = await api.buildPrompt(await bodyOf(prompt, form));
      setQuery({ with: built.promptId });
      document.querySelector('.compare')?.scrollIntoView({ block: 'start' });
    } catch (failure) {
      error.value = failure;
    } finally {
      busy.value = false;
    }
  };
  return (
    <section class="rebuild">
      <h2>The same turn again</h2>
      <form onSubmit={(e) => void build(e)}>
        <Choice name="recipe" label="Recipe" values={recipes} first={prompt.recipe} />
        <Choice name="agentId" label="Agent" values={agents} first="coach" />
        <Choice name="strategy" label="Scoping" values={strategies} empty="the usual one" />
        <label>
          Messages
          <input name="maxMessages" type="number" min={1} max={200} placeholder="by agent" />
        </label>
        <label>
          Budget
          <input name="tokens" type="number" min={256} max={2000000} defaultValue={String(prompt.tokens.budget)} />
        </label>
        <button type="submit" class="primary" disabled={busy.value}>
          {busy.value ? 'Building' : 'Build and compare'}
        </button>
      </form>
      {error.value !== undefined && <Failure error={error.value} />}
    </section>
  );
}

interface ChoiceProps {
  name: string;
  label: string;
  values: readonly string[];
  first?: string;
  empty?: string;
}

function Choice({ name, label, values, first, empty }: ChoiceProps) {
  return (
    <label>
      {label}
      <select name={name}>
        {empty && <option value="">{empty}</option>}
        {values.map((v) => (
          <option key={v} value={v} selected={v === first}>
            {name === 'agentId' ? words(v) : v}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The request for the turn of a prompt: its session, and the message that it answered. */
async function bodyOf(prompt: PromptRecord, form: FormData): Promise<PromptBody> {
  const session = await api.getSession(prompt.sessionId);
  const current = prompt.manifest!.blocks.find((b) => b.name === 'current_message')?.items[0];
  const message = current && (await api.findMessage(current.id));
  if (!session || !message) throw new Error('The session or the message of this turn has been deleted.');
  const value = (name: string) => String(form.get(name) ?? '');
  return {
    context: session.context as PromptBody['context'],
    sessionId: session.sessionId,
    message: message.content,
    messageId: message.messageId,
    recipe: value('recipe') as PromptBody['recipe'],
    agentId: value('agentId') as PromptBody['agentId'],
    ...(value('tokens') ? { budget: { tokens: Number(value('tokens')) } } : {}),
    scoping: {
      ...(value('strategy') ? { strategy: value('strategy') as 'last-n' } : {}),
      ...(value('maxMessages') ? { maxMessages: Number(value('maxMessages')) } : {}),
    },
  };
}
