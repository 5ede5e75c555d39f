/** The highest snapshots that sessions have seen. */
import type { Deps, Timestamp } from '@isochron/core';
import type { ReadReq, ReadResp, SessionRules, Snapshot } from '@isochron/protocols';

/** The snapshot of a new session. */
export const NOTHING_SEEN: Snapshot = { ts: 0 };

/** A session's highest snapshot, raised so far that it shows every own write up to `ts`. */
export const raisedTo = (rules: SessionRules, seen: Snapshot, ts: Timestamp): Snapshot =>
  rules.covers(seen) >= ts ? seen : rules.merge(seen, { ts, deps: seen.deps });

/** Whether a snapshot has everything up to a timestamp, from every region. */
export const hasAllUpTo = (rules: SessionRules, seen: Snapshot, ts: Timestamp): boolean =>
  sameSnapshot(rules.merge(seen, { ts }), seen);

/**
 * A request's fields for its snapshot: exactly this one (`at`), or at least the session's highest one. A read of the
 * past needs no more than that past.
 */
export const wanted = (seen: Snapshot, at: Snapshot | null): Pick<ReadReq, 'ust' | 'at' | 'deps'> =>
  at === null
    ? { ust: seen.ts, at: null, deps: seen.deps }
    : { ust: Math.min(seen.ts, at.ts), at: at.ts, deps: at.deps };

/** The snapshot of an answer. */
export const snapshotOf = ({ snapshot, deps }: Pick<ReadResp, 'snapshot' | 'deps'>): Snapshot => ({
  ts: snapshot,
  deps,
});

/** The entries beside a snapshot's timestamp as a field, if there are any. */
export const depsField = ({ deps }: Snapshot): { readonly deps?: Deps } => (deps === undefined ? {} : { deps });

/** Whether two snapshots are equal, entry by entry. */
export function sameSnapshot(a: Snapshot, b: Snapshot): boolean {
  if (a.ts !== b.ts || a.deps?.length !== b.deps?.length) return false;
  return a.deps === b.deps || (a.deps ?? []).every((entry, i) => entry === b.deps![i]);
}
