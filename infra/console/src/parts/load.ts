// Loads what a screen shows, again when what it depends on changes.
import { useCallback, useEffect, useState } from 'preact/hooks';
import { Unreachable, whenBack } from '../api/reach';

export interface Loaded<T> {
  data?: T;
  error?: unknown;
  reload(): Promise<void>;
  set(data: T): void;
}

/** Calls load when the screen opens and when a dependency changes. A reload keeps the old data until the new is there. */
export function useLoad<T>(load: () => Promise<T>, dependencies: unknown[]): Loaded<T> {
  const [state, setState] = useState<{ data?: T; error?: unknown; of?: unknown[] }>({});
  const reload = useCallback(async () => {
    try {
      const data = await load();
      setState({ data, of: dependencies });
    } catch (error) {
      setState((old) => ({ data: old.of === dependencies ? old.data : undefined, error, of: dependencies }));
    }
  }, dependencies);
  useEffect(() => {
    let current = true;
    setState({});
    load().then(
      (data) => current && setState({ data, of: dependencies }),
      (error: unknown) => current && setState({ error, of: dependencies }),
    );
    return () => {
      current = false;
    };
  }, dependencies);
  const set = useCallback((data: T) => setState({ data, of: dependencies }), dependencies);
  useAgain(state.error, () => void reload());
  return { ...state, reload, set };
}

/** Calls again when the stack is back, where the error says that it did not answer. */
export function useAgain(error: unknown, again: () => void): void {
  useEffect(() => (error instanceof Unreachable ? whenBack(again) : undefined), [error]);
}
