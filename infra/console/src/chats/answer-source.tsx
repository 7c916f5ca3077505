// The line under an answer: what its prompt and the model took, and what it knew from other contexts.
import { useEffect, useRef } from 'preact/hooks';
import type { Message, PromptRecord } from '../api/types';
import { count } from '../format';
import { Tokens } from '../parts/cost';
import { Bar, usage } from '../prompt/bar';
import { otherSessions, quotesOf } from '../prompt/parts';
import { link } from '../route';

interface Props {
  message: Message;
  prompt?: PromptRecord;
  /** Asks for the prompt, when the answer is seen. */
  onSeen(): void;
  /** Shows where the words come from while the pointer or the keyboard is on a quote. */
  onTrace(sessions: string[]): void;
}

export function AnswerSource({ message, prompt, onSeen, onTrace }: Props) {
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!element.current || prompt) return;
    const observer = new IntersectionObserver(([entry]) => entry!.isIntersecting && onSeen());
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [prompt !== undefined]);
  const promptId = prompt?.promptId ?? (message.metadata?.promptId as string | undefined);
  if (!promptId) return null;
  if (!prompt?.manifest) {
    return (
      <footer class="source" ref={element}>
        <div class="numbers">
          <Tokens message={message} />
          <a href={link('prompt', promptId)}>Why this answer</a>
        </div>
      </footer>
    );
  }
  const sessions = otherSessions(prompt);
  const trace = { onMouseEnter: () => onTrace(sessions), onMouseLeave: () => onTrace([]) };
  return (
    <footer class="source">
      {quotesOf(prompt).map((quote) => (
        <a key={quote.label} class="quote" href={link('prompt', promptId)} {...trace}>
          <span class="clamp">
            <b>From {quote.label}</b> <span class="soft">{quote.age}</span> {quote.text}
          </span>
        </a>
      ))}
      <div class="numbers">
        <Bar blocks={prompt.manifest.blocks} of={prompt.tokens.total} label={`Prompt of ${count(prompt.tokens.total)} tokens`} />
        <span>{usage(prompt)}</span>
        {prompt.manifest.degraded.length > 0 && (
          <span class="warning">without {prompt.manifest.degraded.map((d) => d.source).join(', ')}</span>
        )}
        <a href={link('prompt', promptId)}>Why this answer</a>
        <Tokens message={message} />
      </div>
    </footer>
  );
}
