// What stands behind an item: its text, and the parts of its score.
import * as api from '../api/calls';
import type { Item } from '../api/types';
import { score, words } from '../format';
import { useLoad } from '../parts/load';
import { Failure, Loading } from '../parts/state';
import { link } from '../route';

interface Behind {
  text: string;
  href?: string;
}

export function ItemDetail({ item }: { item: Item }) {
  const { data, error } = useLoad(() => behind(item), [item.id]);
  return (
    <div class="item-detail">
      {error !== undefined && <Failure error={error} />}
      {!data && error === undefined && <Loading lines={1} />}
      {data && (
        <p class="content">
          {data.text} {data.href && <a href={data.href}>Show it</a>}
        </p>
      )}
      {item.features && <Features features={item.features} />}
    </div>
  );
}

/** Reads the record that an item comes from. */
async function behind(item: Item): Promise<Behind> {
  switch (item.kind) {
    case 'message': {
      const m = await api.findMessage(item.id);
      return m ? { text: m.content, href: link('session', m.sessionId, { message: m.messageId }) } : gone;
    }
    case 'memory': {
      const m = (await api.listMemories()).find((found) => found.id === item.id);
      return m ? { text: m.content, href: link('memory', '', { fact: m.id }) } : gone;
    }
    case 'todo': {
      const t = (await api.listTodos()).find((found) => found.id === item.id);
      return t ? { text: t.content, href: link('memory') } : gone;
    }
    case 'goal': {
      const g = (await api.listGoals()).find((found) => found.id === item.id);
      return g ? { text: g.title, href: link('memory') } : gone;
    }
    case 'session': {
      const s = await api.getSession(item.id);
      return s ? { text: s.summary?.text ?? 'It has no summary yet.', href: link('session', s.sessionId) } : gone;
    }
  }
  return { text: 'Its words are in the prompt as sent.' };
}

const gone: Behind = { text: 'This record has been deleted since.' };

/** The parts of a score as bars. With the intercept they add up to the logarithm of the odds. */
function Features({ features }: { features: Record<string, number> }) {
  const parts = Object.entries(features);
  const most = Math.max(...parts.filter(([name]) => name !== 'intercept').map(([, value]) => Math.abs(value)), 1e-9);
  return (
    <table class="features">
      <caption>Parts of the score</caption>
      <tbody>
        {parts.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{words(name)}</th>
            <td class="number">{score(value)}</td>
            <td>
              {name !== 'intercept' && (
                <span class={value < 0 ? 'part less' : 'part'} style={{ width: `${(100 * Math.abs(value)) / most}%` }} />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
