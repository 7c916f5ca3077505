import type {
  LanguageModelV4Content, LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResult, LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import { escape, type Part, type Turn } from '@throughline/client/adapter';

/** The last turn of a call's prompt. */
export interface UserTurn {
  /** The position of the user's message. */
  at: number;
  /** What the user said. It is empty for a message without a text. */
  text: string;
  /** The answer so far: the steps between the user's message and this call. */
  steps: LanguageModelV4Message[];
  /** Is equal for two calls of one turn, such as the steps of tools. */
  fingerprint: string;
}

/** Finds the last message of the user, or undefined where a prompt has none. */
export function lastTurn(prompt: LanguageModelV4Prompt): UserTurn | undefined {
  const at = prompt.findLastIndex((message) => message.role === 'user');
  const message = prompt[at];
  if (message?.role !== 'user') return undefined;
  const text = message.content.filter((part) => part.type === 'text').map((part) => part.text).join('\n');
  const said = prompt.slice(0, at + 1).map(({ role, content }) => [role, content]);
  return { at, text, steps: prompt.slice(at + 1), fingerprint: JSON.stringify(said, withoutFiles) };
}

/** Returns a prompt with the memory before the user's words, in the user's message. */
export function insert(
  prompt: LanguageModelV4Prompt, { at }: UserTurn, memory: string, history: LanguageModelV4Message[] | undefined,
): LanguageModelV4Prompt {
  const message = prompt[at] as Extract<LanguageModelV4Message, { role: 'user' }>;
  const said = message.content.map((part) => part.type === 'text' ? { ...part, text: escape(part.text) } : part);
  const content = memory === '' ? message.content : [{ type: 'text' as const, text: memory }, ...said];
  const before = prompt.slice(0, at);
  return [
    ...(history ? [...before.filter(({ role }) => role === 'system'), ...history] : before),
    { ...message, content }, ...prompt.slice(at + 1),
  ];
}

/** Returns the conversation before a turn's message, as the memory has it. */
export function historyOf({ prompt }: Turn): LanguageModelV4Message[] {
  const said = (prompt?.messages ?? []).slice(0, -1).filter(({ role }) => role === 'user' || role === 'assistant');
  return said.map(({ role, content }) => ({
    role: role as 'user' | 'assistant', content: [{ type: 'text', text: content }],
  }));
}

type Said = Exclude<LanguageModelV4Message['content'], string>[number];

/** Returns what is stored of an answer: of the steps before the last call, and of the last call. */
export function partsOf(steps: LanguageModelV4Message[], content: LanguageModelV4Content[], tools: boolean): Part[] {
  const said = steps.flatMap((message): Said[] => typeof message.content === 'string' ? [] : message.content);
  const all: (Said | LanguageModelV4Content)[] = [...said, ...content];
  return all.flatMap((part): Part[] => {
    switch (part.type) {
      case 'text': return part.text === '' ? [] : [{ type: 'text', text: part.text }];
      case 'tool-call': {
        const { toolCallId, toolName } = part;
        return tools ? [{ type: 'tool-call', toolCallId, toolName, input: parsed(part.input) }] : [];
      }
      case 'tool-result': {
        const { toolCallId, toolName } = part;
        return tools ? [{ type: 'tool-result', toolCallId, toolName, ...resultOf(part) }] : [];
      }
    }
    return [];
  });
}

/** Returns a result as the tool returned it, without what the AI SDK wraps it in for the model. */
function resultOf(part: LanguageModelV4ToolResult | LanguageModelV4ToolResultPart): { output: unknown; isError?: boolean } {
  if (!('output' in part)) return { output: part.result, ...(part.isError && { isError: true }) };
  const { output } = part;
  const isError = output.type === 'error-text' || output.type === 'error-json' || output.type === 'execution-denied';
  const value = output.type === 'execution-denied' ? output.reason ?? 'the tool was not allowed to run' : output.value;
  return { output: value, ...(isError && { isError }) };
}

function parsed(input: unknown): unknown {
  try {
    return typeof input === 'string' ? JSON.parse(input) as unknown : input;
  } catch {
    return input;
  }
}

function withoutFiles(name: string, value: unknown): unknown {
  return name === 'providerOptions' || value instanceof Uint8Array ? undefined : value;
}
