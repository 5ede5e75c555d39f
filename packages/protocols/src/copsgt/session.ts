/**
 * The client of COPS-GT: its context holds every version that it depends on, directly or not, until that has been in
 * every region for a while.
 */
import type { Dependency } from '@isochron/core';
import { above, mergeDependencies, seenPartsOf } from '../kernel/operations/named-sessions.js';
import { highest, type OperationSessionRules } from '../kernel/operations/session.js';

/** Another version depends on it. */
export const far = ({ key, source, ts }: Dependency): Dependency => ({ key, source, ts });

export const copsGtSession: OperationSessionRules = {
  ...highest,
  depends: {
    merge: (depends, more, seen) => above(mergeDependencies(depends, more), seenPartsOf(seen).horizon),
    /** A write depends on everything before it. */
    wrote: (depends, more, seen) => above(mergeDependencies(depends.map(far), more), seenPartsOf(seen).horizon),
  },
};
