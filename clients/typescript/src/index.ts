export { Client, type ClientOptions, type Line, type Options } from './client.js';
export type { ChatEvent } from './chat.js';
export { ConnectionError, ProblemError, TimeoutError } from './errors.js';
export { type Page, Pages } from './pages.js';
export { decodeSessionId, encodeSessionId } from './session-id.js';
export type { TokenSource } from './tokens.js';
export * from './operations.js';
