// Compiled only: each format is what its provider's library takes, and names of an app's own are texts.
import Anthropic from '@anthropic-ai/sdk';
import { Client, type ChatEvent } from '@throughline/client';
import { generateText, type LanguageModel } from 'ai';
import OpenAI from 'openai';

export async function formats(client: Client, model: LanguageModel, openai: OpenAI, anthropic: Anthropic): Promise<void> {
  const said = { sessionId: 's', context: 'desk_chat', message: 'Hi' };
  const chat = await client.buildPrompt({ ...said, format: 'openai-chat' });
  await openai.chat.completions.create({ model: 'm', ...chat.openaiChat });
  const responses = await client.buildPrompt({ ...said, format: 'openai-responses' });
  await openai.responses.create({ model: 'm', ...responses.openaiResponses });
  const messages = await client.buildPrompt({ ...said, format: 'anthropic' });
  await anthropic.messages.create({ model: 'm', max_tokens: 9, ...messages.anthropic });
  const parts = await client.buildPrompt({ ...said, format: 'parts' });
  await generateText({ model, ...parts.parts });
  const none = await client.buildPrompt(said);
  // @ts-expect-error A format that was not asked for may be absent.
  none.openaiChat.messages;
  await client.turn({ sessionId: 's', message: 'Hi', format: 'openai-chat' }, async ({ prompt }) => {
    const { choices: [choice] } = await openai.chat.completions.create({ model: 'm', ...prompt.openaiChat });
    return { content: choice?.message.content ?? '' };
  });
}

export async function ownNames(client: Client): Promise<void> {
  await client.createSession({ context: 'desk_chat', coachId: 'max' });
  await client.createMemory({ content: 'Likes tea', type: 'TASTE' });
  await client.searchMemories({ query: 'tea', types: ['TASTE'] });
  // @ts-expect-error A format is one of the API's.
  await client.buildPrompt({ sessionId: 's', context: 'desk_chat', message: 'Hi', format: 'other' });
}

export function narrowed(event: ChatEvent): string {
  if (event.event === 'token') return event.data.text;
  return event.event === 'done' ? event.data.messageId : event.data.promptId;
}
