import type { CallModelInputFilter } from '@openai/agents';
import { addMemory, textOf, withoutMemory } from './items.js';
import type { ThroughlineSession } from './session.js';

/**
 * Returns a filter for the option callModelInputFilter of a run. It puts the memory before the user's last words, for the
 * model only: the session keeps the words as they are. The steps of a turn read the memory once.
 */
export function withMemory(session: ThroughlineSession): CallModelInputFilter<any> {
  return async ({ modelData }) => {
    const input = [...modelData.input];
    const at = input.findLastIndex((item) => 'role' in item && item.role === 'user');
    if (at < 0) return modelData;
    const item = withoutMemory(input[at]!);
    const text = textOf(item);
    if (text === '') return modelData;
    const memory = await session.recall(text, at);
    input[at] = memory === '' ? item : addMemory(item, memory);
    return { ...modelData, input };
  };
}
