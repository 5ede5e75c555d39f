/** Validates the frames of single operations: a part of `frames.ts` that other clients do not load. */
import type { Timestamp } from '@isochron/core/ids';
import type { GotFrame, WireDependency, WireSeen, WrittenFrame } from '@isochron/wire/session-frames';
import type { FrameParts, Parse, Values } from './frames.js';

/** `got` with its bytes decoded. */
export interface Got extends Pick<GotFrame, 'seen' | 'depends' | 'ust'> {
  readonly values: Values['values'];
}

export type Written = WireSeen & Pick<WrittenFrame, 'ts' | 'ust'>;

/** The checks of a session's state, and of answers. Each throws FRAME_INVALID. */
export function operationFrames({ shape, listOf, optional, text, count, timestamp, timestamps, version }: FrameParts) {
  const isNear: Parse<true | undefined> = (raw) => (raw === true ? raw : undefined);
  const dependency = shape<WireDependency>({ key: text, source: count, ts: timestamp, near: isNear });
  const depends = optional(listOf(dependency));
  const seen = { seen: timestamps, region: text, depends };
  const stable: Parse<Timestamp> = timestamp;
  const wireSeen = shape<WireSeen>(seen);
  const got = shape<Got>({ values: listOf(version), seen: timestamps, depends, ust: stable });
  const written = shape<Written>({ ...seen, ts: timestamp, ust: stable });
  return {
    /** A session's state, and the region where it was seen. */
    wireSeen: (raw: unknown): WireSeen => wireSeen(raw, 'seen'),
    got: (raw: unknown): Got => got(raw, 'got'),
    written: (raw: unknown): Written => written(raw, 'written'),
  };
}
