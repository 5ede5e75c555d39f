export * from './close-codes.js';
export * from './delay-line.js';
export * from './envelope.js';
export * from './identity.js';
export * from './in-memory.js';
export * from './options.js';
export type { PackedFrame } from './packing.js';
export * from './transport.js';
export * from './websocket.js';
