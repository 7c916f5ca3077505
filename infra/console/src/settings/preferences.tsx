// What may be remembered, and which contexts tell each other. A change is saved at once.
import { useSignal } from '@preact/signals';
import * as api from '../api/calls';
import type { Preferences } from '../api/types';
import { contextLabel, contexts } from '../format';
import { useLoad } from '../parts/load';
import { Failure, Loading } from '../parts/state';

export function PreferencesForm() {
  const { data, error, reload, set } = useLoad(api.getPreferences, []);
  const failed = useSignal<unknown>(undefined);
  const save = async (change: Partial<Preferences>) => {
    try {
      failed.value = undefined;
      set(await api.putPreferences({ ...data!, ...change }));
    } catch (failure) {
      failed.value = failure;
      await reload();
    }
  };
  return (
    <section>
      <h2>Preferences</h2>
      {error !== undefined && <Failure error={error} retry={() => void reload()} />}
      {!data && error === undefined && <Loading lines={5} />}
      {failed.value !== undefined && <Failure error={failed.value} />}
      {data && <Fields preferences={data} save={(change) => void save(change)} />}
    </section>
  );
}

function Fields({ preferences, save }: { preferences: Preferences; save(change: Partial<Preferences>): void }) {
  const { memory, crossContext, reviewMemories, timezone } = preferences;
  return (
    <div class="fields">
      <Toggle label="Remember facts" help="Off: nothing is read from chats, and prompts have none of it." on={memory} change={(on) => save({ memory: on })} />
      <Toggle
        label="Ask before facts are used"
        help="On: what is read from chats waits in Memory until it is confirmed. Safety facts are used at once."
        on={reviewMemories}
        change={(on) => save({ reviewMemories: on })}
      />
      <Toggle
        label="One memory for all contexts"
        help="Off: each session knows itself only."
        on={crossContext}
        change={(on) => save({ crossContext: on })}
      />
      <fieldset disabled={!crossContext}>
        <legend>Contexts that share</legend>
        {contexts.map((c) => (
          <Toggle
            key={c}
            label={contextLabel(c)}
            on={preferences.contexts[c]?.share ?? true}
            change={(share) => save({ contexts: { ...preferences.contexts, [c]: { share } } })}
          />
        ))}
      </fieldset>
      <label>
        Time zone
        <input
          value={timezone}
          list="zones"
          onChange={(e) => save({ timezone: e.currentTarget.value })}
        />
        <datalist id="zones">
          {Intl.supportedValuesOf('timeZone').map((z) => (
            <option key={z} value={z} />
          ))}
        </datalist>
      </label>
    </div>
  );
}

interface ToggleProps {
  label: string;
  help?: string;
  on: boolean;
  change(on: boolean): void;
}

const Toggle = ({ label, help, on, change }: ToggleProps) => (
  <label class="check">
    <input type="checkbox" checked={on} onChange={(e) => change(e.currentTarget.checked)} /> {label}
    {help && <span class="soft">{help}</span>}
  </label>
);
