import type { AIMessage, BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import type { Part } from '@throughline/client/adapter';

/** The last turn of a conversation. */
export interface Turn {
  /** The user's message, or undefined where the user has said nothing. */
  said: HumanMessage | undefined;
  /** The answer so far. */
  steps: BaseMessage[];
}

export const isAnswer = (message: BaseMessage | undefined): message is AIMessage => message?.type === 'ai';
const isResult = (message: BaseMessage): message is ToolMessage => message.type === 'tool';
const isUser = (message: BaseMessage): message is HumanMessage => message.type === 'human';

/** Finds the user's last message, and what follows it. */
export function lastTurn(messages: BaseMessage[]): Turn {
  const at = messages.findLastIndex(isUser);
  return { said: messages.slice(at).find(isUser), steps: messages.slice(at + 1) };
}

/** Returns the texts of an answer. */
export function textOf(steps: BaseMessage[]): string {
  return steps.filter(isAnswer).map(({ text }) => text).filter((text) => text !== '').join('\n');
}

/** Returns the texts, the calls of tools and their results. */
export function partsOf(steps: BaseMessage[]): Part[] {
  const names = new Map<string, string>();
  return steps.flatMap((step): Part[] => {
    if (isAnswer(step)) {
      const calls = (step.tool_calls ?? []).map(({ id = '', name, args }): Part => {
        names.set(id, name);
        return { type: 'tool-call', toolCallId: id, toolName: name, input: args };
      });
      return step.text === '' ? calls : [{ type: 'text', text: step.text }, ...calls];
    }
    if (!isResult(step)) return [];
    const { tool_call_id: toolCallId, name = names.get(toolCallId) ?? 'tool', text: output, status } = step;
    return [{ type: 'tool-result', toolCallId, toolName: name, output, ...(status === 'error' && { isError: true }) }];
  });
}

/** Returns the tokens that the steps used, and the model. */
export function aboutOf(steps: BaseMessage[]): Record<string, unknown> {
  const answers = steps.filter(isAnswer);
  const used = answers.flatMap(({ usage_metadata: usage }) => usage ?? []);
  const sum = (name: 'input_tokens' | 'output_tokens') => used.reduce((all, one) => all + one[name], 0);
  const [promptTokens, completionTokens] = [sum('input_tokens'), sum('output_tokens')];
  const model: unknown = answers.at(-1)?.response_metadata['model_name'];
  return {
    ...(used.length > 0 && { usage: { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens } }),
    ...(typeof model === 'string' && { model }),
  };
}
