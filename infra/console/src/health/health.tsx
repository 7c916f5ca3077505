// Whether the stage is well: its background work, what the last turns lacked and cost, and the local stack's services.
import * as api from '../api/calls';
import { sendOpen } from '../api/client';
import type { Message, PromptRecord } from '../api/types';
import { isLocal } from '../config';
import { age, count, errorText, fullTime } from '../format';
import { Cost, costOf, dollars, priceList, usageOf } from '../parts/cost';
import { useLoad } from '../parts/load';
import { Empty, Failure, Loading } from '../parts/state';
import { Level } from '../prompt/bar';
import { link, route } from '../route';
import { Background, Figure } from './background';
import { Faults } from './faults';

export function Health() {
  return (
    <main class="page-body health">
      <h1>Health</h1>
      <Background />
      <Today />
      <Turns />
      {isLocal() && <LocalStack />}
      {isLocal() && <Faults />}
    </main>
  );
}

/** What the stack says is wrong. It fails where the stack does not answer. */
async function loadStack() {
  const [problem] = await Promise.all([sendOpen('/healthz').then(() => '', errorText), sendOpen('/dev/info')]);
  return { problem };
}

/** Whether the local stack answers. In AWS the console of AWS has its services. */
function LocalStack() {
  const { data, error, reload } = useLoad(loadStack, []);
  return (
    <section>
      <h2>Local stack</h2>
      {error !== undefined && <Failure error={error} retry={() => void reload()} />}
      {!data && error === undefined && <Loading lines={3} />}
      {data && (
        <dl class="figures">
          <Figure label="Table" bad={data.problem !== ''}>
            {data.problem || 'DynamoDB answers'}
          </Figure>
        </dl>
      )}
    </section>
  );
}

function Today() {
  const { data, error, reload } = useLoad(api.getUsage, [route.value.user]);
  return (
    <section aria-label="Tokens of today">
      <h2>Tokens of this user today</h2>
      {error !== undefined && <Failure error={error} retry={() => void reload()} />}
      {!data && error === undefined && <Loading lines={1} />}
      {data && (data.limit === null || data.used === null) && (
        <Empty title="No daily limit">Nothing is counted without one. DAILY_TOKENS sets it.</Empty>
      )}
      {data && data.limit !== null && data.used !== null && (
        <>
          <Level part={data.used} of={data.limit} />
          <p class={data.used >= data.limit ? 'warning' : ''}>
            {count(data.used)} of {count(data.limit)}
            {data.used >= data.limit && ', all spent: chats wait'}. <span class="soft">New ones at {fullTime(data.resetsAt)}.</span>
          </p>
        </>
      )}
    </section>
  );
}

interface Turn {
  message: Message;
  prompt?: PromptRecord;
}

/** The last answers over all sessions, with their prompts. */
async function loadTurns(): Promise<Turn[]> {
  const page = await api.listTimeline({ limit: 40 });
  const answers = page.items.filter((m) => typeof m.metadata?.promptId === 'string').slice(0, 12);
  return Promise.all(
    answers.map(async (message) => ({ message, prompt: await api.getPrompt(message.metadata!.promptId as unknown as string) })),
  );
}

function Turns() {
  const { data, error, reload } = useLoad(loadTurns, [route.value.user]);
  return (
    <section>
      <h2>Last turns of this user</h2>
      {error !== undefined && <Failure error={error} retry={() => void reload()} />}
      {!data && error === undefined && <Loading lines={5} />}
      {data?.length === 0 && <Empty title="No turns yet">Each answer is listed here with what it used.</Empty>}
      {data && data.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Last turns">
          <table>
            <thead>
              <tr>
                <th>When</th>
                <th class="number">Prompt</th>
                <th class="number">In</th>
                <th class="number">Cached</th>
                <th class="number">Out</th>
                <th class="number">Cost</th>
                <th>Model</th>
                <th class="number">Sources</th>
                <th>Slowest</th>
                <th>Without</th>
              </tr>
            </thead>
            <tbody>
              {data.map((turn) => (
                <TurnRow key={turn.message.messageId} turn={turn} />
              ))}
            </tbody>
            <Together turns={data} />
          </table>
          <p class="soft">
            Sources are what the prompt was read from, side by side. Costs are those of the answers alone, by list prices.{' '}
            {priceList}. Other models are not priced.
          </p>
        </div>
      )}
    </section>
  );
}

/** The sums of the turns. Without the price of a model there is no sum of the costs. */
function Together({ turns }: { turns: Turn[] }) {
  const used = turns.map((t) => usageOf(t.message));
  const sum = (of: 'promptTokens' | 'cachedTokens' | 'completionTokens') => count(used.reduce((n, { usage }) => n + (usage?.[of] ?? 0), 0));
  const costs = used.map(({ usage, model }) => usage && costOf(usage, model));
  const known = costs.filter((usd) => usd !== undefined);
  return (
    <tfoot>
      <tr>
        <th scope="row">Together</th>
        <td />
        <td class="number">{sum('promptTokens')}</td>
        <td class="number">{sum('cachedTokens')}</td>
        <td class="number">{sum('completionTokens')}</td>
        <td class="number">{known.length === costs.length && dollars(known.reduce((a, b) => a + b, 0))}</td>
        <td colSpan={4} />
      </tr>
    </tfoot>
  );
}

const timing = ([source, ms]: [string, number]) => `${source.replaceAll('_', ' ')}, ${ms.toFixed(1)} ms`;

function TurnRow({ turn: { message, prompt } }: { turn: Turn }) {
  const { usage, model } = usageOf(message);
  const timings = Object.entries((prompt?.manifest?.timings ?? {}) as Record<string, number>);
  const slowest = timings.sort(([, a], [, b]) => b - a)[0];
  return (
    <tr>
      <td>
        <a href={link('prompt', message.metadata!.promptId as unknown as string)}>{age(message.timestamp)}</a>
      </td>
      <td class="number">{prompt ? `${count(prompt.tokens.total)} of ${count(prompt.tokens.budget)}` : 'not kept'}</td>
      <td class="number">{usage && count(usage.promptTokens)}</td>
      <td class="number">{usage && count(usage.cachedTokens)}</td>
      <td class="number">{usage && count(usage.completionTokens)}</td>
      <td class="number">{usage && <Cost usage={usage} model={model} />}</td>
      <td>{model}</td>
      <td class="number" title={timings.map(timing).join('; ')}>
        {prompt && timings.length}
      </td>
      <td>{slowest && timing(slowest)}</td>
      <td class="warning">{prompt?.manifest?.degraded.map((d) => `${d.source}: ${d.reason}`).join(', ')}</td>
    </tr>
  );
}
