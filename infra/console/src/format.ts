// Words for what the API answers in codes, numbers and times.
import type { Item } from './api/types';

export const contexts = ['coach_conversation', 'program_designer', 'coach_creator', 'training_program', 'workout_log'] as const;

const contextLabels: Record<string, string> = {
  coach_conversation: 'Coach',
  program_designer: 'Program Designer',
  coach_creator: 'Coach Creator',
  training_program: 'Training Program',
  workout_log: 'Workout Log',
};

export const contextLabel = (context: string) => contextLabels[context] ?? words(context);

/** Turns a name such as recent_activity into words. */
export function words(name: string): string {
  const text = name.replaceAll('_', ' ').replace(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const integers = new Intl.NumberFormat('en-US');
export const count = (n: number) => integers.format(n);

/** A number of things, with the noun in the right form. */
export const plural = (n: number, one: string, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' });
const dayOfYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });

export const timeOfDay = (time: string) => clock.format(new Date(time));

export function dayOf(time: string): string {
  const date = new Date(time);
  return (date.getFullYear() === new Date().getFullYear() ? day : dayOfYear).format(date);
}

export const dayAndTime = (time: string) => `${dayOf(time)}, ${timeOfDay(time)}`;

export const fullTime = (time: string) => `${dayOfYear.format(new Date(time))}, ${timeOfDay(time)}`;

/** How long before a moment a time was. */
export function age(time: string, now = Date.now()): string {
  const minutes = Math.floor((now - Date.parse(time)) / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  const days = Math.floor(minutes / (24 * 60));
  return days < 30 ? plural(days, 'day') + ' ago' : dayOfYear.format(new Date(time));
}

/** The first words of a text, in one line. */
export function firstWords(text: string, most = 48): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (line.length <= most) return line;
  const cut = line.slice(0, most + 1);
  const end = cut.lastIndexOf(' ');
  return `${cut.slice(0, end > most / 2 ? end : most).replace(/[.,;:!?]+$/, '')}…`;
}

/** A score or a part of one, short and of one width. */
export const score = (n: number) => (n !== 0 && Math.abs(n) < 0.01 ? n.toFixed(5) : n.toFixed(3));

export const itemKind = (item: Item) => words(item.kind);

/** What an error says to a person. */
export const errorText = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** A new id for a session or an idempotency key. */
export const newId = (prefix: string) => `${prefix}-${crypto.randomUUID().slice(0, 8)}`;
