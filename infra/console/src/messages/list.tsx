// A list of messages of any length. The browser holds the pages near the window; the others are empty boxes of the same
// height.
import { type ComponentChildren, Fragment } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Message } from '../api/types';
import { dayOf } from '../format';
import { useAgain } from '../parts/load';
import { Failure, Loading } from '../parts/state';
import type { MessageStore } from './store';

interface Props {
  store: MessageStore;
  label: string;
  render(message: Message): ComponentChildren;
  /** What is below the messages, such as an answer that streams. */
  children?: ComponentChildren;
  /** The message to show. Without one the list shows its end, and stays there while it grows. */
  target?: string;
}

export function MessageList({ store, label, render, children, target }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const pages = store.pages.value;
  const isLoading = !store.loaded.value && store.error.value === undefined;
  useScroll(box, inner, pages, target);
  useAgain(store.error.value, () => void store.again());
  return (
    <div class="messages" ref={box} tabIndex={0} role="log" aria-label={label} aria-busy={isLoading}>
      <div class="inner" ref={inner}>
        {store.more.value && <Earlier load={() => store.load()} box={box} />}
        {isLoading && <Loading lines={4} />}
        {pages.map((page, i) => (
          <PageView
            key={page[0]?.messageId}
            page={page}
            before={pages[i - 1]?.at(-1)}
            render={render}
            box={box}
            passed={store.isPassed(page)}
            held={page.some((m) => m.messageId === target)}
          />
        ))}
        {store.error.value !== undefined && <Failure error={store.error.value} retry={() => void store.again()} />}
        {children}
      </div>
    </div>
  );
}

type Box = { current: HTMLElement | null };

/** Loads older messages while it is near the window. */
function Earlier({ load, box }: { load(): Promise<void>; box: Box }) {
  const element = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const button = element.current!;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (!entry?.isIntersecting) return;
        observer.unobserve(button);
        void load().then(() => observer.observe(button)); // it may still be near
      },
      { root: box.current, rootMargin: '600px' },
    );
    observer.observe(button);
    return () => observer.disconnect();
  }, []);
  return (
    <button type="button" class="earlier quiet" ref={element} onClick={() => void load()}>
      Earlier messages
    </button>
  );
}

/** The height of a message of two lines, in pixels. */
const usualHeight = 85;

interface PageProps {
  page: Message[];
  render(message: Message): ComponentChildren;
  box: Box;
  passed: boolean;
  /** The message before the page. */
  before?: Message;
  /** Whether the page is drawn wherever it is, because it has the message to show. */
  held: boolean;
}

/** One page. When it is far from the window, it is a box of the height that it had, or that it may have. */
function PageView({ page, before, render, box, passed, held }: PageProps) {
  const element = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState(passed ? page.length * usualHeight : undefined);
  useEffect(() => {
    const observer = new IntersectionObserver(
      ([entry]) => setHeight(entry!.isIntersecting ? undefined : entry!.boundingClientRect.height),
      { root: box.current, rootMargin: '1500px' },
    );
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  const isDrawn = held || height === undefined;
  return (
    <div class="page" ref={element} style={{ height: isDrawn ? 'auto' : `${height}px` }}>
      {isDrawn &&
        page.map((m, i) => (
          <Fragment key={m.messageId}>
            <NewDay message={m} before={page[i - 1] ?? before} />
            {render(m)}
          </Fragment>
        ))}
    </div>
  );
}

/** The day of a message, where the message before it is of another day. */
function NewDay({ message, before }: { message: Message; before?: Message }) {
  const day = dayOf(message.timestamp);
  if (before && dayOf(before.timestamp) === day) return null;
  return (
    <p class="day">
      <time dateTime={message.timestamp}>{day}</time>
    </p>
  );
}

/** Keeps the window where the reader expects it: at the end, at the target, or at the same message as before. */
function useScroll(box: Box, inner: Box, pages: Message[][], target?: string): void {
  const shown = useRef('');
  const before = useRef({ first: '', height: 0 });
  const atEnd = useRef(!target);
  useEffect(() => {
    const element = box.current!;
    let hidden = false;
    let top = 0;
    // Only a reader who scrolls up leaves the end. Content that has grown, and a list that was hidden, have not moved.
    const note = () => {
      if (hidden) return;
      if (element.scrollHeight - element.scrollTop - element.clientHeight < 40) atEnd.current = true;
      else if (element.scrollTop < top) atEnd.current = false;
      top = element.scrollTop;
    };
    const resized = new ResizeObserver(() => {
      hidden = element.clientHeight === 0;
      if (atEnd.current) element.scrollTop = element.scrollHeight;
    });
    element.addEventListener('scroll', note, { passive: true });
    resized.observe(inner.current!);
    resized.observe(element); // which gets lower when the screen's keyboard opens
    return () => {
      element.removeEventListener('scroll', note);
      resized.disconnect();
    };
  }, []);
  useLayoutEffect(() => {
    const element = box.current!;
    const first = pages[0]?.[0]?.messageId ?? '';
    const row = target && shown.current !== target ? element.querySelector(`[data-message="${CSS.escape(target)}"]`) : null;
    if (row) {
      shown.current = target!;
      atEnd.current = false;
      row.scrollIntoView({ block: 'center' });
    } else if (before.current.first && first !== before.current.first && !atEnd.current) {
      element.scrollTop += element.scrollHeight - before.current.height;
    } else if (atEnd.current) {
      element.scrollTop = element.scrollHeight;
    }
    before.current = { first, height: element.scrollHeight };
  }, [pages, target]);
}
