/** Which transactions a map defers, because they need a node that the map suspends (M4). */
import type { ClusterMap } from './cluster-map.js';
import type { Timestamp } from './ids.js';
import type { Need } from './needs.js';

/** A map that has suspended nodes, as a session judges its writes by it (M10). */
export interface SessionCut {
  /** Version of the map. */
  readonly map: number;
  readonly horizon: Timestamp;
  /** Numbers of the nodes that it has suspended. */
  readonly nodes: readonly number[];
}

/** The facts about a transaction that decide. */
export interface Cuttable {
  /** The commit timestamp; above every time for a slice that is not decided. */
  readonly ct: Timestamp;
  /** Number of the node that has logged the slice, or prepared it. */
  readonly source: number;
  readonly needs?: readonly Need[] | undefined;
}

/** Whether a map defers a transaction of an earlier map. All slices of a transaction give the same verdict. */
export function defers({ suspends, horizon }: ClusterMap, { ct, source, needs = [] }: Cuttable): boolean {
  if (suspends.length === 0 || ct <= horizon) return false;
  const isSuspended = (node: number | undefined) => node === undefined || suspends.includes(node);
  return isSuspended(source) || needs.some((need) => isSuspended(need.node) && (need.ct ?? ct) > horizon);
}
