/** Puts the machines of one node together, from the cluster file and the data on its disk (D7). */
import { IsochronError, type LogGroup, type PartitionId, type Timestamp } from '@isochron/core';
import { Feeds } from '../feeds/feeds.js';
import { FEEDS_MACHINE } from '../feeds/messages.js';
import { assembleNode, type ProtocolNode } from '../node.js';
import { NodeClock } from '../node-clock.js';
import { type CommonNodeOptions, recoverReplicaState, recoverState, regionalTimes } from '../node-parts.js';
import type { NodeState } from '../node-state.js';
import { Coordinator } from './coordinator.js';
import type { TransactionMessage } from './messages.js';
import { Replica } from './replica.js';
import { Settlement } from './settlement.js';
import type { SnapshotRules, TransactionProtocol } from './snapshots.js';

export { lacksData, unappliedAfter } from '../node-parts.js';

export interface TransactionNodeOptions extends CommonNodeOptions {
  /** Own log entries above the own version clock of each partition: committed, not applied (see `unappliedAfter`). */
  readonly unapplied: ReadonlyMap<PartitionId, readonly LogGroup[]>;
}

/** A node of these protocols. */
export interface TransactionNode extends ProtocolNode<TransactionMessage, Coordinator, Replica> {
  /** The change feed, under protocols that have one. */
  readonly feeds: Feeds | undefined;
}

/** @throws IsochronError `CONFIG_INVALID` if the protocol cannot run on the placement */
export function createTransactionNode(options: TransactionNodeOptions, protocol: TransactionProtocol): TransactionNode {
  const { node, topology } = options;
  const unsupported = protocol.unsupported?.(topology);
  if (unsupported !== undefined) throw new IsochronError('CONFIG_INVALID', `${protocol.name}: ${unsupported}`);
  const { Clock = NodeClock } = protocol;
  const entries = protocol.entries?.(topology) ?? 0;
  const keepsChanges = protocol.stableSnapshots ?? false;
  const regional = regionalTimes(protocol.regional, options, () => replicas);
  const state = recoverState(options, { Clock, entries, regional, keepsChanges }, highestKnown(options));
  const rules = protocol.rules(state);
  const replicas: Replica[] = topology
    .partitionsOn(node)
    .map((partition) => recoverReplica(partition, state, options, protocol, rules));
  const coordinator = new Coordinator(
    state,
    rules,
    replicas.map(({ cohort }) => cohort),
  );
  const settlement = new Settlement(state, replicas, coordinator.commits, protocol.stableSnapshots ?? false);
  const assembled = assembleNode<TransactionMessage, Coordinator, Replica>(
    options,
    state,
    coordinator,
    replicas,
    settlement,
  );
  if (!keepsChanges) return { ...assembled, feeds: undefined };
  const feeds = new Feeds(state, replicas);
  return { ...assembled, feeds, machines: [...assembled.machines, [FEEDS_MACHINE, feeds]] };
}

function recoverReplica(
  partition: PartitionId,
  state: NodeState,
  options: TransactionNodeOptions,
  protocol: TransactionProtocol,
  rules: SnapshotRules,
): Replica {
  const { prepared } = options.recovered;
  const replica = new Replica(partition, state, protocol, rules, recoverReplicaState(partition, options));
  const own = prepared.filter((p) => p.partition === partition).sort((a, b) => a.record.pt - b.record.pt);
  for (const { txId, record } of own) replica.cohort.slices.prepared.add({ txId, record, since: options.now });
  for (const { ct, txs } of options.unapplied.get(partition) ?? []) {
    if (ct <= replica.replication.versionClock) continue;
    for (const { txId, writes, deps, siblings, repeatable } of txs) {
      const outcome = options.reader.outcome(partition, txId);
      const attempt = outcome?.attempt ?? 0;
      const digest = outcome?.digest ?? '';
      replica.cohort.slices.committed.add({
        txId,
        ct,
        attempt,
        digest,
        writes,
        deps,
        siblings,
        repeatable,
        logged: true,
      });
    }
  }
  return replica;
}

/** Highest proposed and unapplied commit timestamp on disk. */
function highestKnown({ recovered, unapplied }: TransactionNodeOptions): Timestamp {
  let highest = 0;
  for (const { record } of recovered.prepared) highest = Math.max(highest, record.pt);
  for (const groups of unapplied.values()) for (const { ct } of groups) highest = Math.max(highest, ct);
  return highest;
}
