/** Sessions that each run transactions one after another and measure them. */
import { type QualifiedKey, Topology, unqualify } from '@isochron/core';
import type { IsochronClient } from '@isochron/sdk';
import { KeyTable, READ_HEAVY, TransactionGenerator, type TransactionMix, WRITE_HEAVY } from '@isochron/workload';
import { build, type Histogram } from 'hdr-histogram-js';
import type { ClusterAnswer } from '../status/shape.js';

/** The kinds of transactions. `get` and `set` are single operations. */
export const MIXES = {
  'read-heavy': READ_HEAVY,
  'write-heavy': WRITE_HEAVY,
  get: { reads: 1, writes: 0, partitionsPerTx: 1, localRatio: 0.95 },
  set: { reads: 0, writes: 1, partitionsPerTx: 1, localRatio: 0.95 },
} as const satisfies Record<string, TransactionMix>;

export type MixName = keyof typeof MIXES;

/** Keys of a load transaction. */
const LOAD_BATCH = 200;
/** Highest latency that the histogram distinguishes, µs: one minute. */
const MAX_LATENCY_US = 60_000_000;

const keyOf = (qualified: QualifiedKey): string => unqualify(qualified).key;

/** The keys of the benchmark: the same number in every partition of the keyspace. */
export function keyTable(cluster: ClusterAnswer, keyspace: string, keysPerPartition: number): KeyTable {
  const topology = Topology.of({
    regions: cluster.regions,
    keyspaces: cluster.keyspaces.map(({ name, partitions, replication, regions }) => ({
      name,
      partitions,
      replication,
      regions,
    })),
  });
  return new KeyTable(topology, keysPerPartition, keyspace);
}

/** Gives every key a value, so that reads find one. */
export async function loadKeys(table: KeyTable, clients: readonly IsochronClient[]): Promise<void> {
  const keys = table.allKeys().map(keyOf);
  const batches = Array.from({ length: Math.ceil(keys.length / LOAD_BATCH) }, (_, i) =>
    keys.slice(i * LOAD_BATCH, (i + 1) * LOAD_BATCH),
  );
  const worker = async (client: IsochronClient): Promise<void> => {
    for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
      const writes = batch;
      const { write } = await client.transaction((tx) => {
        for (const key of writes) tx.set(key, '00000000');
      });
      if (batches.length === 0) await write?.stable();
    }
  };
  await Promise.all(clients.map(worker));
}

/** The measurements of a run. */
export interface Measurement {
  readonly latency: Histogram;
  /** Transactions since the start. */
  transactions: number;
}

export const newMeasurement = (): Measurement => ({
  latency: build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: MAX_LATENCY_US,
    numberOfSignificantValueDigits: 3,
  }),
  transactions: 0,
});

/** Runs transactions on one session until `endMs` of the monotonic clock. */
export async function runSession(
  client: IsochronClient,
  table: KeyTable,
  mix: MixName,
  seed: number,
  endMs: number,
  measurement: Measurement,
): Promise<void> {
  const generator = new TransactionGenerator({ table, mix: MIXES[mix], region: client.status.region ?? '', seed });
  for (let startMs = performance.now(); startMs < endMs; startMs = performance.now()) {
    await runOne(client, generator);
    measurement.transactions++;
    measurement.latency.recordValue(
      Math.min(MAX_LATENCY_US, Math.max(1, Math.round((performance.now() - startMs) * 1000))),
    );
  }
}

async function runOne(client: IsochronClient, generator: TransactionGenerator): Promise<void> {
  const { reads, writes } = generator.nextTransaction();
  if (reads.length === 0 && writes.length === 1) {
    await client.set(keyOf(writes[0]!), generator.nextValue());
  } else if (writes.length === 0) {
    await client.getMany(reads.map(keyOf));
  } else {
    await client.transaction(async (tx) => {
      await tx.getMany(reads.map(keyOf));
      for (const key of writes) tx.set(keyOf(key), generator.nextValue());
    });
  }
}
