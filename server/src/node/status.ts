import type { ParisNode } from '@isochron/protocols';
import type { VersionStore } from '@isochron/storage';
import type { LinkStatus } from '@isochron/transport';
import { VERSION } from '../version.js';
import type { NodeStatus, PartitionStatus, RunningNode } from './api.js';

/** Everything an operator wants to know about a node, gathered from its parts. */
export function nodeStatus(
  node: RunningNode,
  paris: ParisNode,
  store: VersionStore,
  links: readonly LinkStatus[],
  startedAt: number,
): NodeStatus {
  const { topology, config } = node;
  const stats = store.stats();
  const partitions = paris.replicas.map(({ partition, vv, cohort }): PartitionStatus => {
    const { name, regions } = topology.partitions[partition]!;
    const size = stats.partitions.get(partition);
    return {
      partition: name,
      regions,
      versionVector: vv.durableEntries(),
      prepared: cohort.prepared.size,
      committed: cohort.committed.size,
      keys: size?.keys ?? 0,
      versions: size?.versions ?? 0,
    };
  });
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
    gcFloor: paris.stable.gcFloor,
    openTransactions: paris.coordinator.table.size,
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
    counters: counters(paris, store, links),
  };
}

/** Counts since the start, summed over the node's replicas and links. */
function counters(paris: ParisNode, store: VersionStore, links: readonly LinkStatus[]): Record<string, number> {
  const sum: Record<string, number> = {};
  const add = (counts: object) => {
    for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + Number(count);
  };
  for (const replica of paris.replicas) {
    add(replica.counters);
    add(replica.cohort.counters);
  }
  add(paris.coordinator.counters);
  add(paris.coordinator.reads.counters);
  add(paris.coordinator.commits.counters);
  add(paris.stabilization.counters);
  const { cache, commits } = store.stats();
  add({
    refusedUst: paris.stable.refused,
    cacheHits: cache.hits,
    cacheMisses: cache.misses,
    cacheBytes: cache.bytes,
    batches: commits.batches,
    records: commits.records,
    lastSyncMs: commits.lastSyncMs,
  });
  for (const { sent, received } of links) {
    add({ sentFrames: sent.frames, sentBytes: sent.bytes, sentMessages: sent.messages });
    add({ receivedFrames: received.frames, receivedBytes: received.bytes, receivedMessages: received.messages });
  }
  return sum;
}
