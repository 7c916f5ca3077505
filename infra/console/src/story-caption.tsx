// The line that leads through the story: what happens now, and at the end what to click.
import { useLayoutEffect } from 'preact/hooks';
import { link, route } from './route';
import { caption } from './story';

export function StoryCaption() {
  const told = caption.value;
  const { user, screen } = route.value;
  const isOther = told !== undefined && user !== told.user;
  useLayoutEffect(() => {
    if (isOther) caption.value = undefined;
  }, [isOther]);
  if (!told || isOther || screen !== 'chats') return null;
  return (
    <aside class="caption" aria-label="The story">
      <p role="status">
        <b>{told.step}</b> {told.text}
      </p>
      {told.promptId && (
        <p class="next">
          <a href={link('prompt', told.promptId)}>Why this answer</a>
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
