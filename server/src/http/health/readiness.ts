/**
 * The conditions that keep a serving node from being ready: a load balancer should send requests to another one. The
 * node still serves requests, as far as it can: a whole cluster may be in this state, with a region that is down.
 */
import type { Serving } from '@isochron/sessions';
import type { NodeStatus, RunningNode } from '../../node/api.js';
import { type Stability, stabilityOf } from './stability.js';

/**
 * - `cluster-file`: the cluster files of more nodes differ from this node's, in what must agree, than agree with it.
 * - `links`: no other node is linked.
 * - `stable-time`: snapshots are older than `stalenessAlertMs`.
 * - `disk`: writes are refused because the disk is full.
 * - `connections`: most places for connections are taken.
 */
export const READINESS_CHECKS = ['cluster-file', 'links', 'stable-time', 'disk', 'connections'] as const;
export type ReadinessCheck = (typeof READINESS_CHECKS)[number];

/** A check that the node does not pass. */
export interface Obstacle {
  readonly check: ReadinessCheck;
  /** For operators. */
  readonly reason: string;
}

/** The checks that a node does not pass, with the reasons. */
export function obstaclesOf(
  node: RunningNode,
  serving: Pick<Serving, 'crowding'>,
  status: NodeStatus = node.status(),
): Obstacle[] {
  const { links, disk } = status;
  const stability = stabilityOf(node, status);
  const reasons: Readonly<Record<ReadinessCheck, string | undefined>> = {
    'cluster-file': difference(status),
    links: links.length === 0 || links.some(({ up }) => up) ? undefined : 'linked to no other node',
    'stable-time': stability.stale ? standstill(stability) : undefined,
    disk: disk.full ? 'without room on its disk, and refuses writes' : undefined,
    connections: serving.crowding(),
  };
  return READINESS_CHECKS.flatMap((check) => (reasons[check] === undefined ? [] : [{ check, reason: reasons[check] }]));
}

/** The differing node is reported as not ready, not the nodes that it differs from. */
function difference({ links, clusterFile: { differsFrom } }: NodeStatus): string | undefined {
  if (differsFrom.length <= links.filter(({ up }) => up).length) return undefined;
  return `without links to ${differsFrom.join(', ')}, as its cluster file differs from theirs in what must agree`;
}

function standstill({ stalenessMs, heldBackBy }: Stability): string {
  const whose = heldBackBy === null ? '' : `, and waits for ${heldBackBy.node ?? heldBackBy.region}`;
  return `behind: its stable time stands still, snapshots are ${(stalenessMs / 1000).toFixed(1)} s old${whose}`;
}
