/** The frames that a node sends to a session, before they are encoded. */
import type { Value, Version } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { AnswerFrame, ServerFrame, ValuesFrame, WireValue } from '@isochron/wire/session-frames';
import { depsField } from '../snapshot.js';

/** Encodes frames for one connection. */
export interface FrameEncoder<Encoded> {
  frame(frame: ServerFrame): Encoded;
  /** The answer to a read, the hot one: an encoder may write it without a frame in between. */
  values(id: number, snapshot: Snapshot, versions: readonly (Version | null)[], token: string | undefined): Encoded;
  value(value: Value): WireValue;
}

/** An answer that may be large: it is encoded when it can leave. */
export interface LargeAnswer {
  /** Its approximate bytes. */
  readonly bytes: number;
  encode<Encoded>(encoder: FrameEncoder<Encoded>): Encoded;
}

/** An answer: a frame, or a large answer that becomes one. */
export type Answer = AnswerFrame | LargeAnswer;

/** Data for a connection to send. */
export type Outgoing = ServerFrame | LargeAnswer;

export const isLarge = (outgoing: Outgoing): outgoing is LargeAnswer => 'encode' in outgoing;

/** Frames as objects, for encodings and networks that carry objects. Bytes stay bytes. */
export class PlainFrames implements FrameEncoder<ServerFrame> {
  frame(frame: ServerFrame): ServerFrame {
    return frame;
  }

  values(
    id: number,
    snapshot: Snapshot,
    versions: readonly (Version | null)[],
    token: string | undefined,
  ): ValuesFrame {
    const values = versions.map((v) => (v == null || v.value === null ? null : ([v.ts, v.value] as const)));
    const own = token === undefined ? {} : { token };
    return { type: 'values', id, snapshot: snapshot.ts, ...depsField(snapshot), values, ...own };
  }

  value(value: Value): Value {
    return value;
  }
}
