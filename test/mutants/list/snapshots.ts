/** Stable time, reads, garbage collection and the session: P5, P7, P9, P10, P13, T2. */
import type { Mutant, Profile } from '../mutant.js';
import { AGGREGATION, CACHE, HOSTED_PARTITION, NODE_PARTS, READS, SESSION, SNAPSHOTS, STABILIZATION } from './files.js';

/** No version is kept for its age alone, and nodes restart often. */
const OLD_SNAPSHOTS: Profile = {
  settings: { retentionMs: 0, maxTransactionMs: 300 },
  faults: { kinds: ['crash', 'massCrash'], count: 20, untilMs: 6_000 },
};

export const SNAPSHOT_MUTANTS: readonly Mutant[] = [
  {
    name: 'ust-as-maximum',
    breaks: 'P5, Alg. 4 line 36',
    does: 'uses the greatest version clock as the universal stable time',
    patches: [
      {
        file: AGGREGATION,
        in: 'aggregate',
        find: 'if (c.gst !== null && (gst === null || c.gst < gst)) ({ gst, heldBackBy } = c);',
        replace: 'if (c.gst !== null && (gst === null || c.gst > gst)) ({ gst, heldBackBy } = c);',
      },
    ],
    seeds: { from: 2, count: 20 },
  },
  {
    name: 'replica-left-out',
    breaks: 'P5, Alg. 4 line 34',
    does: "leaves a node's last replica out of the minimum",
    patches: [
      {
        file: NODE_PARTS,
        in: 'stableMinimum',
        find: 'replicas.map(({ replication }) => of(replication));',
        replace: 'replicas.slice(0, Math.max(1, replicas.length - 1)).map(({ replication }) => of(replication));',
      },
    ],
    seeds: { from: 1, count: 50 },
  },
  {
    name: 'stand-in-root',
    breaks: 'P13',
    does: 'reports the minimum of its own subtree for the region while its parent is unreachable',
    patches: [
      {
        file: STABILIZATION,
        in: 'Stabilization.#gossip',
        find: 'if (!this.isRoot) return;',
        replace: 'if (!this.isRoot && !this.#down.has(this.#parent!)) return;',
      },
    ],
    seeds: { from: 209, count: 200 },
  },
  {
    name: 'root-sends-early',
    breaks: 'P13',
    does: 'reports for the region before every child has reported',
    patches: [
      {
        file: AGGREGATION,
        in: 'Aggregator.complete',
        find: 'return this.#reported.size === this.members.length ? this.#reported.values() : undefined;',
        replace: 'return this.#reported.values();',
      },
    ],
    seeds: { from: 5, count: 100 },
  },
  {
    name: 'remote-read-of-a-newer-snapshot',
    breaks: 'P10',
    does: "reads remote partitions at the coordinator's newest snapshot instead of the transaction's",
    patches: [
      {
        file: READS,
        in: 'Reads.read',
        find: 'snapshot: ts, keys: asked,',
        replace:
          'snapshot: this.#regions[partition]![0] === this.state.region ? ts : this.state.stable.value, keys: asked,',
      },
    ],
    seeds: { from: 2, count: 50 },
  },
  {
    name: 'read-below-the-floor',
    breaks: 'P9',
    does: 'answers snapshots below the floor of garbage collection',
    patches: [
      {
        file: SNAPSHOTS,
        in: 'reading',
        find: 'if (ts < replication.gcFloor) return TOO_OLD;',
        replace: 'void TOO_OLD;',
      },
    ],
    seeds: { from: 12, count: 100 },
  },
  {
    name: 'one-version-too-far',
    breaks: 'P9',
    does: 'collects the newest version at or below the floor, too',
    patches: [
      {
        file: 'packages/storage/src/memory/memory-store.ts',
        in: 'MemoryPartition.#prune',
        find: 'const gone = chain[keep]!.value === null ? keep + 1 : keep;',
        replace: 'const gone = chain[keep]!.value === null ? keep + 1 : Math.min(keep + 1, chain.length - 1);',
      },
    ],
    seeds: { from: 2, count: 50 },
  },
  {
    name: 'floor-not-durable',
    breaks: 'P9',
    does: 'loses the floor of garbage collection in a restart',
    patches: [
      {
        file: NODE_PARTS,
        in: 'recoverReplicaState',
        find: 'gcFloor: timestampOf(meta',
        replace: 'gcFloor: 0 * timestampOf(meta',
      },
    ],
    seeds: { from: 27, count: 200 },
    profile: OLD_SNAPSHOTS,
  },
  {
    name: 'collects-what-is-in-use',
    breaks: 'P9',
    does: 'collects below UST, also versions of snapshots in use',
    patches: [
      {
        file: HOSTED_PARTITION,
        in: 'HostedPartition.collect',
        find: 'this.replication.collect(Math.min(stable.sOld, stable.aggregated, stableBefore, kept), out);',
        replace: 'this.replication.collect(Math.min(stable.aggregated, kept), out);',
      },
    ],
    seeds: { from: 2, count: 100 },
  },
  {
    name: 'cache-used-below-the-snapshot',
    breaks: 'P7',
    does: "reads a session's own write from the cache although the snapshot has a newer version",
    patches: [
      {
        file: SESSION,
        in: 'SessionTransaction.#above',
        find: 'cached === undefined || cached.at(-1)!.ct <= this.#covered) return NO_WRITES;',
        replace: 'cached === undefined) return NO_WRITES;',
      },
      {
        file: SESSION,
        in: 'SessionTransaction.#above',
        find: 'cached.filter(({ ct }) => ct > this.#covered);',
        replace: 'cached;',
      },
    ],
    seeds: { from: 2, count: 50 },
  },
  {
    name: 'cache-pruned-too-far',
    breaks: 'P7',
    does: 'prunes the cache just above the stable snapshot',
    patches: [
      {
        file: CACHE,
        in: 'WriteCache.prune',
        find: 'if (writes.at(-1)!.ct > floor) return;',
        replace: 'if (writes.at(-1)!.ct > floor + 1) return;',
      },
    ],
    seeds: { from: 11, count: 100 },
  },
  {
    name: 'cache-never-pruned',
    breaks: 'P7',
    does: 'keeps every write of a session in its cache',
    patches: [
      {
        file: CACHE,
        in: 'WriteCache.prune',
        find: 'if (writes.at(-1)!.ct > floor) return;',
        replace: 'if (writes.at(-1)!.ct > floor - 2 ** 52) return;',
      },
    ],
    seeds: { from: 1, count: 20 },
  },
  {
    name: 'cache-not-frozen',
    breaks: 'P7',
    does: "lets an open transaction read the session's writes after its start",
    patches: [
      {
        file: CACHE,
        in: 'WriteCache.#own',
        find: 'if (this.#shared) {',
        replace: 'if (this.#shared && this.#entries.size < 0) {',
      },
    ],
    seeds: { from: 7, count: 100 },
  },
];
