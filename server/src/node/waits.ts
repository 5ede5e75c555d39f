/** Waiting under protocols that block: counted where it happens, summed here. Without blocking the sum is zero. */
import type { OperationNode, TransactionNode } from '@isochron/protocols';

/** Since the start of the node. */
export interface Waits {
  readonly count: number;
  readonly totalMs: number;
  readonly longestMs: number;
}

/** Waiting of users' operations, beside the network and the disk. */
export interface Blocked {
  readonly reads: Waits;
  readonly writes: Waits;
}

/** Reads wait where snapshots may lie ahead of a replica; commits never do. */
export const transactionWaits = ({ replicas }: TransactionNode): Blocked => ({
  reads: addUp(
    replicas.map(({ waiting: { counters } }) => ({
      blocked: counters.blockedReads,
      blockedMs: counters.blockedMs,
      longestBlockMs: counters.longestBlockMs,
    })),
  ),
  writes: addUp([]),
});

/**
 * Reads wait at the replica, or before their snapshot is chosen. Waits of sessions that have moved do not count: the
 * protocol does not cause them.
 */
export const operationWaits = ({ replicas, coordinator }: OperationNode): Blocked => ({
  reads: addUp([...replicas.map(({ waitingReads }) => waitingReads.counters), coordinator.rots.waiting.counters]),
  writes: addUp(replicas.map(({ waitingPuts }) => waitingPuts.counters)),
});

type Counters = OperationNode['replicas'][number]['waitingReads']['counters'];

const addUp = (all: readonly Counters[]): Waits => ({
  count: all.reduce((sum, { blocked }) => sum + blocked, 0),
  totalMs: all.reduce((sum, { blockedMs }) => sum + blockedMs, 0),
  longestMs: Math.max(0, ...all.map(({ longestBlockMs }) => longestBlockMs)),
});
