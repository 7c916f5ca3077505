export { ThroughlineSnapshots, type SnapshotsOptions } from './snapshots.js';
export { ThroughlineMemoryStore, type StoreOptions } from './store.js';
