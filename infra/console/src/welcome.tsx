// The start, for somebody who has been here before. Others see the story at once.
import { isLocal } from './config';
import { Loading, SignInButton } from './parts/state';
import { go, link } from './route';
import { signedIn } from './sign-in';
import { playing, playStory } from './story';
import { UserForm } from './user-switch';

export function Welcome() {
  if (!isLocal()) return <SignIn />;
  if (playing.value) return <Preparing />;
  return (
    <main class="welcome">
      <Pitch />
      <button type="button" class="primary" onClick={() => void playStory()}>
        Play the story
      </button>
      <h2>Or look at a user</h2>
      <UserForm onChange={(user) => go(link('chats', '', {}, user))} />
    </main>
  );
}

const Pitch = () => (
  <>
    <h1>One memory across every conversation in an app</h1>
    <p class="soft">Two screens of one app, the same user. What is said on one is known on the other.</p>
  </>
);

/** What is shown until the user and the sessions of the story are there. */
const Preparing = () => (
  <main class="welcome" aria-busy="true">
    <Pitch />
    <p>The story begins in a moment. Its user Sam and two conversations are being made.</p>
    <Loading lines={3} />
  </main>
);

/** The start on a stage that is not local. */
function SignIn() {
  return (
    <main class="welcome">
      <h1>One memory across every conversation in an app</h1>
      {signedIn.value ? <a href={link('chats', '', {}, 'me')}>Go to the chats</a> : <SignInButton />}
    </main>
  );
}
