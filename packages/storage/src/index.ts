export * from './level-store.js';
export * from './memory-store.js';
export * from './placement.js';
export * from './store.js';
