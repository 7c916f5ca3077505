// Everything that is held about the user, as a file.
import { useSignal } from '@preact/signals';
import { exportUser } from '../api/calls';
import { plural } from '../format';
import { Failure } from '../parts/state';
import { route } from '../route';

export function Export() {
  const state = useSignal<{ busy?: boolean; records?: number; error?: unknown }>({});
  const run = async () => {
    state.value = { busy: true };
    try {
      const lines: string[] = [];
      for (let after: string | undefined = ''; after !== undefined;) {
        const text = await (await exportUser(after)).text();
        lines.push(...text.trimEnd().split('\n'));
        const last = JSON.parse(lines.pop() ?? '{}') as { kind?: string; after?: string; detail?: string };
        if (last.kind !== 'end' && last.kind !== 'cursor') throw new Error(last.detail ?? 'The export ended early.');
        after = last.after;
      }
      const records = lines.length;
      save([...lines, JSON.stringify({ kind: 'end', records }), ''].join('\n'), `${route.peek().user}.ndjson`);
      state.value = { records };
    } catch (error) {
      state.value = { error };
    }
  };
  return (
    <section>
      <h2>Export</h2>
      <p class="soft">One record a line, with everything that is held about the user.</p>
      <button type="button" disabled={state.value.busy} onClick={() => void run()}>
        {state.value.busy ? 'Exporting' : 'Export as a file'}
      </button>
      {state.value.records !== undefined && <p role="status">{plural(state.value.records, 'record')} exported.</p>}
      {state.value.error !== undefined && <Failure error={state.value.error} />}
    </section>
  );
}

function save(text: string, name: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }));
  const anchor = document.createElement('a');
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(address);
}
