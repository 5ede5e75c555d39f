export type { RecordKind, RecordName } from './disk-keys.js';
export { CorruptRecord, type Damage, isOutOfRoom } from './failure.js';
export { type LevelStoreOptions, openLevelStore } from './level-store.js';
export { LogRecords } from './log-records.js';
export * from './memory-store.js';
export * from './placement.js';
export { ReopenableStore } from './reopenable-store.js';
export * from './store.js';
