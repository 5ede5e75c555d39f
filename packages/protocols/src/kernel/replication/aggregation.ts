import type { Deps, NodeId, Timestamp } from '@isochron/core';
import type { HeldBackBy } from './messages.js';
import { entrywiseMin } from './regional-times.js';

/** The contribution of a subtree: null without a replica (absent from the minimum, not infinity; P13). */
export interface Contribution {
  readonly gst: Timestamp | null;
  readonly sOld: Timestamp;
  /** What its nodes have installed (`RegionalTimes`); empty under protocols without. */
  readonly regional: Deps;
  /** The minimum that each of its nodes serves (`StableTime.served`). */
  readonly served: Timestamp;
  /** The highest time that a caller of one of its nodes waits for until it is served; 0 without such a caller. */
  readonly wanted: Timestamp;
  /** What `gst` waits for, while that is old. */
  readonly heldBackBy?: HeldBackBy | undefined;
  /** The latest of the clocks with which its members have adopted the map; 0 once stable time has passed it (M9). */
  readonly fence: Timestamp;
}

/** The minimum over contributions, entry by entry; of the times that callers wait for and of fences, the maximum. */
export function aggregate(contributions: Iterable<Contribution>): Contribution | undefined {
  let gst: Timestamp | null = null;
  let sOld: Timestamp | undefined;
  let regional: Deps = [];
  let served: Timestamp = Number.POSITIVE_INFINITY;
  let wanted: Timestamp = 0;
  let heldBackBy: HeldBackBy | undefined;
  let fence: Timestamp = 0;
  for (const c of contributions) {
    regional = sOld === undefined ? c.regional : entrywiseMin([regional, c.regional]);
    if (c.gst !== null && (gst === null || c.gst < gst)) ({ gst, heldBackBy } = c);
    if (sOld === undefined || c.sOld < sOld) sOld = c.sOld;
    if (c.served < served) served = c.served;
    if (c.wanted > wanted) wanted = c.wanted;
    if (c.fence > fence) fence = c.fence;
  }
  return sOld === undefined ? undefined : { gst, sOld, regional, served, wanted, heldBackBy, fence };
}

/** Latest contributions of a fixed set of members. There is no result until every member has reported (P13). */
export class Aggregator<Member extends string> {
  readonly #reported = new Map<Member, Contribution>();

  constructor(readonly members: readonly Member[]) {}

  /**
   * A `gst` never falls: a restarted member's lower value is still true, and so is its old one. The latest `served`
   * counts: on an older disk a member serves less than before.
   */
  report(member: Member, { gst, sOld, regional, served, wanted, heldBackBy, fence }: Contribution): void {
    const before = this.#reported.get(member);
    const old = before?.gst ?? null;
    const highest = gst === null ? old : old === null ? gst : Math.max(gst, old);
    const raised = regional.map((ts, i) => Math.max(ts, before?.regional[i] ?? 0));
    this.#reported.set(member, { gst: highest, sOld, regional: raised, served, wanted, heldBackBy, fence });
  }

  /** A member has lost its disk: its report is no longer true (D10). */
  drop(member: Member): void {
    this.#reported.delete(member);
  }

  /** All contributions, or undefined while one is missing. */
  complete(): Iterable<Contribution> | undefined {
    return this.#reported.size === this.members.length ? this.#reported.values() : undefined;
  }

  /** The member that reports this minimum. */
  memberAt(gst: Timestamp): Member | undefined {
    return this.members.find((member) => this.#reported.get(member)?.gst === gst);
  }

  get missing(): Member[] {
    return this.members.filter((member) => !this.#reported.has(member));
  }
}

/** The aggregation tree of a region: a heap-shaped tree over its nodes in the order of the cluster file. */
export function treeOf(
  nodes: readonly NodeId[],
  self: NodeId,
  fanOut: number,
): { parent: NodeId | null; children: NodeId[] } {
  const position = nodes.indexOf(self);
  const parent = position === 0 ? null : nodes[Math.floor((position - 1) / fanOut)]!;
  const children = nodes.slice(position * fanOut + 1, position * fanOut + 1 + fanOut);
  return { parent, children };
}
