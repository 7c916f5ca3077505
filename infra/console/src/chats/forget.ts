// What the page itself keeps of what was said, and has to forget when it is deleted: the feed's events, which outlive a
// reload, the chats that are open, and the names of sessions.
import { forgetAllWords, forgetWords } from '../names';
import { link, route } from '../route';
import { forgetChat, forgetChats } from './chat-state';
import { forgetFeed, feedOf } from './feed';

/** Forgets what was said in a session of the current user, of which something was deleted, and what was drawn from it. */
export function forgetSaid(session: string): void {
  const { user } = route.value;
  const its = link('session', session);
  const memory = link('memory');
  const leadsTo = (place: string, href = '') => href === place || href.startsWith(`${place}?`);
  feedOf(user).forget((event) => leadsTo(its, event.href) || leadsTo(memory, event.href));
  forgetChat(user, session);
  forgetWords(session);
}

/** Forgets a fact or a todo of the current user that was deleted. */
export function forgetRecord(text: string): void {
  feedOf(route.value.user).forget((event) => event.text === text);
}

/** Forgets all that was said, because the user was erased or has signed out. */
export function forgetUser(user: string): void {
  forgetFeed(user);
  forgetChats();
  forgetAllWords();
}
