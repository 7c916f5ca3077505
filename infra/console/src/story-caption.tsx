// The line that leads through the story: what happens now, and at the end what to click.
import { useLayoutEffect } from 'preact/hooks';
import { link, route } from './route';
import { caption } from './story';

export function StoryCaption() {
  const shown = caption.value;
  const { user, screen } = route.value;
  const isOther = shown !== undefined && user !== shown.user;
  useLayoutEffect(() => {
    if (isOther) caption.value = undefined;
  }, [isOther]);
  if (!shown || isOther || screen !== 'chats') return null;
  return (
    <aside class="caption" aria-label="The story">
      <p role="status">
        <b>{shown.step}</b> {shown.text}
      </p>
      {shown.promptId && (
        <p class="next">
          <a href={link('prompt', shown.promptId)}>Why this answer</a>
          <a href={link('memory')}>What is remembered of Sam</a>
          <a href={link('timeline')}>Both chats in one line</a>
          <button type="button" class="quiet" onClick={() => (caption.value = undefined)}>
            Close the story
          </button>
        </p>
      )}
    </aside>
  );
}
