// The inspector: what one prompt held, and why. With another prompt in the address it shows both.
import { useSignal } from '@preact/signals';
import * as api from '../api/calls';
import type { PromptRecord } from '../api/types';
import { count, fullTime, plural } from '../format';
import { useLoad } from '../parts/load';
import { EmptyScreen, WaitingScreen } from '../parts/state';
import { link, route } from '../route';
import { Bar, Legend, usage } from './bar';
import { Blocks } from './block';
import { Compare } from './compare';
import { Rebuild } from './rebuild';
import { Sent } from './sent';
import { SessionName } from './session-name';

export function PromptScreen() {
  const { id, query } = route.value;
  const prompt = useLoad(() => api.getPrompt(id), [id]);
  const other = useLoad(async () => (query.with ? api.getPrompt(query.with) : undefined), [query.with]);
  if (prompt.error !== undefined || !('data' in prompt)) {
    return <WaitingScreen name="Prompt" error={prompt.error} retry={prompt.reload} />;
  }
  if (!prompt.data?.manifest) {
    return <EmptyScreen title="This prompt is no longer kept">Prompts are kept for a week, and go with their session.</EmptyScreen>;
  }
  return (
    <main class="page-body prompt">
      <Head prompt={prompt.data} />
      {query.with && other.data ? <Compare a={prompt.data} b={other.data} /> : <Inspect prompt={prompt.data} />}
      <Rebuild prompt={prompt.data} />
    </main>
  );
}

function Head({ prompt }: { prompt: PromptRecord }) {
  const blocks = prompt.manifest!.blocks;
  const { total, budget } = prompt.tokens;
  return (
    <header class="prompt-head">
      <h1>
        {usage(prompt)} <small>{prompt.recipe}</small>
      </h1>
      <p class="soft">
        {fullTime(prompt.createdAt)}, in <SessionName id={prompt.sessionId} /> ·{' '}
        <a href={link('prompts', '', { session: prompt.sessionId })}>All prompts of this session</a>
      </p>
      <figure>
        <Bar blocks={blocks} of={Math.max(budget, total)} label={`${count(total)} of ${count(budget)} tokens`} />
        <figcaption class="ends">
          <span>{Math.round((100 * total) / budget)}% of the budget</span>
          <span class="number">{count(budget)}</span>
        </figcaption>
        <Bar blocks={blocks} of={total} label="The parts of the prompt" />
        <Legend blocks={blocks} />
      </figure>
      <Remarks prompt={prompt} />
    </header>
  );
}

/** What the prompt lacks, what it warns of, and how long its sources took. */
function Remarks({ prompt }: { prompt: PromptRecord }) {
  const { degraded, warnings, timings } = prompt.manifest!;
  const slowest = Object.entries(timings as Record<string, number>).sort(([, a], [, b]) => b - a);
  return (
    <ul class="remarks">
      {degraded.map((d) => (
        <li key={d.source} class="warning">
          Without {d.source}: {d.reason}
        </li>
      ))}
      {warnings.map((w) => (
        <li key={w} class="warning">
          {w}
        </li>
      ))}
      {slowest.length > 0 && (
        <li class="soft">
          {slowest.map(([source, ms]) => `${source.replaceAll('_', ' ')} ${ms.toFixed(1)} ms`).join(' · ')}
        </li>
      )}
    </ul>
  );
}

function Inspect({ prompt }: { prompt: PromptRecord }) {
  const sent = useSignal(false);
  const blocks = prompt.manifest!.blocks;
  const used = blocks.filter((b) => b.items.length > 0);
  const empty = blocks.filter((b) => b.items.length === 0);
  return (
    <section>
      <div class="switch" role="group" aria-label="What to show">
        <button type="button" aria-pressed={!sent.value} onClick={() => (sent.value = false)}>
          What went in and why
        </button>
        <button type="button" aria-pressed={sent.value} onClick={() => (sent.value = true)}>
          As sent
        </button>
      </div>
      {sent.value ? (
        <Sent prompt={prompt} />
      ) : (
        <>
          <Blocks blocks={used} prompt={prompt} />
          {empty.length > 0 && (
            <p class="soft">
              {plural(empty.length, 'block')} had nothing: {empty.map((b) => b.name.replaceAll('_', ' ')).join(', ')}.
            </p>
          )}
        </>
      )}
    </section>
  );
}
