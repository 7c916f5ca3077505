// A button that asks once more before it does something that cannot be undone.
import { useSignal } from '@preact/signals';
import { errorText } from '../format';

interface Props {
  label: string;
  sure?: string;
  act(): Promise<unknown>;
}

export function Confirm({ label, sure = 'Really?', act }: Props) {
  const asked = useSignal(false);
  const failed = useSignal('');
  const click = async () => {
    if (!asked.value) {
      asked.value = true;
      return;
    }
    asked.value = false;
    try {
      await act();
    } catch (error) {
      failed.value = errorText(error);
    }
  };
  return (
    <>
      <button type="button" class={asked.value ? 'danger' : 'quiet'} onBlur={() => (asked.value = false)} onClick={() => void click()}>
        {asked.value ? sure : label}
      </button>
      {failed.value && <span class="warning">{failed.value}</span>}
    </>
  );
}
