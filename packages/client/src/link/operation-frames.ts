/** Validates the frames of single operations: a part of `frames.ts` that other clients do not load. */
import type { Kind, Notation } from '@isochron/wire/session-frames/notation';
import { operationAnswers } from '@isochron/wire/session-frames/operation-answers';
import type { FrameParts } from './frames.js';

/** The checks of a session's state, and of answers. Each throws FRAME_INVALID. */
export function operationFrames({ parserOf }: FrameParts, notation: Notation) {
  const { wireSeen, got, written } = operationAnswers(notation);
  const parser = <R>(kind: Kind<unknown, R>, name: string) => {
    const parse = parserOf(kind);
    return (raw: unknown): R => parse(raw, name);
  };
  return {
    /** A session's state, and the region where it was seen. */
    wireSeen: parser(wireSeen, 'seen'),
    got: parser(got, 'got'),
    written: parser(written, 'written'),
  };
}
