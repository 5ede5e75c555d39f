/** The states of a cluster's nodes, from the statuses of all that answer. */
import { wallOf } from '@isochron/core/hlc';
import type { ClusterReport, NodeReport } from '../status/collect.js';
import { type MapAnswer, newestMap } from '../status/shape.js';

/** The state of a node in its cluster. */
export type MemberState =
  | 'active'
  | 'suspected'
  | 'leaving'
  | 'owing'
  | 'suspended'
  | 'returning'
  | 'left'
  | 'held'
  | 'evicted'
  | 'unknown';

/** A node, with its state and the reason for the state. */
export interface ListedNode {
  readonly region: string;
  readonly node: string;
  readonly state: MemberState;
  /** Since when stable time does not count the node, ms since 1970; null for a member. */
  readonly sinceMs: number | null;
  readonly why: string;
  /** Parts of transactions that the node has deferred; null where it does not answer. */
  readonly deferredHere: number | null;
  /** Parts of transactions that other nodes have deferred because of the node. */
  readonly deferredFor: number;
}

/** Version of the newest map among the nodes that answer, and every node's state. */
export function nodeStates({ nodes }: ClusterReport): { readonly map: number; readonly nodes: readonly ListedNode[] } {
  const answering = nodes.flatMap(({ node, status }) => (status?.map ? [{ node, map: status.map }] : []));
  const newest = newestMap(answering.map(({ map }) => map));
  const stateOf = (report: NodeReport): ListedNode => {
    const { region, node, status } = report;
    const missing = answering.filter(({ map }) => map.silent.includes(node)).map((other) => other.node);
    const absence = newest?.absences.find((one) => one.node === node);
    const [state, why] = newest === undefined ? UNKNOWN : judged(report, newest, missing);
    const counts = answering.filter((other) => other.node !== node).map(({ map }) => map.deferredFor[node] ?? 0);
    return {
      region,
      node,
      state,
      sinceMs: absence === undefined ? null : wallOf(absence.since),
      why,
      deferredHere: status?.map?.deferred ?? null,
      deferredFor: counts.reduce((sum, count) => sum + count, 0),
    };
  };
  return { map: newest?.version ?? 0, nodes: nodes.map(stateOf) };
}

const UNKNOWN = ['unknown', 'no node answers'] as const;

/** @param missing the nodes that receive nothing from the node */
function judged(
  { node, status }: NodeReport,
  newest: MapAnswer,
  missing: readonly string[],
): readonly [MemberState, string] {
  const own = status?.map;
  const answers = status !== null && missing.length === 0;
  if (newest.evicted.includes(node)) return ['evicted', 'by an operator, for ever'];
  if (newest.held.includes(node)) return ['held', `an operator keeps it away${answers ? '' : '; it does not answer'}`];
  if (newest.suspended.includes(node)) {
    if (answers) return ['returning', 'takes what it lacks, and is a member then'];
    const isOrdered = newest.absences.some((one) => one.node === node && one.isOrdered);
    return ['suspended', isOrdered ? 'an operator ordered it' : 'it did not answer'];
  }
  if (newest.away.includes(node)) return ['left', 'in order: drained, or closed'];
  if (newest.leaving.includes(node) || own?.leaving.includes(node)) return ['leaving', 'is drained, or closes'];
  if (missing.length > 0) return ['suspected', `no frames at ${missing.join(', ')}`];
  if (own?.owes) return ['owing', 'commits again what was deferred because of it'];
  return ['active', status === null ? 'does not answer this command' : ''];
}
