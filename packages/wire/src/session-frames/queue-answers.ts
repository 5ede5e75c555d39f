/**
 * The answers about commits of a queue. A function of the notation, as in `operation-answers.ts`: clients without a
 * queue do not load it.
 */
import type { Infer, Notation } from './notation.js';

export function queueAnswers({ text, count, optional, mark, nullable, list, timestamp, frame }: Notation) {
  const head = { id: count, token: optional(text) };
  return {
    /** Answer to `commit` with a `queue`, with the fields of every `committed`, too. */
    counted: frame('committed', {
      ...head,
      ts: timestamp,
      /** Only a later commit of the queue shows this commit (OF2), which lies at or below `ts`. */
      upTo: optional(mark),
    }),
    /** Answer to `settle`: both ends are definite (OF3). */
    settled: frame('settled', {
      ...head,
      /** The commit timestamp; null of a transaction that has no effect, and never will. */
      ts: nullable(timestamp),
      upTo: optional(mark),
      /** Version of the map that the commit timestamp belongs to, as in `committed`. */
      map: optional(count),
      /** As in `committed`. */
      nodes: optional(list(count)),
    }),
  };
}

type QueueAnswers = ReturnType<typeof queueAnswers>;
export type CountedCommitFrame = Infer<QueueAnswers['counted']>;
export type SettledFrame = Infer<QueueAnswers['settled']>;
