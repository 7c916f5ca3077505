// What the user has chosen, what is exported, and how everything is erased.
import { isLocal } from '../config';
import { route } from '../route';
import { Coaches } from './coaches';
import { Erase } from './erase';
import { Export } from './export';
import { Import } from './import';
import { PreferencesForm } from './preferences';

export function Settings() {
  const { user } = route.value;
  return (
    <main class="page-body settings">
      <h1>Settings</h1>
      <div class="columns">
        <div>
          <PreferencesForm />
          <Coaches />
        </div>
        <div>
          <Export />
          {isLocal() && <Import />}
          <Erase user={user} />
        </div>
      </div>
    </main>
  );
}
