export { memoryMiddleware, withMemory } from './middleware.js';
export type { CallOptions, MemoryOptions } from './options.js';
export { memoryTools, type ToolOptions } from './tools.js';
export { chatTransport, type ChatTransportOptions, ThroughlineChatTransport } from './transport.js';
