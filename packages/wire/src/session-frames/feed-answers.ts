/**
 * The answers to requests for changes. A function of the notation, as in `operation-answers.ts`: clients that ask for
 * no changes do not load it.
 */
import type { Infer, Notation } from './notation.js';

export function feedAnswers(notation: Notation) {
  const { text, count, timestamp, mark, value, content, nullable, optional, list, tuple, object, frame } = notation;
  /** Any answer may carry a newer session token. */
  const head = { id: count, token: optional(text) };

  /** A write of a transaction, with the documents that were asked for. */
  const write = object({
    key: text,
    value: content,
    /** With `values`, of an update: the document at the commit timestamp; null if there is none. */
    after: optional(nullable(value)),
    /** The version of the document is not kept any more. */
    afterGone: optional(mark),
    /** With `before`: the document just below the commit timestamp; null if there was none. */
    before: optional(nullable(value)),
    beforeGone: optional(mark),
  });

  return {
    /** Answer to `changes`: all transactions of the scope with `from < ts <= to`, in the order `(ts, tx)`. */
    changes: frame('changes', {
      ...head,
      from: timestamp,
      /** Nothing at or below here will come later. */
      to: timestamp,
      transactions: list(object({ tx: text, ts: timestamp, writes: list(write) })),
    }),
    /** Answer to `live`: everything in the scopes of the connection after the request's `after`, up to `to`. */
    live: frame('live', {
      ...head,
      /** Not below `after`. */
      to: timestamp,
      /**
       * `[key, contents]`: from the newest write on that is no update, each `[commit timestamp, transaction, content]`.
       * The client folds them, and lays its own writes over the result (LQ2).
       */
      changes: list(tuple(text, list(tuple(timestamp, text, content)))),
      /** Scopes that have ended at `to`, by their numbers, with the code and the sentence of the refusal (AR4). */
      ended: optional(list(tuple(count, text, text))),
    }),
  };
}

type FeedAnswers = ReturnType<typeof feedAnswers>;
export type ChangesAnswerFrame = Infer<FeedAnswers['changes']>;
export type LiveAnswerFrame = Infer<FeedAnswers['live']>;
