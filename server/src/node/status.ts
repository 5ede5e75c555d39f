import type { NodeId, PartitionId, Topology } from '@isochron/core';
import type { HeldBackBy, OperationNode, TransactionNode } from '@isochron/protocols';
import type { VersionStore } from '@isochron/storage';
import type { LinkStatus } from '@isochron/transport';
import type { HeldBack } from '@isochron/wire/session-frames';
import { VERSION } from '../version.js';
import type { DiskStatus, MapStatus, NodeStatus, PartitionStatus, ProtectionStatus, RunningNode } from './api.js';
import { differingNodes } from './cluster-file-log.js';

/** Figures of a node's own machines beside the figures of every protocol. */
export interface Figures {
  readonly openTransactions: number;
  /** Transactions of a partition that are undecided, and transactions that are not applied. */
  undecided(partition: PartitionId): Pick<PartitionStatus, 'prepared' | 'committed'>;
  readonly counters: readonly object[];
}

export const transactionFigures = ({ replicas, coordinator }: TransactionNode): Figures => ({
  openTransactions: coordinator.table.size,
  undecided: (partition) => {
    const slices = replicas.find((replica) => replica.partition === partition)?.cohort.slices;
    return { prepared: slices?.prepared.size ?? 0, committed: slices?.committed.size ?? 0 };
  },
  counters: [
    ...replicas.flatMap((replica) => [replica.counters, replica.cohort.counters]),
    coordinator.counters,
    coordinator.reads.counters,
    coordinator.commits.counters,
  ],
});

/** A write is decided in the step that makes it. */
export const operationFigures = ({ replicas, coordinator }: OperationNode): Figures => ({
  openTransactions: coordinator.rots.size,
  undecided: () => ({ prepared: 0, committed: 0 }),
  counters: [...replicas, coordinator].map((machine) => (machine.describe() as { readonly counters: object }).counters),
});

/** Names of the writes that stable time waits for; null for what this cluster does not have. */
function heldBackBy(by: HeldBackBy | undefined, topology: Topology): HeldBack | null {
  if (by === undefined || !topology.regions.includes(by.region)) return null;
  const { region, partition } = by;
  const name = partition === undefined ? undefined : topology.partitions[partition]?.name;
  return { region, node: (name && topology.replicaNode(partition!, region)) ?? null, partition: name ?? null };
}

/** The status of a node for operators, gathered from its parts. */
export function nodeStatus(
  node: RunningNode,
  machines: TransactionNode | OperationNode,
  figures: Figures,
  store: VersionStore,
  links: readonly LinkStatus[],
  startedAt: number,
  clocks: object,
  disk: DiskStatus,
  protection: ProtectionStatus,
): NodeStatus {
  const { topology, config } = node;
  const stats = store.stats();
  const partitions = machines.replicas.map(({ partition, replication }): PartitionStatus => {
    const { name, regions } = topology.partitions[partition]!;
    const size = stats.partitions.get(partition);
    return {
      partition: name,
      regions,
      versionVector: replication.vv.durableEntries(),
      ...figures.undecided(partition),
      keys: size?.keys ?? 0,
      versions: size?.versions ?? 0,
    };
  });
  const { count: reads, totalMs, longestMs } = node.costs().blocked.reads;
  return {
    node: node.id,
    region: node.region,
    protocol: config.protocol,
    version: VERSION,
    durability: config.settings.durability,
    uptimeMs: Date.now() - startedAt,
    hlc: node.hlc(),
    ust: node.ust(),
    stalenessMs: node.stalenessMs(),
    heldBackBy: heldBackBy(machines.stabilization.heldBackBy, topology),
    gcFloor: machines.stable.gcFloor,
    verification: node.verification(),
    openTransactions: figures.openTransactions,
    losses: { open: machines.losses.open.length },
    clusterFile: { hash: config.hash, differsFrom: differingNodes(links) },
    map: mapStatus(node, machines),
    protection,
    disk,
    storage: {
      cacheBytes: stats.cache.bytes,
      cacheLimitBytes: stats.cache.limitBytes,
      lastSyncMs: stats.commits.lastSyncMs,
    },
    rssBytes: process.memoryUsage.rss(),
    partitions,
    links: links.map((link) => ({
      node: link.node,
      region: topology.regionOf(link.node),
      up: link.up,
      rttMs: link.rttMs,
      reconnects: link.reconnects,
      lastError: link.lastError === null ? null : `${link.lastError.code}: ${link.lastError.detail}`,
    })),
    blocking: { reads, totalMs, longestMs },
    clock: { problem: node.clockProblem() ?? null, driftMs: Math.round(machines.drift.medianMs) },
    counters: counters(machines, figures, store, links, clocks),
  };
}

function mapStatus(node: RunningNode, machines: TransactionNode | OperationNode): MapStatus {
  const { maps } = machines;
  const { current, isSealed, leaving } = maps;
  const away = current.nodes.filter((id) => !current.isMember(id));
  const absences = away.map((id) => {
    const { horizon: since, isOrdered = false } = maps.departureOf(id)!;
    return { node: id, since, isOrdered };
  });
  const isLeaving = maps.isLeaving || maps.hasLeft;
  return {
    version: current.version,
    away,
    suspended: away.filter((id) => maps.isSuspended(id)),
    held: current.held,
    evicted: current.evicted,
    absences,
    leaving: [...leaving, ...(isLeaving && current.isMember(node.id) ? [node.id] : [])],
    silent: node.unresponsive.nodes.filter((id) => !leaving.has(id)),
    ...deferredSlices(machines),
    owes: ('returning' in machines && machines.returning?.owes) || false,
    isSealed,
  };
}

/** The slices that maps have deferred, and for each node how many of them a map has deferred because of it. */
function deferredSlices({ maps, replicas }: TransactionNode | OperationNode) {
  const deferredFor: Record<NodeId, number> = {};
  let deferred = 0;
  for (const replica of replicas) {
    if (!('cohort' in replica)) continue;
    for (const [version, count] of replica.cohort.slices.deferred.countsByMap) {
      deferred += count;
      const { map, nodes } = maps.at(version)!;
      for (const number of map.suspends) deferredFor[nodes[number]!] = (deferredFor[nodes[number]!] ?? 0) + count;
    }
  }
  return { deferred, deferredFor };
}

/** Times are in `blocking`: the longest of several cannot be summed. */
const isTime = (name: string): boolean => name.endsWith('Ms');

/** Counts since the start, summed over the node's replicas and links. */
function counters(
  { stabilization, stable }: TransactionNode | OperationNode,
  figures: Figures,
  store: VersionStore,
  links: readonly LinkStatus[],
  clocks: object,
): Record<string, number> {
  const sum: Record<string, number> = {};
  const add = (counts: object) => {
    for (const [name, count] of Object.entries(counts)) if (!isTime(name)) sum[name] = (sum[name] ?? 0) + Number(count);
  };
  for (const counts of [...figures.counters, stabilization.counters, clocks]) add(counts);
  const { cache, commits } = store.stats();
  add({
    refusedUst: stable.refused,
    cacheHits: cache.hits,
    cacheMisses: cache.misses,
    batches: commits.batches,
    records: commits.records,
  });
  for (const { sent, received } of links) {
    add({ sentFrames: sent.frames, sentBytes: sent.bytes, sentMessages: sent.messages });
    add({ receivedFrames: received.frames, receivedBytes: received.bytes, receivedMessages: received.messages });
  }
  return sum;
}
