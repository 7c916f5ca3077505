/** A part of a UI message, as the AI SDK has it. */
export type UiPart =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'file'; mediaType: string; filename?: string; url: string }
  | { type: `data-${string}`; data: unknown }
  | { type: `tool-${string}`; toolCallId: string } & (
    | { state: 'input-available'; input: unknown }
    | { state: 'output-available'; input: unknown; output: unknown }
    | { state: 'output-error'; input: unknown; errorText: string }
  );
