import { type ChatTransportOptions, ThroughlineChatTransport } from '@throughline/client/chat';
import type { ChatTransport, UIMessage } from 'ai';

export { type ChatTransportOptions, ThroughlineChatTransport };

/** Returns the transport for useChat({ transport }). Its type says that it is one of the AI SDK. */
export function chatTransport<MESSAGE extends UIMessage = UIMessage>(options: ChatTransportOptions): ChatTransport<MESSAGE> {
  return new ThroughlineChatTransport(options);
}
