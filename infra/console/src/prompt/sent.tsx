// The prompt as it was sent.
import type { PromptRecord } from '../api/types';
import { Empty } from '../parts/state';

export function Sent({ prompt }: { prompt: PromptRecord }) {
  const { system, text, messages, tools } = prompt;
  if (system === undefined && text === undefined && !messages?.length) {
    return <Empty title="The text is not kept">KEEP_PROMPT_TEXT keeps it; the manifest is there either way.</Empty>;
  }
  return (
    <div class="sent">
      {system && <Part role="system" text={system} />}
      {text && <Part role="text" text={text} />}
      {messages?.map((m, i) => (
        <Part key={i} role={m.role} text={m.content} />
      ))}
      {tools && tools.length > 0 && <Part role="tools" text={JSON.stringify(tools, null, 2)} />}
    </div>
  );
}

const Part = ({ role, text }: { role: string; text: string }) => (
  <section>
    <h3>{role}</h3>
    <pre tabIndex={0}>{text}</pre>
  </section>
);
