import type { Deps, NodeId, Timestamp } from '@isochron/core';
import { entrywiseMin } from './regional-times.js';

/** What a subtree contributes: null where it has no replica (absent from the minimum, not infinity; P13). */
export interface Contribution {
  readonly gst: Timestamp | null;
  readonly sOld: Timestamp;
  /** What its nodes have installed (`RegionalTimes`); empty under protocols without. */
  readonly regional: Deps;
}

/** The minimum over contributions, taken entry by entry. */
export function aggregate(contributions: Iterable<Contribution>): Contribution | undefined {
  let gst: Timestamp | null = null;
  let sOld: Timestamp | undefined;
  let regional: Deps = [];
  for (const c of contributions) {
    regional = sOld === undefined ? c.regional : entrywiseMin([regional, c.regional]);
    if (c.gst !== null && (gst === null || c.gst < gst)) gst = c.gst;
    if (sOld === undefined || c.sOld < sOld) sOld = c.sOld;
  }
  return sOld === undefined ? undefined : { gst, sOld, regional };
}

/** Latest contributions of a fixed set of members. Says nothing until every one has reported (P13). */
export class Aggregator<Member extends string> {
  readonly #reported = new Map<Member, Contribution>();

  constructor(readonly members: readonly Member[]) {}

  /** A `gst` never falls: a restarted member's lower value is still true, and so is its old one. */
  report(member: Member, { gst, sOld, regional }: Contribution): void {
    const before = this.#reported.get(member);
    const old = before?.gst ?? null;
    const highest = gst === null ? old : old === null ? gst : Math.max(gst, old);
    const raised = regional.map((ts, i) => Math.max(ts, before?.regional[i] ?? 0));
    this.#reported.set(member, { gst: highest, sOld, regional: raised });
  }

  /** A member has lost its disk: what it said holds no more (D10). */
  forget(member: Member): void {
    this.#reported.delete(member);
  }

  /** All contributions, or undefined while one is missing. */
  complete(): Iterable<Contribution> | undefined {
    return this.#reported.size === this.members.length ? this.#reported.values() : undefined;
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
