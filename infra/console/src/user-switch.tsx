// Who the page speaks for. On a local stack it can be anybody.
import { useSignal } from '@preact/signals';
import { Dialog } from './parts/dialog';
import { go, link, route } from './route';
import { knownUsers } from './users';

export function UserSwitch() {
  const open = useSignal(false);
  const { user, screen } = route.value;
  const change = (name: string) => {
    open.value = false;
    const same = ['chats', 'timeline', 'memory', 'settings', 'health'].includes(screen) ? screen : 'chats';
    if (name) go(link(same, '', {}, name));
  };
  return (
    <>
      <button type="button" class="user-button" title="Change the user" onClick={() => (open.value = true)}>
        {user || 'Choose a user'}
      </button>
      {open.value && (
        <Dialog title="User" onClose={() => (open.value = false)}>
          <UserForm onChange={change} />
        </Dialog>
      )}
    </>
  );
}

export function UserForm({ onChange }: { onChange(user: string): void }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onChange(String(new FormData(event.currentTarget as HTMLFormElement).get('user')).trim());
  };
  return (
    <form class="fields" onSubmit={submit}>
      <label>
        User id
        <input name="user" required maxLength={128} autoComplete="off" placeholder="ann" />
      </label>
      <button type="submit" class="primary">
        Continue
      </button>
      {knownUsers().length > 0 && (
        <ul class="plain" aria-label="Users of this browser">
          {knownUsers().map((name) => (
            <li key={name}>
              <button type="button" class="quiet" onClick={() => onChange(name)}>
                {name}
              </button>
            </li>
          ))}
        </ul>
      )}
    </form>
  );
}
