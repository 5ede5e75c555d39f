/** What a decider proposes for a version of the map, and when enough voters agree (M1). */
import type { ClusterMap, MapChange, NodeId, Topology } from '@isochron/core';
import type { AcceptedMap, Sealed } from './messages.js';

/** The members of a proposed map, and the nodes that are none for another reason than that they do not answer. */
export interface MembersChange {
  readonly members: readonly NodeId[];
  /** Nodes that have left the present map in order. */
  readonly left?: readonly NodeId[];
  /** Nodes that an operator keeps away; by default the nodes of the present map. */
  readonly held?: readonly NodeId[];
  /** Further nodes that never come back. */
  readonly evicted?: readonly NodeId[];
  /** Whether an operator asks for the map. */
  readonly isOrdered?: boolean;
}

/** A proposal, and the answers to it. */
export interface Proposal extends MembersChange {
  readonly version: number;
  readonly ballot: number;
  readonly sealed: Map<NodeId, Sealed>;
  /** The map of the second phase; undefined in the first. */
  map?: ClusterMap;
  readonly acceptedBy: Set<NodeId>;
}

/** A change by the numbers of the nodes. */
export function changeOf({ members, left, held, evicted, isOrdered }: MembersChange, topology: Topology): MapChange {
  const numbers = (nodes: readonly NodeId[] = []) => nodes.map((node) => topology.numberOf(node));
  return {
    members: numbers(members),
    left: numbers(left),
    evicted: numbers(evicted),
    ...(held === undefined ? {} : { held: numbers(held) }),
    ...(isOrdered === undefined ? {} : { isOrdered }),
  };
}

/**
 * A majority of the voters; or all voters that do not abstain after a lost disk, if these meet every majority: a
 * cluster of two voters can lose a disk.
 */
export function isQuorum(nodes: readonly NodeId[], { sealed }: Proposal, { voters }: Topology): boolean {
  const abstaining = voters.filter((node) => sealed.get(node)?.votes === false).length;
  const agreeing = nodes.filter((node) => voters.includes(node)).length;
  const majority = majorityOf(voters);
  return agreeing >= majority || (abstaining < majority && agreeing === voters.length - abstaining);
}

export const majorityOf = (voters: readonly NodeId[]): number => Math.floor(voters.length / 2) + 1;

/** The accepted map of the highest ballot. */
export function acceptedIn(sealed: readonly Sealed[]): ClusterMap | undefined {
  let best: AcceptedMap | undefined;
  for (const { accepted } of sealed)
    if (accepted !== undefined && accepted.ballot > (best?.ballot ?? 0)) best = accepted;
  return best?.map;
}
