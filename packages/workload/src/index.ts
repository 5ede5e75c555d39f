export * from './choose.js';
export * from './history.js';
export * from './mix.js';
export * from './operations.js';
export * from './zipfian.js';
