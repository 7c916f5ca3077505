// The messages and check-ins that the timeline holds, in one line, the newest turn first.
import { signal } from '@preact/signals';
import * as api from '../api/calls';
import type { CheckIn, Degradation, Message, Page } from '../api/types';
import { type Thread, threadsOf } from './threads';
import { inTurns } from './turns';

const pageSize = 50;

export type Entry = { time: string } & ({ message: Message; thread?: Thread } | { checkIn: CheckIn });

/** A list of the API, the newest first, of which the first pages were read. */
class List<T extends { timestamp?: string }> {
  readonly items: T[] = [];
  error: unknown;
  /** The time back to which all items were read. */
  reach = Infinity;
  #cursor: string | undefined;

  constructor(private readonly fetch: (values: { limit: number; cursor?: string }) => Promise<Page<T>>) {}

  async load(): Promise<void> {
    try {
      const page = await this.fetch({ limit: pageSize, cursor: this.#cursor });
      this.items.push(...page.items);
      this.#cursor = page.nextCursor;
      this.reach = this.#cursor === undefined ? -Infinity : Math.min(this.reach, timeOf(page.items.at(-1)));
    } catch (failure) {
      this.error = failure;
    }
  }
}

const timeOf = (item?: { timestamp?: string }) => (item?.timestamp ? Date.parse(item.timestamp) : Infinity);

export class TimelineStore {
  readonly entries = signal<Entry[] | undefined>(undefined);
  readonly degraded = signal<Degradation[]>([]);
  readonly error = signal<unknown>(undefined);
  /** Whether there are older messages or check-ins. */
  readonly more = signal(false);
  #loading: Promise<void> | undefined;
  readonly #messages: List<Message>;
  readonly #checkIns = new List<CheckIn>(api.listCheckIns);

  /** The timeline of one context, or of all. A thread runs over contexts, so one context alone has none. */
  constructor(private readonly context?: string) {
    this.#messages = new List(async (values) => {
      const page = await api.listTimeline({ context, ...values });
      this.degraded.value = page.degraded ?? [];
      return page;
    });
  }

  /** Loads the newest entries, or the next older ones. */
  load(): Promise<void> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #load(): Promise<void> {
    const wanted = (this.entries.value?.length ?? 0) + pageSize / 2;
    const lists = [this.#messages, this.#checkIns];
    for (const list of lists) list.error = undefined;
    do {
      const reach = this.#reach();
      await Promise.all(lists.filter((list) => list.reach === reach).map((list) => list.load()));
      this.#show();
    } while (this.more.value && this.error.value === undefined && this.entries.value!.length < wanted);
  }

  /** The time back to which the line is whole. A list that cannot be read does not hold up the other one. */
  #reach(): number {
    return Math.max(...[this.#messages, this.#checkIns].map((list) => (list.error === undefined ? list.reach : -Infinity)));
  }

  #show(): void {
    const reach = this.#reach();
    const messages = this.#messages.items;
    const threads = this.context ? undefined : threadsOf(messages, this.#messages.reach > -Infinity);
    const entries: Entry[] = [
      ...messages.map((m) => ({ time: m.timestamp, message: m, thread: threads?.get(m.messageId) })),
      ...this.#checkIns.items.flatMap((c) => (c.timestamp ? [{ time: c.timestamp, checkIn: c }] : [])),
    ];
    this.error.value = this.#messages.error ?? this.#checkIns.error;
    this.more.value = reach > -Infinity;
    this.entries.value = inTurns(entries.filter((entry) => Date.parse(entry.time) >= reach));
  }
}
