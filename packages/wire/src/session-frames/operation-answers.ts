/**
 * The state of a session of single operations, and the answers to them. A function of the notation: clients of
 * transactions do not load it, and bundlers keep it apart from the notation.
 */
import type { Infer, Notation } from './notation.js';

export function operationAnswers(notation: Notation) {
  const { text, count, timestamp, mark, value, nullable, optional, list, tuple, object, frame } = notation;
  /** Any answer may carry a newer session token. */
  const head = { id: count, token: optional(text) };

  /** A version that a session depends on. */
  const dependency = object({
    key: text,
    /** Position of its region in the cluster file. */
    source: count,
    ts: timestamp,
    near: optional(mark),
  });
  /** The session's dependencies, under protocols whose dependencies name keys. */
  const depends = optional(list(dependency));
  /** In the protocol's entries, to be given back as they came. */
  const entries = list(timestamp);
  const seen = { seen: entries, region: text, depends };

  return {
    dependency,
    seen,
    wireSeen: object(seen),
    /**
     * Answer to `get`, with one value, and to `rot`. The client merges its `seen` with the session's, by the protocol's
     * rule.
     */
    got: frame('got', {
      ...head,
      values: list(nullable(tuple(timestamp, value))),
      seen: entries,
      depends,
      /** The node's stable time. */
      ust: timestamp,
    }),
    /** Answer to `put`: durable. */
    written: frame('written', { ...head, ...seen, ts: timestamp, ust: timestamp }),
  };
}

type OperationAnswers = ReturnType<typeof operationAnswers>;
/** A version that a session depends on. */
export type WireDependency = Infer<OperationAnswers['dependency']>;
/** The state of a session of single operations, and its region: part of every request. */
export type WireSeen = Infer<OperationAnswers['wireSeen']>;
export type GotFrame = Infer<OperationAnswers['got']>;
export type WrittenFrame = Infer<OperationAnswers['written']>;
