// The example of unified-conversation-context: a user swaps an exercise in the program designer, asks the coach about
// tomorrow, and goes back. The story is played through the API, as the user of an app would.
import { signal } from '@preact/signals';
import * as api from './api/calls';
import type { ContextName } from './api/types';
import { chatOf, type Chat } from './chats/chat-state';
import { feedOf } from './chats/feed';
import { errorText } from './format';
import { go, link, route } from './route';
import { rememberUser } from './users';

interface Act {
  side: 'left' | 'right';
  says: string;
  /** What happens while the user types and waits, and what there is to see when the answer is there. */
  now: string;
  then: string;
}

const acts: Act[] = [
  {
    side: 'left',
    says:
      'I want to swap the barbell hip thrusts in my Deadlift Prep program for banded glute bridges. ' +
      'I only have bands at home.',
    now: 'Sam asks the program designer for another exercise. The console types for Sam.',
    then: 'The designer knows the program: it is a fact that the app stored before. Sam leaves for another screen.',
  },
  {
    side: 'right',
    says: "What should I do in tomorrow's session? My glutes are sore, so keep it to three sets.",
    now: 'Sam asks the coach about tomorrow, in a chat in which nothing was said yet.',
    then: 'The coach knows of the new exercise. “From Program Designer” is what Sam said on the other screen.',
  },
  {
    side: 'left',
    says: 'Before we go on: what did my coach and I agree about tomorrow?',
    now: 'Sam goes back to the designer, and asks what the coach said.',
    then: 'Both chats share one memory. See what the model was given for this answer, or go on yourself: type in either chat.',
  },
];

/** A step of the story in words. The last one has the prompt of the last answer. */
export interface Caption {
  user: string;
  step: string;
  text: string;
  promptId?: string;
}

export const caption = signal<Caption | undefined>(undefined);

/** The side on which the story is going on. */
export const playing = signal<'left' | 'right' | undefined>(undefined);
export const storyError = signal('');

/** Makes a user and plays the story in two new sessions. */
export async function playStory(): Promise<void> {
  if (playing.value) return;
  const run = Date.now().toString(36);
  const user = `demo-${run}`;
  const sessions = { left: `designer-${run}`, right: `coach-${run}` };
  storyError.value = '';
  caption.value = undefined;
  playing.value = 'left';
  try {
    rememberUser(user);
    route.value = { ...route.value, user };
    await api.putProfile({ name: 'Sam', about: 'Trains at home, three evenings a week.' });
    await api.createMemory({ type: 'PROJECT', content: 'Deadlift Prep: barbell hip thrusts on Mondays, three sets of eight.' });
    await start(sessions.left, 'program_designer', 'Deadlift Prep');
    await start(sessions.right, 'coach_conversation', 'Tomorrow');
    go(link('chats', '', sessions, user));
    for (const [i, act] of acts.entries()) {
      const tell = (text: string) => (caption.value = { user, step: `${i + 1} of ${acts.length}`, text });
      await play(act, chatOf(sessions[act.side], feedOf(user)), tell);
    }
    const last = chatOf(sessions[acts.at(-1)!.side], feedOf(user)).messages.pages.value.at(-1)?.at(-1);
    caption.value = { ...caption.value!, promptId: last?.metadata?.promptId as string | undefined };
  } catch (error) {
    storyError.value = errorText(error);
  } finally {
    playing.value = undefined;
  }
}

const start = (sessionId: string, context: ContextName, title: string) =>
  api.createSession({ sessionId, context, coachId: 'coach', title });

async function play(act: Act, chat: Chat, tell: (text: string) => unknown): Promise<void> {
  playing.value = act.side;
  tell(act.now);
  await waitFor(() => chat.session.value !== undefined);
  await type(chat, act.says);
  await chat.send();
  if (chat.answer.value?.error !== undefined) throw chat.answer.value.error;
  tell(act.then);
  await pause(still() ? 0 : readingTime);
}

/** Types a text in about a second and a half, so that one sees who says it and where. */
async function type(chat: Chat, text: string): Promise<void> {
  const step = still() ? text.length : Math.ceil(text.length / 40);
  for (let end = 0; end < text.length; end += step) {
    chat.draft.value = text.slice(0, end + step);
    await pause(35);
  }
}

/** How long a caption stays before the next one, in milliseconds. */
const readingTime = 4000;

const still = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function waitFor(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries++) {
    if (tries > 200) throw new Error('The session did not open.');
    await pause(50);
  }
}
