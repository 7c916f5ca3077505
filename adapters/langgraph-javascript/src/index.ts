export { Memory, type MemoryOptions, MemoryState, withMemory } from './memory.js';
export { ThroughlineStore, type StoreOptions } from './store.js';
export { memoryTools, type ToolOptions } from './tools.js';
