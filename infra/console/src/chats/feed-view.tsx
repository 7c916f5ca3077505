// The feed of events beside the chats.
import { down } from '../api/reach';
import { timeOfDay } from '../format';
import type { Feed, FeedEvent } from './feed';

const titles = { bad: 'The stack does not answer', on: 'Watching what the last turn changes', '': 'Quiet' };

export function FeedView({ feed }: { feed: Feed }) {
  const events = feed.events.value;
  const state = down.value ? 'bad' : feed.watching.value ? 'on' : '';
  return (
    <aside class="feed" aria-label="What happens to the memory">
      <h2>
        Events <span class={`pulse ${state}`} title={titles[state]} />
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

function Line({ event }: { event: FeedEvent }) {
  return (
    <>
      <span class="kind">{event.kind}</span>
      <time dateTime={event.at}>{timeOfDay(event.at)}</time>
      {event.href ? <a href={event.href}>{event.text}</a> : <span class="text">{event.text}</span>}
    </>
  );
}
