// The tide of events beside the chats.
import { timeOfDay } from '../format';
import type { Tide, TideEvent } from './tide';

export function TideView({ tide }: { tide: Tide }) {
  const events = tide.events.value;
  return (
    <aside class="tide" aria-label="What happens to the memory">
      <h2>
        Events <span class={tide.watching.value ? 'pulse on' : 'pulse'} title={tide.watching.value ? 'watching' : 'quiet'} />
      </h2>
      {events.length === 0 && <p class="soft">What is stored, summarised and remembered shows up here.</p>}
      <ol>
        {events.map((event) => (
          <li key={event.id} class={event.kind}>
            <Line event={event} />
          </li>
        ))}
      </ol>
    </aside>
  );
}

function Line({ event }: { event: TideEvent }) {
  return (
    <>
      <span class="kind">{event.kind}</span>
      <time dateTime={event.at}>{timeOfDay(event.at)}</time>
      {event.href ? <a href={event.href}>{event.text}</a> : <span class="text">{event.text}</span>}
    </>
  );
}
