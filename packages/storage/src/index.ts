export type { RecordKind, RecordName } from './disk-keys.js';
export { CorruptRecord, type Damage } from './failure.js';
export * from './level-store.js';
export * from './memory-store.js';
export * from './placement.js';
export * from './store.js';
