/**
 * The frames of `/v1/session`, the WebSocket between an SDK and a node. A WebSocket message holds one frame or an array
 * of frames, as JSON (`isochron.v1+json`) or MessagePack (`isochron.v1+msgpack`); both have these shapes.
 *
 * A document travels as its JSON text. The node that takes a write checks it and stores its normal form (F8); no node
 * after that parses or rewrites it. Bytes travel as `{ bytes: base64 }` in JSON and as binary in MessagePack. Keys are
 * qualified: `default/todos/1`.
 *
 * Requests carry an `id` that rises with every request on a connection, and may be pipelined up to the number of
 * credits that `welcome` granted. Answers carry the id of their request and may come in any order.
 *
 * Each frame is declared once, as a value; its type is inferred from it.
 */
export type * from './session-frames/answers.js';
export type { AuthenticatedFrame } from './session-frames/authenticated.js';
export type * from './session-frames/feed-answers.js';
export type { WireContent, WireUpdate, WireValue } from './session-frames/notation.js';
export type * from './session-frames/operation-answers.js';
export type * from './session-frames/queue-answers.js';
export type * from './session-frames/requests.js';
export type * from './session-frames/store-fields.js';

/** WebSocket subprotocols of a session. `channels/entries.ts` has that of a shared socket. */
export const SESSION_SUBPROTOCOLS = { json: 'isochron.v1+json', msgpack: 'isochron.v1+msgpack' } as const;

/** Close codes of `/v1/session`. 1009 and 1012 are the standard's *message too big* and *service restart*. */
export const SESSION_CLOSE = {
  tooLarge: 1009,
  restart: 1012,
  protocolError: 4400,
  unauthenticated: 4401,
  originNotAllowed: 4403,
} as const;
