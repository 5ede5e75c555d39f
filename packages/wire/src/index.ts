export * from './frame.js';
export * from './handshake.js';
export * from './hello.js';
export * from './packed-size.js';
export * from './proof.js';
