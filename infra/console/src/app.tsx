// The frame around the screens: where one is, and as whom.
import { useLayoutEffect } from 'preact/hooks';
import { down } from './api/reach';
import { Chats } from './chats/chats';
import { forgetUser } from './chats/forget';
import { config, isLocal } from './config';
import { words } from './format';
import { Health } from './health/health';
import { MemoryScreen } from './memory/memory';
import { EmptyScreen } from './parts/state';
import { PromptScreen } from './prompt/prompt';
import { Prompts } from './prompt/prompts';
import { link, route } from './route';
import { Settings } from './settings/settings';
import { signedIn, signOut } from './sign-in';
import { playing, playStory, storyError } from './story';
import { StoryCaption } from './story-caption';
import { SessionScreen } from './timeline/session';
import { Timeline } from './timeline/timeline';
import { Welcome } from './welcome';
import { UserSwitch } from './user-switch';
import { knownUsers, rememberUser } from './users';

const screens: Record<string, () => preact.JSX.Element> = {
  '': Welcome,
  chats: Chats,
  prompts: Prompts,
  prompt: PromptScreen,
  timeline: Timeline,
  session: SessionScreen,
  memory: MemoryScreen,
  settings: Settings,
  health: Health,
};

const places = [
  ['chats', 'Chats'],
  ['timeline', 'Timeline'],
  ['memory', 'Memory'],
  ['settings', 'Settings'],
  ['health', 'Health'],
] as const;

export function App() {
  const { user, screen } = route.value;
  useLayoutEffect(() => {
    document.title = user && screen ? `${words(screen)} · Throughline` : 'Throughline';
  }, [user, screen]);
  useLayoutEffect(() => {
    if (user && isLocal()) rememberUser(user);
    else if (isLocal() && knownUsers().length === 0) void playStory();
  }, [user]);
  const Screen = screens[user && signedIn.value ? screen : ''] ?? NoScreen;
  return (
    <>
      <header class="top">
        <a class="brand" href="#/" aria-label="Throughline, start">
          Throughline
        </a>
        {user && signedIn.value && <Places screen={screen} />}
        <span class="grow" />
        <a class="api" href={`${config.apiUrl}/docs`}>
          API
        </a>
        {isLocal() && (
          <button type="button" class="quiet story" disabled={playing.value !== undefined} onClick={() => void playStory()}>
            {playing.value ? 'Playing' : 'Play the story'}
          </button>
        )}
        {isLocal() && <UserSwitch />}
        {!isLocal() && signedIn.value && (
          <button type="button" class="quiet" onClick={leave}>
            Sign out
          </button>
        )}
      </header>
      {down.value && <Down />}
      {storyError.value && (
        <p class="banner" role="alert">
          The story stopped. {storyError.value}
        </p>
      )}
      <StoryCaption />
      <Screen key={user} />
    </>
  );
}

function leave(): void {
  forgetUser(route.value.user);
  signOut();
}

/** Says that the stack does not answer, for as long as it does not. */
const Down = () => (
  <p class="banner" role="alert">
    <span class="pulse bad" /> The stack does not answer. It is asked again every second, and this page goes on by itself.
    {isLocal() && ' On this machine, make run starts it.'}
  </p>
);

function Places({ screen }: { screen: string }) {
  const at: Record<string, string> = { session: 'timeline', prompt: 'chats', prompts: 'chats' };
  return (
    <nav aria-label="Screens">
      {places.map(([name, label]) => (
        <a key={name} href={link(name)} aria-current={(at[screen] ?? screen) === name ? 'page' : undefined}>
          {label}
        </a>
      ))}
    </nav>
  );
}

function NoScreen() {
  return (
    <EmptyScreen title="There is no such screen">
      <a href={link('chats')}>Go to the chats</a>
    </EmptyScreen>
  );
}
