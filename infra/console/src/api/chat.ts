// One turn of the chat: a request whose answer is a stream of server-sent events.
import { send } from './client';
import { ApiError, Unreachable } from './reach';
import type { ChatBody, ChatBuilt, ChatDone, ChatToken, Problem } from './types';

export interface ChatEvents {
  prompt(built: ChatBuilt): void;
  token(text: string): void;
  done(done: ChatDone): void;
}

/** Posts a turn and reports its events. It fails if the stream has an error event or ends without its last event. */
export async function chat(body: ChatBody, key: string, on: ChatEvents, signal: AbortSignal): Promise<void> {
  const answer = await send('/v1/chat', { method: 'POST', body, key, signal, stream: true });
  if (!answer.body) throw new Unreachable();
  let ended = false;
  for await (const event of eventsOf(answer.body)) {
    switch (event.name) {
      case 'prompt':
        on.prompt(JSON.parse(event.data) as ChatBuilt);
        break;
      case 'token':
        on.token((JSON.parse(event.data) as ChatToken).text);
        break;
      case 'done':
        ended = true;
        on.done(JSON.parse(event.data) as ChatDone);
        break;
      case 'error':
        throw new ApiError(JSON.parse(event.data) as Problem, 0);
    }
  }
  if (!ended) throw new Unreachable();
}

interface ServerEvent {
  name: string;
  data: string;
}

/** Reads server-sent events. Each is some lines and an empty one. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let buffer = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += value;
    for (let end = buffer.indexOf('\n\n'); end >= 0; end = buffer.indexOf('\n\n')) {
      yield eventOf(buffer.slice(0, end));
      buffer = buffer.slice(end + 2);
    }
  }
}

function eventOf(text: string): ServerEvent {
  const event = { name: '', data: '' };
  for (const line of text.split('\n')) {
    if (line.startsWith('event:')) event.name = line.slice(6).trim();
    if (line.startsWith('data:')) event.data += line.slice(5).trim();
  }
  return event;
}
