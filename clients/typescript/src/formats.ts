/** The field of a prompt for each format that can be asked for. */
interface Fields {
  'openai-chat': 'openaiChat';
  'openai-responses': 'openaiResponses';
  anthropic: 'anthropic';
  'bedrock-converse': 'bedrockConverse';
  parts: 'parts';
}

type WithField<T, F> = F extends keyof Fields ? T & { [Name in Fields[F] & keyof T]-?: NonNullable<T[Name]> } : T;

/** An answer of a call with a body B: its prompt has the field of the format that B asks for. */
export type Formatted<T, B> = B extends { format: infer F }
  ? T extends { prompt: infer P } ? Omit<T, 'prompt'> & { prompt: WithField<P, F> } : WithField<T, F>
  : T;
