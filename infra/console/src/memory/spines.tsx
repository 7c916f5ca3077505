// The spines: for each coach the running summary of all sessions.
import * as api from '../api/calls';
import type { Spine } from '../api/types';
import { age, contextLabel, contexts, fullTime } from '../format';
import { ContextLabel } from '../parts/context';
import { useLoad } from '../parts/load';
import { Empty, Failure, Loading } from '../parts/state';
import { route } from '../route';
import { Remarks } from './patterns';

export function Spines() {
  const { data, error, reload } = useLoad(api.listSpines, [route.value.user]);
  return (
    <section aria-label="Spines">
      <h2>Spine of each coach</h2>
      <p class="soft">The spine is the running summary of everything between the user and one coach, over all sessions and contexts.</p>
      {error !== undefined && <Failure error={error} retry={() => void reload()} />}
      {!data && error === undefined && <Loading lines={3} />}
      {data?.length === 0 && <Empty title="Not written yet">A coach's spine follows when a session with the coach has its summary.</Empty>}
      <ul class="records">
        {data?.map((spine) => (
          <Row key={spine.coachId} spine={spine} />
        ))}
      </ul>
    </section>
  );
}

function Row({ spine }: { spine: Spine }) {
  const nowhere = spine.withheldIn.length === contexts.length;
  return (
    <li>
      <h3>{spine.coachId}</h3>
      {nowhere ? <Empty title="Kept out of all prompts">The user's preferences say so. The export has the text.</Empty> : <p class="content">{spine.text}</p>}
      <Remarks of={spine} />
      <footer>
        {spine.contexts.map((c) => (
          <ContextLabel key={c} context={c} />
        ))}
        {spine.coveredTo && <span title={fullTime(spine.coveredTo)}>sessions up to {age(spine.coveredTo)}</span>}
        {spine.updatedAt && <span title={fullTime(spine.updatedAt)}>written {age(spine.updatedAt)}</span>}
        {!nowhere && spine.withheldIn.length > 0 && <span>not shown in {spine.withheldIn.map(contextLabel).join(', ')}</span>}
      </footer>
    </li>
  );
}
