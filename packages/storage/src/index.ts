export { CorruptRecord, type Damage, isOutOfRoom } from './failure.js';
export type { RecordKind, RecordName } from './level/disk-keys.js';
export { type LevelStoreOptions, openLevelStore } from './level-store.js';
export * from './memory/memory-store.js';
export * from './placement.js';
export { ReopenableStore } from './reopenable-store.js';
export * from './store.js';
export { LogRecords } from './wal/log-records.js';
