export { withMemory } from './memory.js';
export { type SessionOptions, ThroughlineSession } from './session.js';
export { memoryTools, type ToolOptions } from './tools.js';
