/**
 * The client of CC-LO: it depends on its reads since its last write, and on that write; its read-only transactions
 * have ids.
 */
import { above, mergeDependencies, seenPartsOf } from '../kernel/operations/named-sessions.js';
import { highest, type OperationSessionRules } from '../kernel/operations/session.js';

export const ccLoSession: OperationSessionRules = {
  ...highest,
  depends: {
    merge: (depends, more, seen) => above(mergeDependencies(depends, more), seenPartsOf(seen).horizon),
    /** A write depends on everything before it, so it alone is nearest. */
    wrote: (_depends, more) => more,
  },
  rotId: (session) => session.nextTxId(),
};
