/**
 * The Wren session (Algorithm 1): it has seen a snapshot, and keeps its own writes above its `lt` (CANToR's client-side
 * cache).
 *
 * What it has seen names the region that it belongs to. A commit whose home was another region than its snapshot's
 * makes it belong to none: from then on it has seen everything up to one timestamp, and the next start waits for that
 * in any region (D9).
 *
 * Invariant: the cache holds every own write that a snapshot at or above what was seen may lack.
 */
import type { Timestamp } from '@isochron/core';
import type { SessionRules } from '../kernel/transactions/session.js';
import type { Snapshot } from '../kernel/transactions/snapshots.js';
import { ENTRIES, NOWHERE, type Parts, partsOf, reachOf, snapshotOf } from './snapshot.js';

export const wrenSession: SessionRules = {
  merge: (seen, more) => mergeParts(seen, more, partsOf(seen), partsOf(more)),

  /** Alg. 1 line 29. */
  committed(seen, commit, snapshot) {
    if (commit.deps?.length === ENTRIES) return wrenSession.merge(seen, commit); // nothing was written
    const home = commit.deps === undefined ? NOWHERE : (commit.deps[1] ?? partsOf(snapshot).place);
    const { lt, rt, place, hwt } = partsOf(seen);
    if (reachOf({ lt, rt, place, hwt }) === 0) return snapshotOf({ lt, rt, place: home, hwt: commit.ts });
    // A commit that was sent with a snapshot of no region depends on more than its session has seen from elsewhere: a
    // snapshot of this region at `commit.ts` need not have it yet.
    const [rdt] = commit.deps?.length === 2 ? commit.deps : [0];
    if (home !== place || home === NOWHERE || rdt! > rt) return everything(Math.max(lt, rt, hwt, commit.ts));
    return snapshotOf({ lt, rt, place, hwt: Math.max(hwt, commit.ts) });
  },

  /**
   * In its region a commit depends on `rt`, and on earlier own commits by `hwt`. One that had another home is remote
   * here, above `rt`: what was seen belongs to no region then, and the commit depends on all of it (W11).
   */
  depending(snapshot, seen) {
    const [a, b] = [partsOf(snapshot), partsOf(seen)];
    return a.place === b.place && b.rt <= a.rt ? snapshot : mergeParts(snapshot, seen, a, b);
  },

  /** A copy's writes belong to its region, as a commit's do. */
  adopted(seen, copy) {
    const { place, hwt } = partsOf(copy);
    const { lt, rt } = partsOf(seen);
    return hwt <= Math.min(lt, rt) ? seen : wrenSession.committed(seen, { ts: hwt, deps: [0, place] }, seen);
  },

  /**
   * The snapshot's `rt` is not above its `lt`, so nothing from elsewhere can be newer than an own write that the
   * snapshot lacks.
   */
  covers: (snapshot): Timestamp => partsOf(snapshot).lt,

  /** UST is installed in its region too: a session that only writes can drop own writes below it. */
  stable(seen, ust) {
    const { lt, rt, place, hwt } = partsOf(seen);
    return place === NOWHERE ? seen : snapshotOf({ lt: Math.max(lt, ust), rt, place, hwt });
  },
};

/**
 * In one region, entry by entry. Entries of two regions do not compare: the snapshot that includes the other one
 * stands.
 */
function mergeParts(seen: Snapshot, more: Snapshot, a: Parts, b: Parts): Snapshot {
  if (a.place === b.place) {
    const [lt, rt, hwt] = [Math.max(a.lt, b.lt), Math.max(a.rt, b.rt), Math.max(a.hwt, b.hwt)];
    return snapshotOf({ lt, rt, place: a.place, hwt });
  }
  if (Math.min(b.lt, b.rt) >= reachOf(a)) return more;
  if (Math.min(a.lt, a.rt) >= reachOf(b)) return seen;
  return everything(Math.max(reachOf(a), reachOf(b)));
}

const everything = (t: Timestamp): Snapshot => snapshotOf({ lt: t, rt: t, place: NOWHERE, hwt: t });
