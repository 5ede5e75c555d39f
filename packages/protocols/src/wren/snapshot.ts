/**
 * Wren's snapshots: everything that one region, its *place*, sourced up to `lt`, and everything that the others sourced
 * up to `rt`.
 *
 * On the wire a snapshot is `{ ts: lt, deps: [rt, place, hwt] }`. The paper has the two timestamps, and a client that
 * stays in its region. With its place a snapshot means the same in every region: `lt` of one region has no meaning in
 * another one (D9). The place is the region's position in the cluster file plus one; 0 stands for no region: such a
 * snapshot has everything up to `lt`, from every region. `hwt` is the time of a session's last write; it is 0 in a
 * snapshot that a transaction reads from.
 */
import type { Timestamp } from '@isochron/core';
import type { Snapshot } from '../kernel/transactions/snapshots.js';

/** Entries of a snapshot beside its timestamp. */
export const ENTRIES = 3;

/** The place of a snapshot that belongs to no region. */
export const NOWHERE = 0;

/** A snapshot in the paper's terms. */
export interface Parts {
  readonly lt: Timestamp;
  readonly rt: Timestamp;
  readonly place: number;
  readonly hwt: Timestamp;
}

/**
 * Reads a snapshot as received; a timestamp alone belongs to no region. Without a place, both times are the greater
 * one.
 */
export function partsOf({ ts, deps = [] }: Snapshot): Parts {
  const [rt = ts, place = NOWHERE, hwt = 0] = deps;
  if (place !== NOWHERE) return { lt: ts, rt, place, hwt };
  const t = Math.max(ts, rt);
  return { lt: t, rt: t, place, hwt };
}

/** The reverse of `partsOf`. */
export const snapshotOf = ({ lt, rt, place, hwt }: Parts): Snapshot => ({ ts: lt, deps: [rt, place, hwt] });

/** The time up to which a region needs everything, from every source, to have all of the snapshot. */
export const reachOf = ({ lt, rt, hwt }: Parts): Timestamp => Math.max(lt, rt, hwt);
