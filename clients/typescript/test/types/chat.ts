import type { Client } from '@throughline/client';
import { ThroughlineChatTransport } from '@throughline/client/chat';
import type { ChatTransport, UIMessage } from 'ai';

export async function history(client: Client): Promise<UIMessage[]> {
  const { items } = await client.listUiMessages('coach', { order: 'desc', limit: 50 }).page();
  return items.reverse();
}

export const transport = (client: Client): ChatTransport<UIMessage> => new ThroughlineChatTransport({ client });
