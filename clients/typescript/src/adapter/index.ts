/** What the adapters for JavaScript frameworks share. */
export { blockOf, type Built, escape, memoryOf, unwrap, wrap } from './block.js';
export { isOutage, soft, type Softness } from './soft.js';
export { storeLater, storeWaiting } from './late.js';
export { tools } from './tools.js';
export {
  type Answer, beginTurn, digest, inSession, isProblem, type Part, type Place, readTurn, type Replaces, type Turn,
} from './turn.js';
