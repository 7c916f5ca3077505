// Faults at the door of a service, to see what the stack does without it.
import { sendOpen } from '../api/client';
import { useLoad } from '../parts/load';
import { Failure, Loading } from '../parts/state';

interface Rates {
  errorRate: number;
  latencyMs: number;
  dropRate: number;
  indexLagMs?: number;
}

type State = Record<string, Rates>;

const read = () => sendOpen<State>('/dev/faults', {});

export function Faults() {
  const { data, error, reload, set } = useLoad(read, []);
  const change = async (service: string, down: boolean) => {
    set(await sendOpen<State>('/dev/faults', { [service]: down ? { errorRate: 1 } : {} }));
  };
  return (
    <section>
      <h2>Faults</h2>
      <p class="soft">A service that is down answers every call of the functions with an error, until it is up again.</p>
      {error !== undefined && <Failure error={error} retry={() => void reload()} />}
      {!data && error === undefined && <Loading lines={3} />}
      <ul class="plain">
        {Object.entries(data ?? {}).map(([service, rates]) => (
          <li key={service}>
            <label class="check">
              <input
                type="checkbox"
                checked={rates.errorRate > 0}
                onChange={(e) => void change(service, e.currentTarget.checked)}
              />{' '}
              {service} is down
            </label>
          </li>
        ))}
      </ul>
    </section>
  );
}
