import type { Deadline } from './deadline.js';
import { ConnectionError } from './errors.js';

/** One server-sent event. */
export interface ServerEvent {
  event: string;
  data: string;
}

/** Reads the lines of a body. Each piece of it begins the timeout again. The text after the last line feed is no line: the connection was cut in it. */
export async function* lines(answer: Response, deadline: Deadline): AsyncGenerator<string, void, undefined> {
  const reader = answer.body!.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new ConnectionError('the answer was cut', { cause });
      });
      if (done) return;
      deadline.extend();
      const parts = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = parts.pop()!;
      for (const line of parts) yield line.endsWith('\r') ? line.slice(0, -1) : line;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Reads the events of a text/event-stream. */
export async function* serverEvents(answer: Response, deadline: Deadline): AsyncGenerator<ServerEvent, void, undefined> {
  let event = '';
  let data: string[] = [];
  for await (const line of lines(answer, deadline)) {
    const [, name, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    if (name === 'event') event = value ?? '';
    if (name === 'data') data.push(value ?? '');
    if (line !== '') continue;
    if (data.length > 0) yield { event, data: data.join('\n') };
    event = '';
    data = [];
  }
}
