export * from './history.js';
export * from './mix.js';
export * from './zipfian.js';
