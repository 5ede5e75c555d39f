export * from './host.js';
export * from './machine.js';
export * from './paris/messages.js';
export * from './paris/node.js';
export { parisSchema } from './paris/schema.js';
export * from './paris/session.js';
export * from './paris/settings.js';
export { stalenessOf } from './paris/stabilization.js';
