/** The conditions that must hold some time after everything was healed. */
import type {
  Change,
  NodeId,
  PartitionId,
  QualifiedKey,
  RegionId,
  StoredVersion,
  Timestamp,
  Topology,
  TxId,
} from '@isochron/core';
import { changesRecord, type Loss } from '@isochron/protocols';
import type { MemoryState } from '@isochron/storage';
import type { Plan } from '../../plan/plan.js';
import { foldOf, textOf } from '../evidence/documents.js';
import type { Ledger } from '../evidence/ledger.js';

export interface HealedWorld {
  readonly topology: Topology;
  /** All nodes but nodes that are lost for good. */
  readonly nodes: readonly NodeId[];
  readonly ledger: Ledger;
  disk(node: NodeId): MemoryState;
  /** Whether versions have their dependencies in every region, or only in the one that made them. */
  readonly depsTravel: boolean;
  /** Stable time of every node. */
  ust(node: NodeId): Timestamp;
  load(node: NodeId): Readonly<Record<string, number>>;
  /** The losses that a node reports. */
  losses(node: NodeId): readonly Loss[];
  /** The timestamps at which disks have had versions of a transaction that were not taken back. */
  applied(txId: TxId): readonly Timestamp[];
  /** Client operations that have not ended. */
  unfinished(): readonly string[];
}

/** A condition that must come true: returns the missing part, or nothing when it holds. */
export interface Goal {
  readonly name: string;
  missing(world: HealedWorld): string | undefined;
}

/** Cheap ones first. */
export const GOALS: readonly Goal[] = [
  { name: 'client-operations-end', missing: unfinishedOperations },
  { name: 'stable-time-passes-every-commit', missing: lateStableTime },
  { name: 'memory-returns', missing: remainingLoad },
  { name: 'no-prepared-record-is-left', missing: preparedRecord },
  { name: 'logs-are-truncated', missing: longLog },
  { name: 'replicas-hold-identical-chains', missing: differentChains },
  { name: 'replicas-hold-identical-logs', missing: differentLogs },
  { name: 'reported-losses-are-losses', missing: falseLoss },
];

function unfinishedOperations(world: HealedWorld): string | undefined {
  const unfinished = world.unfinished();
  return unfinished.length === 0 ? undefined : `still under way: ${unfinished.join(', ')}`;
}

/**
 * Whether a goal may wait for right clocks. A frame that was lost may have been the last heartbeat; the next heartbeat
 * comes when right clocks pass its timestamp.
 */
export const mayLackHeartbeat = (goal: Goal | undefined, { faults }: Pick<Plan, 'faults'>): boolean =>
  goal?.missing === lateStableTime && faults.some(({ kind }) => kind === 'unrulyLink');

function lateStableTime({ nodes, ledger, ust }: HealedWorld): string | undefined {
  for (const node of nodes) {
    if (ust(node) < ledger.lastCt)
      return `the stable time of ${node} is ${ust(node)}, the last commit ${ledger.lastCt}`;
  }
  return undefined;
}

function remainingLoad({ nodes, load }: HealedWorld): string | undefined {
  for (const node of nodes) {
    const left = Object.entries(load(node)).find(([, count]) => count > 0);
    if (left !== undefined) return `${node} still holds ${left[1]} ${left[0]}`;
  }
  return undefined;
}

function preparedRecord({ nodes, disk }: HealedWorld): string | undefined {
  for (const node of nodes) {
    for (const { id, prepared } of disk(node).partitions.values()) {
      const [txId] = prepared.keys();
      if (txId !== undefined) return `${node} still has ${txId} prepared on ${id}`;
    }
  }
  return undefined;
}

function longLog({ nodes, disk }: HealedWorld): string | undefined {
  for (const node of nodes) {
    for (const { id, log, horizons } of disk(node).partitions.values()) {
      const left = log.filter(({ ct, source }) => source === undefined && ct > horizons.logConfirmedUpTo);
      if (left.length > 0)
        return `the log of ${id} on ${node} still has ${left.length} transactions, of ${left[0]!.ct} and later`;
    }
  }
  return undefined;
}

/** A transaction that was taken back has no version: where it has, a later attempt of it has committed. */
function falseLoss({ nodes, losses, applied }: HealedWorld): string | undefined {
  for (const node of nodes) {
    for (const { txId, takenBack } of losses(node)) {
      const [version] = takenBack ? applied(txId) : [];
      if (version !== undefined)
        return `${node} reports that ${txId} was taken back, and it is committed at ${version}`;
    }
  }
  return undefined;
}

/** Logs that are kept for readers of changes (CF1). */
function differentLogs(world: HealedWorld): string | undefined {
  for (const { id } of world.topology.partitions) {
    const regions = regionsOf(world, id);
    const nodes = regions.map((region) => ({ region, state: world.disk(world.topology.replicaNode(id, region)!) }));
    const from = Math.max(...nodes.map(({ state }) => startOfChanges(state, id)));
    if (from === Number.POSITIVE_INFINITY) continue;
    const logs = nodes.map(({ region, state }) => changesIn(state.partitions.get(id)?.log ?? [], from, region));
    if (logs.some((log) => log !== logs[0])) return difference(id, 'the log', regions, logs);
  }
  return undefined;
}

/** The regions with a replica of a partition on a node that is left. */
const regionsOf = ({ topology, nodes }: HealedWorld, partition: PartitionId): readonly RegionId[] =>
  topology.partitions[partition]!.regions.filter((region) => nodes.includes(topology.replicaNode(partition, region)!));

/** Above it a log has the transactions of all regions; without the record it has none. */
function startOfChanges({ meta, partitions }: MemoryState, partition: PartitionId): Timestamp {
  const recorded = meta.get(changesRecord(partition));
  if (typeof recorded !== 'number') return Number.POSITIVE_INFINITY;
  return Math.max(recorded, partitions.get(partition)?.horizons.logTruncatedUpTo ?? 0);
}

/** Transactions that write nothing any more may be missing. */
const changesIn = (log: readonly Change[], from: Timestamp, region: RegionId): string =>
  log
    .filter(({ ct, tx }) => ct > from && tx.writes.length > 0)
    .map(({ ct, tx, source = region }) => `${ct}/${tx.txId}/${source}=${tx.writes.map(({ key }) => key).join(',')}`)
    .join(' ');

function differentChains(world: HealedWorld): string | undefined {
  for (const { id } of world.topology.partitions) {
    const regions = regionsOf(world, id);
    const replicas = regions.map((region) => world.disk(world.topology.replicaNode(id, region)!).partitions.get(id));
    const floor = Math.max(...replicas.map((replica) => replica?.horizons.gcFloor ?? 0));
    const keys = new Set(replicas.flatMap((replica) => [...(replica?.chains.keys() ?? [])]));
    for (const key of keys) {
      const chains = replicas.map((replica) => liveChain(replica?.chains.get(key) ?? [], floor, world.depsTravel));
      if (chains.some((chain) => chain !== chains[0])) return difference(id, key, regions, chains);
    }
  }
  return undefined;
}

/** The versions that snapshots from the floor on can see, without tombstones that hide nothing. */
function liveChain(versions: readonly StoredVersion[], floor: Timestamp, depsTravel: boolean): string {
  const first = versions.findLastIndex(({ ts }) => ts <= floor);
  const live = versions.slice(Math.max(0, first));
  // One replica may have collected what another still folds.
  const oldest = foldOf(versions.slice(0, first + 1));
  if (oldest !== undefined) live[0] = oldest;
  if (live[0]?.value === null && live[0].ts <= floor) live.shift();
  return live
    .map(
      ({ ts, txId, region, value, deps = [] }) => `${ts}/${txId}/${region}[${depsTravel ? deps : ''}]=${textOf(value)}`,
    )
    .join(' ');
}

const difference = (
  partition: PartitionId,
  key: QualifiedKey,
  regions: readonly string[],
  chains: readonly string[],
): string => `${key} of partition ${partition}: ${regions.map((region, i) => `${region} [${chains[i]}]`).join(', ')}`;
