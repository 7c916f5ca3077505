// An item in full: its text, the way to its record, and the parts of its score.
import type { Item } from '../api/types';
import { score, words } from '../format';
import { useLoad } from '../parts/load';
import { Failure, Loading } from '../parts/state';
import { recordOf, type ItemRecord } from './item-record';

export function ItemDetail({ item, record }: { item: Item; record?: ItemRecord }) {
  const { data, error } = useLoad(async () => record ?? recordOf(item), [item.id, record]);
  return (
    <div class="item-detail">
      {error !== undefined && <Failure error={error} />}
      {!data && error === undefined && <Loading lines={1} />}
      {data && <p class="content">{data.text}</p>}
      {data?.href && <a href={data.href}>Go to it</a>}
      {item.features && <Features features={item.features} />}
    </div>
  );
}

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
