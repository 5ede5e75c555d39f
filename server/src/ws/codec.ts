/**
 * The two encodings of session frames. Answers gather in a list and leave packed: one WebSocket message for one turn of
 * the event loop.
 */
import { nestedTooDeeply, type Value, type Version } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import { type FrameEncoder, PlainFrames } from '@isochron/sessions';
import { pack, unpack } from '@isochron/wire/msgpack';
import { SESSION_SUBPROTOCOLS, type ServerFrame } from '@isochron/wire/session-frames';
import { base64 } from '../http/one-shots/reader.js';

/** An encoded frame, to be packed into a message. */
export type Encoded = string | object;

/** One encoding. Documents are inserted into the answers to reads unparsed. */
export interface Codec extends FrameEncoder<Encoded> {
  /** Frames of a message. @throws when it cannot be decoded */
  decode(data: Buffer, isBinary: boolean): unknown;
  /** One message of all frames. */
  pack(frames: readonly Encoded[]): string | Uint8Array;
}

/** `isochron.v1+json`: text messages. */
class JsonCodec implements Codec {
  decode(data: Buffer, isBinary: boolean): unknown {
    if (isBinary) throw new Error('a binary message under the JSON subprotocol');
    const text = data.toString('utf8');
    // Documents are strings in a frame, and frames are flat.
    if (nestedTooDeeply(text)) throw new Error('nested too deeply');
    return JSON.parse(text);
  }

  frame(frame: ServerFrame): string {
    return JSON.stringify(frame);
  }

  values(id: number, snapshot: Snapshot, versions: readonly (Version | null)[], token: string | undefined): string {
    const { ts, deps } = snapshot;
    let text = `{"type":"values","id":${id},"snapshot":${ts},${deps === undefined ? '' : `"deps":[${deps}],`}"values":[`;
    for (let i = 0; i < versions.length; i++) {
      const version = versions[i];
      if (i > 0) text += ',';
      if (version == null || version.value === null) text += 'null';
      else text += `[${version.ts},${this.#text(version.value)}]`;
    }
    return token === undefined ? `${text}]}` : `${text}],"token":"${token}"}`;
  }

  value(value: Value): string | { readonly bytes: string } {
    return typeof value === 'string' ? value : { bytes: base64(value) };
  }

  pack(frames: readonly Encoded[]): string {
    return frames.length === 1 ? String(frames[0]) : `[${frames.join(',')}]`;
  }

  #text(value: Value): string {
    return typeof value === 'string' ? JSON.stringify(value) : `{"bytes":"${base64(value)}"}`;
  }
}

/** `isochron.v1+msgpack`: binary messages. */
class MsgpackCodec extends PlainFrames implements Codec {
  decode(data: Buffer, isBinary: boolean): unknown {
    if (!isBinary) throw new Error('a text message under the MessagePack subprotocol');
    return unpack(data);
  }

  pack(frames: readonly Encoded[]): Uint8Array {
    return pack(frames.length === 1 ? frames[0] : frames);
  }
}

const json = new JsonCodec();
const msgpack = new MsgpackCodec();

/** The codec of a subprotocol; JSON when the client offered none; undefined for an unknown subprotocol. */
export function codecOf(subprotocol: string): Codec | undefined {
  if (subprotocol === '' || subprotocol === SESSION_SUBPROTOCOLS.json) return json;
  return subprotocol === SESSION_SUBPROTOCOLS.msgpack ? msgpack : undefined;
}
