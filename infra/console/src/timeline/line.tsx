// The timeline itself: messages with their threads, and check-ins, under the names of days and sessions.
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { CheckIn, Message } from '../api/types';
import { contextLabel, dayAndTime, dayOf, fullTime, timeOfDay } from '../format';
import { useAgain } from '../parts/load';
import { Empty, Failure, Loading } from '../parts/state';
import { link } from '../route';
import { type Entry, TimelineStore } from './store';
import type { Thread } from './threads';

interface Props {
  user: string;
  context?: string;
  checkIns: boolean;
  /** The titles of sessions by their ids, when they are known. */
  titles?: Map<string, string>;
}

export function Line({ user, context, checkIns, titles }: Props) {
  const store = useMemo(() => new TimelineStore(context), [context, user]);
  useEffect(() => void store.load(), [store]);
  const { entries, degraded, error, more } = store;
  useAgain(error.value, () => void store.load());
  const list = useRef<HTMLOListElement>(null);
  useSteady(list, entries.value);
  const shown = titles && entries.value?.filter((entry) => checkIns || 'message' in entry);
  return (
    <section aria-label="Messages" aria-busy={!shown && error.value === undefined}>
      {degraded.value.map((d) => (
        <p key={d.source} class="warning">
          Without {d.source}: {d.reason}
        </p>
      ))}
      {error.value !== undefined && <Failure error={error.value} retry={() => void store.load()} />}
      {!shown && error.value === undefined && <Loading lines={8} />}
      {shown?.length === 0 && error.value === undefined && <Empty title="No messages">They appear as soon as they are stored.</Empty>}
      <ol class="line" ref={list}>{shown && titles && rows(shown, titles)}</ol>
      {more.value && error.value === undefined && (
        <button type="button" onClick={() => void store.load()}>
          Earlier
        </button>
      )}
    </section>
  );
}

/** Keeps the last row where it is when older entries tell more of the threads above it. */
function useSteady(list: { current: HTMLElement | null }, entries: Entry[] | undefined): void {
  const last = list.current?.lastElementChild;
  const top = last?.getBoundingClientRect().top ?? 0;
  useLayoutEffect(() => {
    const box = list.current?.closest('.page-body');
    if (box && last?.isConnected) box.scrollTop += last.getBoundingClientRect().top - top;
  }, [entries]);
}

/** The entries, each under its day, its thread and its session where these change. */
function rows(entries: Entry[], titles: Map<string, string>) {
  let day = '';
  let thread: Thread | undefined;
  let session = '';
  return entries.flatMap((entry, i) => {
    const newDay = dayOf(entry.time) !== day;
    day = dayOf(entry.time);
    const heading = newDay && <li key={day} class="day">{day}</li>;
    if ('checkIn' in entry) {
      const within = thread !== undefined && nextThread(entries, i) === thread ? joinedClass(thread) : '';
      return [heading, <CheckInRow key={entry.checkIn.id} checkIn={entry.checkIn} joined={within} time={entry.time} />];
    }
    const { message } = entry;
    const newThread = entry.thread !== thread;
    const newSession = newDay || newThread || message.sessionId !== session;
    thread = entry.thread;
    session = message.sessionId;
    const joined = joinedClass(thread);
    return [
      heading,
      newThread && thread && <ThreadRow key={`thread of ${message.messageId}`} thread={thread} titles={titles} />,
      newSession && (
        <li key={`session of ${message.messageId}`} class={`where${joined}`}>
          <span class="context">{contextLabel(message.context)}</span>{' '}
          <a href={link('session', message.sessionId)}>{titles.get(session) ?? session}</a>
        </li>
      ),
      <MessageRow key={message.messageId} message={message} joined={joined} />,
    ];
  });
}

const joinedClass = (thread?: Thread) => (thread && thread.sessions.length > 1 ? ' joined' : '');

/** The thread of the first message below an entry. */
function nextThread(entries: Entry[], i: number): Thread | undefined {
  const next = entries.find((entry, j) => j > i && 'message' in entry);
  return next && 'message' in next ? next.thread : undefined;
}

function ThreadRow({ thread, titles }: { thread: Thread; titles: Map<string, string> }) {
  const { coachId, sessions } = thread;
  const joined = sessions.length > 1;
  const text =
    `${joined ? 'Thread' : 'Sitting'} with ${coachId || 'no coach'}, ${spanOf(thread)}` +
    (joined ? `, joins ${sessions.map((id) => titles.get(id) ?? id).join(' and ')}` : '');
  return <li class={`thread${joinedClass(thread)}`}>{text}</li>;
}

/** From when to when a thread goes. */
function spanOf({ from, to, partial }: Thread): string {
  const sameDay = dayOf(from) === dayOf(to);
  const [start, end] = sameDay ? [timeOfDay(from), timeOfDay(to)] : [dayAndTime(from), dayAndTime(to)];
  if (partial) return `from before ${start} to ${end}`;
  return start === end ? start : `${start} to ${end}`;
}

function MessageRow({ message, joined }: { message: Message; joined: string }) {
  return (
    <li class={`entry ${message.role}${joined}`}>
      <time dateTime={message.timestamp} title={fullTime(message.timestamp)}>
        {timeOfDay(message.timestamp)}
      </time>
      <a href={link('session', message.sessionId, { message: message.messageId })}>{message.content.slice(0, 280)}</a>
    </li>
  );
}

function CheckInRow({ checkIn, time, joined }: { checkIn: CheckIn; time: string; joined: string }) {
  return (
    <li class={`entry check-in${joined}`}>
      <time dateTime={time} title={fullTime(time)}>
        {timeOfDay(time)}
      </time>
      <p>
        <span class="context">Check-in</span> {checkIn.note || <span class="soft">without a note</span>}
      </p>
    </li>
  );
}
