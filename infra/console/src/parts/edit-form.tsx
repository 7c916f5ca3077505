// A form that changes one record in its place. It stays open, with the error, where the change fails.
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Failure } from './state';

interface Props {
  label: string;
  save(values: FormData): Promise<unknown>;
  /** Called when the form is saved or given up. */
  done(): void;
  children: ComponentChildren;
}

export function EditForm({ label, save, done, children }: Props) {
  const error = useSignal<unknown>(undefined);
  const saving = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  // The attribute autofocus has an effect once in the life of a page. The button that opened the form is there again when
  // the form has gone.
  useLayoutEffect(() => {
    const place = form.current!.closest('li, section')!;
    form.current!.querySelector('textarea')?.focus();
    return () => requestAnimationFrame(() => {
      if (document.activeElement === document.body) place.querySelector<HTMLElement>('[data-opens=form]')?.focus();
    });
  }, []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    saving.value = true;
    error.value = undefined;
    try {
      await save(new FormData(event.currentTarget as HTMLFormElement));
      done();
    } catch (failure) {
      error.value = failure;
    } finally {
      saving.value = false;
    }
  };
  const key = (event: KeyboardEvent) => event.key === 'Escape' && done();
  return (
    <form ref={form} class="fields edit" aria-label={label} onSubmit={(e) => void submit(e)} onKeyDown={key}>
      {children}
      {error.value !== undefined && <Failure error={error.value} />}
      <span class="buttons">
        <button type="submit" class="primary" disabled={saving.value}>
          Save
        </button>
        <button type="button" class="quiet" onClick={done}>
          Cancel
        </button>
      </span>
    </form>
  );
}
