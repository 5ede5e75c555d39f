/** Bytes written to the disks for each byte that a client writes. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { atMost, type Line, lineOf, type Target } from '../figures.js';
import { numberedKey } from '../load/numbered.js';
import { diskBytesWritten } from '../proc.js';
import { warmUpMs } from '../rounds.js';
import { sdkLoad } from './loads.js';

const VALUE_BYTES = 100;
const REPLICATION = 2;
const SESSIONS = 64;
const BULK_KEYS = 200_000;
/** Time for a node's later writes: checkpoints and compaction. */
const SETTLE_MS = 5000;
const QUICK_DIVISOR = 100;

export const writeAmplification: Benchmark = {
  name: 'write-amplification',
  about: 'bytes written to the disks ÷ bytes of keys and values, each replica counted',
  run: async (context) => {
    const cluster = await context.cluster('write-amplification', { replication: REPLICATION });
    const values = context.valuesOf(VALUE_BYTES);
    await context.fill(cluster, { table: context.keysPerPartition }, { values });
    const single = await commits(context, cluster);
    const bulk = await load(context, cluster);
    await context.stopCluster('write-amplification');
    if (single === undefined || bulk === undefined) {
      context.progress.line('write-amplification is left out: the system does not report its writes to disks');
      return [];
    }
    const line = (what: string, factor: number, target?: Target): Line => {
      const values = `random values of ${VALUE_BYTES} bytes, ${REPLICATION} replicas`;
      return lineOf(`write amplification, ${what}, ${values}`, '×', [factor], target);
    };
    return [
      line(`durable one-key commits of ${SESSIONS} sessions`, single, atMost(6)),
      line('1000 keys in a commit', bulk),
    ];
  },
};

/** Commits of one key, for as long as all rounds together. */
async function commits(context: Context, cluster: Cluster): Promise<number | undefined> {
  const { keysPerPartition, settings } = context;
  const values = context.valuesOf(VALUE_BYTES);
  const run = sdkLoad(context, cluster, { kind: 'commit', sessions: SESSIONS, values });
  const { durationMs, rounds } = settings;
  await run(warmUpMs(durationMs), 0);
  // Keys of a table have about as many characters as the greatest number.
  const bytes = `key-${keysPerPartition * cluster.topology.partitions.length}`.length + VALUE_BYTES;
  return amplification(context, cluster, bytes, async () => {
    const { operations } = await run(durationMs * rounds, 1);
    return operations;
  });
}

/** New keys, many in a commit. */
async function load(context: Context, cluster: Cluster): Promise<number | undefined> {
  const numbered = context.settings.quick ? BULK_KEYS / QUICK_DIVISOR : BULK_KEYS;
  const values = context.valuesOf(VALUE_BYTES);
  return amplification(context, cluster, numberedKey(0).length + VALUE_BYTES, async () => {
    await context.fill(cluster, { numbered }, { values });
    return numbered;
  });
}

/** @param work resolves with the number of writes */
async function amplification(
  context: Context,
  cluster: Cluster,
  bytesOfAWrite: number,
  work: () => Promise<number>,
): Promise<number | undefined> {
  const settle = () => delay(context.settings.quick ? SETTLE_MS / QUICK_DIVISOR : SETTLE_MS);
  await settle();
  const before = diskBytesWritten(cluster.pids);
  const writes = await work();
  await cluster.stable();
  await settle();
  const after = diskBytesWritten(cluster.pids);
  if (before === undefined || after === undefined || after === before) return undefined;
  return (after - before) / (writes * bytesOfAWrite * REPLICATION);
}
