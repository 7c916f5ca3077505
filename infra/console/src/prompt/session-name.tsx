// A link to a session of which only the id is known, by the session's name.
import * as api from '../api/calls';
import { contextLabel } from '../format';
import { nameOf } from '../names';
import { useLoad } from '../parts/load';
import { link, route } from '../route';

export function SessionName({ id }: { id: string }) {
  const { user } = route.value;
  const { data } = useLoad(() => api.getSession(id), [id, user]);
  return <a href={link('session', id)}>{data ? `${contextLabel(data.context)} · ${nameOf(data, user)}` : 'a session'}</a>;
}
