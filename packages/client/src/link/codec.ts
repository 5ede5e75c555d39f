import type { Content, Value } from '@isochron/core/ids';
import { Update } from '@isochron/core/updates/update';
import type { ClientFrame, WireContent, WireValue } from '@isochron/wire/session-frames';
import { toBase64 } from '../encoding.js';

/** A message in the form that a socket carries. */
export type Encoded = string | Uint8Array<ArrayBuffer>;

/** An encoding of frames: JSON is built in, `@isochron/sdk/msgpack` is the other one. */
export interface Codec {
  /** Name of the WebSocket subprotocol. */
  readonly subprotocol: string;
  /** A value as this encoding carries it. */
  value(value: Value): WireValue;
  /** One frame, encoded. */
  encode(frame: ClientFrame): Encoded;
  /** Encoded frames, packed into one message. */
  pack(frames: readonly Encoded[]): Encoded;
  /** A message, decoded but not validated. May throw any error when the message is damaged. */
  decode(data: unknown): unknown;
}

/** What a write stores, as an encoding carries it. */
export function wireContent(codec: Pick<Codec, 'value'>, content: Content): WireContent {
  if (content instanceof Update) return { operations: content.operations };
  return content === null ? null : codec.value(content);
}

export const jsonCodec: Codec = {
  subprotocol: 'isochron.v1+json',
  value: (value) => (typeof value === 'string' ? value : { bytes: toBase64(value) }),
  encode: (frame) => JSON.stringify(frame),
  pack: (frames) => (frames.length === 1 ? frames[0]! : `[${frames.join(',')}]`),
  decode: (data) => JSON.parse(data as string),
};
