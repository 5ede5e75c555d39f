/**
 * MessagePack for `connect({ codec })`. It brings no encoder of its own:
 *
 * ```ts
 * import { pack, unpack } from 'msgpackr';
 * const client = await connect({ endpoints, codec: msgpack({ pack, unpack }) });
 * ```
 */
import type { Codec } from '@isochron/client/link/codec';

/** An encoder and decoder of plain MessagePack (no extensions), as `msgpackr` and `@msgpack/msgpack` have them. */
export interface MessagePack {
  pack(value: unknown): Uint8Array;
  unpack(bytes: Uint8Array): unknown;
}

/** Header of an array of `length` items. */
const arrayHeader = (length: number): number[] =>
  length < 16 ? [0x90 | length] : length < 0x10000 ? [0xdc, length >> 8, length & 0xff] : arrayHeader32(length);

const arrayHeader32 = (n: number): number[] => [0xdd, n >>> 24, (n >>> 16) & 0xff, (n >>> 8) & 0xff, n & 0xff];

function concat(frames: readonly (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const parts = frames.filter((frame) => typeof frame !== 'string');
  const header = arrayHeader(parts.length);
  const message = new Uint8Array(parts.reduce((sum, part) => sum + part.length, header.length));
  message.set(header);
  let offset = header.length;
  for (const part of parts) {
    message.set(part, offset);
    offset += part.length;
  }
  return message;
}

/** Frames as MessagePack (`isochron.v1+msgpack`): smaller than JSON where values are bytes. */
export const msgpack = ({ pack, unpack }: MessagePack): Codec => ({
  subprotocol: 'isochron.v1+msgpack',
  value: (value) => value,
  // The encoder may return a view of a buffer that it reuses.
  encode: (frame) => new Uint8Array(pack(frame)),
  pack: (frames) => (frames.length === 1 ? frames[0]! : concat(frames)),
  decode: (data) => unpack(new Uint8Array(data as ArrayBuffer)),
});
