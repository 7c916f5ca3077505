// A link to a message of which only the id is known. It is looked up when it is followed.
import { useSignal } from '@preact/signals';
import * as api from '../api/calls';
import { errorText } from '../format';
import { go, link } from '../route';

export function MessageLink({ id, label }: { id: string; label: string }) {
  const said = useSignal('');
  const follow = async () => {
    try {
      const message = await api.findMessage(id);
      if (message) go(link('session', message.sessionId, { message: id }));
      else said.value = 'deleted since';
    } catch (error) {
      said.value = errorText(error);
    }
  };
  return (
    <button type="button" class="quiet link" disabled={said.value !== ''} onClick={() => void follow()}>
      {said.value || label}
    </button>
  );
}
