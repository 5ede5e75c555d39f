/** Puts the machines of one node together, from the cluster file and the data on its disk (D7). */
import { IsochronError, type PartitionId, type Timestamp } from '@isochron/core';
import { Feeds } from '../feeds/feeds.js';
import { FEEDS_MACHINE } from '../feeds/messages.js';
import { MAPS_MACHINE, MapMachine } from '../maps/map-machine.js';
import { assembleNode, type ProtocolNode } from '../node.js';
import { NodeClock } from '../node-clock.js';
import {
  type CommonNodeOptions,
  recoverReplicaState,
  recoverState,
  regionalTimes,
  stableMinimum,
} from '../node-parts.js';
import type { NodeState } from '../node-state.js';
import { Coordinator } from './coordinator.js';
import type { TransactionMessage } from './messages.js';
import { Replica } from './replica.js';
import { PAID, RETURN_MACHINE, ReturnMachine } from './return.js';
import { Settlement } from './settlement.js';
import type { SnapshotRules, TransactionProtocol } from './snapshots.js';

export { lacksData } from '../node-parts.js';

/** A node of these protocols. */
export interface TransactionNode extends ProtocolNode<TransactionMessage, Coordinator, Replica> {
  /** The change feed, under protocols that have one. */
  readonly feeds: Feeds | undefined;
  /** What the node owes after a suspension, under protocols with maps. */
  readonly returning: Pick<ReturnMachine, 'owes'> | undefined;
}

/** @throws IsochronError `CONFIG_INVALID` if the protocol cannot run on the placement */
export function createTransactionNode(options: CommonNodeOptions, protocol: TransactionProtocol): TransactionNode {
  const { node, topology } = options;
  const unsupported = protocol.unsupported?.(topology);
  if (unsupported !== undefined) throw new IsochronError('CONFIG_INVALID', `${protocol.name}: ${unsupported}`);
  const { Clock = NodeClock } = protocol;
  const entries = protocol.entries?.(topology) ?? 0;
  const stableSnapshots = protocol.stableSnapshots ?? false;
  const regional = regionalTimes(protocol.regional, options, () => replicas);
  const state = recoverState(options, { Clock, entries, regional, stableSnapshots }, highestKnown(options));
  const rules = protocol.rules(state);
  const replicas: Replica[] = topology
    .partitionsOn(node)
    .map((partition) => recoverReplica(partition, state, options, protocol, rules));
  const coordinator = new Coordinator(
    state,
    rules,
    replicas.map(({ cohort }) => cohort),
  );
  const settlement = new Settlement(state, replicas, coordinator);
  const assembled = assembleNode<TransactionMessage, Coordinator, Replica>(
    options,
    state,
    coordinator,
    replicas,
    settlement,
  );
  if (!stableSnapshots) return { ...assembled, feeds: undefined, returning: undefined };
  const feeds = new Feeds(state, replicas);
  const maps = new MapMachine(
    state,
    (topology) => stableMinimum(replicas, state.membership, (replication) => replication.stableMinIn(topology)),
    {
      isIdle: () =>
        coordinator.commits.size === 0 &&
        coordinator.settles.size === 0 &&
        replicas.every(({ undecided, replication }) => !undecided && replication.lastLogged <= state.stable.aggregated),
      mayCut: () => replicas.every(({ replication }) => replication.knowsUnstable),
      adopted: (out) => {
        for (const { cohort, replication } of replicas) cohort.slices.cut(state.topology.map, replication, out);
        // A disk that was lost there is never settled: what waited for that is deferred.
        for (const node of state.topology.evicted) state.membership.unsettledPeers.delete(node);
        for (const { replication } of replicas) replication.adopted();
        assembled.stabilization.adopted();
        // Every member has everything up to the horizon: no session goes back to before a node returned (M3, M5).
        state.stable.learn(state.topology.map.horizon);
        coordinator.adopted(out);
      },
    },
  );
  const paid = options.recovered.meta.get(PAID);
  const returning = new ReturnMachine(state, replicas, typeof paid === 'number' ? paid : 0);
  const machines = [
    ...assembled.machines,
    [FEEDS_MACHINE, feeds],
    [MAPS_MACHINE, maps],
    [RETURN_MACHINE, returning],
  ] as const;
  return { ...assembled, feeds, returning, machines };
}

function recoverReplica(
  partition: PartitionId,
  state: NodeState,
  options: CommonNodeOptions,
  protocol: TransactionProtocol,
  rules: SnapshotRules,
): Replica {
  const { prepared } = options.recovered;
  const replica = new Replica(partition, state, protocol, rules, recoverReplicaState(partition, options, state.maps));
  const own = prepared.filter((p) => p.partition === partition).sort((a, b) => a.record.pt - b.record.pt);
  for (const { txId, record } of own) replica.cohort.slices.recovered(txId, record, options.now);
  return replica;
}

/** Highest timestamp of a transaction on disk that is not applied. */
const highestKnown = ({ recovered }: CommonNodeOptions): Timestamp =>
  recovered.prepared.reduce((highest, { record: { pt, ct = 0 } }) => Math.max(highest, pt, ct), 0);
