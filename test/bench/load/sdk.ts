/** SDK load: sessions over WebSocket, each in a closed loop. */
import { Random, type Topology } from '@isochron/core';
import type { IsochronClient } from '@isochron/sdk';
import { KeyTable, TransactionGenerator, type TransactionMix } from '@isochron/workload';
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';
import { loadCluster, plain } from './loaded-cluster.js';
import { runPlanned } from './steps.js';
import { runWindow } from './window.js';

interface Common {
  readonly configFile: string;
  /** Regions that sessions go to, in turn. */
  readonly regions: readonly string[];
  readonly sessions: number;
  /** Whether the sessions share sockets, one with each node; else each has its own. */
  readonly shared?: boolean;
}

interface Timed extends Common {
  readonly keysPerPartition: number;
  readonly durationMs: number;
  readonly seed: number;
}

/** One-shot reads of one local key each, `inFlight` of them unanswered on each session's connection. */
export interface ReadJob extends Timed {
  readonly kind: 'read';
  readonly inFlight: number;
}

/** Durable commits of one local key each. */
export interface CommitJob extends Timed {
  readonly kind: 'commit';
}

export interface TransactionJob extends Timed {
  readonly kind: 'transaction';
  readonly mix: TransactionMix;
}

/** Writes keys. `table`: those of a table with so many keys a partition; `numbered`: so many keys. */
export interface FillJob extends Common {
  readonly kind: 'fill';
  readonly keys: { readonly table: number } | { readonly numbered: number };
  /** Bytes of each value's JSON text. */
  readonly valueBytes: number;
  /** Each by an operation of its own, for protocols without transactions; otherwise 1000 in a commit. */
  readonly singly: boolean;
}

export type SdkJob = ReadJob | CommitJob | TransactionJob | FillJob;

const KEYS_PER_COMMIT = 1000;

answerJobs<SdkJob, Load>(async (job) => {
  const cluster = loadCluster(job.configFile);
  const clients = await Promise.all(
    Array.from({ length: job.sessions }, (_, i) => cluster.connect(regionOf(job, i), job.shared)),
  );
  try {
    if (job.kind === 'fill') return await fill(job, cluster.topology, clients);
    const table = cluster.table(job.keysPerPartition);
    if (job.kind === 'read') return await readOneByOne(job, cluster.topology, table, clients);
    if (job.kind === 'commit') return await commitOneByOne(job, cluster.topology, table, clients);
    return await transact(job, table, clients);
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
});

const regionOf = ({ regions }: Common, session: number): string => regions[session % regions.length]!;

/** For each session the keys, without their keyspace, of the partitions that its region hosts. */
function localKeys(job: Timed, topology: Topology, table: KeyTable): string[][] {
  const byRegion = new Map(job.regions.map((region) => [region, hostedKeys(topology, table, region)]));
  return Array.from({ length: job.sessions }, (_, i) => byRegion.get(regionOf(job, i))!);
}

function hostedKeys(topology: Topology, table: KeyTable, region: string): string[] {
  const hosted = table.partitions.filter(({ id }) => topology.replicaNode(id, region) !== undefined);
  return hosted.flatMap(({ id }) => table.keysOf(id).map(plain));
}

function readOneByOne(job: ReadJob, topology: Topology, table: KeyTable, clients: IsochronClient[]): Promise<Load> {
  const random = new Random(job.seed);
  const keys = localKeys(job, topology, table);
  return runWindow(clients.length * job.inFlight, job.durationMs, async (loop) => {
    const i = loop % clients.length;
    const value = await clients[i]!.get(random.pick(keys[i]!));
    if (value === undefined) throw new Error('a key that was written has no value');
  });
}

function commitOneByOne(job: CommitJob, topology: Topology, table: KeyTable, clients: IsochronClient[]): Promise<Load> {
  const random = new Random(job.seed);
  const keys = localKeys(job, topology, table);
  return runWindow(clients.length, job.durationMs, (i) => clients[i]!.set(random.pick(keys[i]!), textOf(10)));
}

function transact(job: TransactionJob, table: KeyTable, clients: IsochronClient[]): Promise<Load> {
  const generators = clients.map(
    (_, i) =>
      new TransactionGenerator({ table, mix: job.mix, region: regionOf(job, i), seed: job.seed * job.sessions + i }),
  );
  return runWindow(clients.length, job.durationMs, (i) => runPlanned(clients[i]!, generators[i]!));
}

async function fill(job: FillJob, topology: Topology, clients: IsochronClient[]): Promise<Load> {
  const start = performance.now();
  const commits = keysOf(job, topology);
  const value = textOf(job.valueBytes);
  let operations = 0;
  const session = async (client: IsochronClient): Promise<void> => {
    // Sessions share the iterator: each takes the next commit when its last one is durable.
    for (const keys of commits) {
      if (job.singly) await client.set(keys[0]!, value);
      else
        await client.transaction((tx) => {
          for (const key of keys) tx.set(key, value);
        });
      operations += keys.length;
    }
  };
  await Promise.all(clients.map(session));
  return { operations, elapsedMs: performance.now() - start };
}

/** A document whose JSON text has so many bytes. */
const textOf = (jsonBytes: number): string => '0'.repeat(jsonBytes - 2);

/** The keys of each commit. Ending one consumer's loop early would end it for all, so nobody does. */
function* keysOf({ keys, singly }: FillJob, topology: Topology): Generator<string[]> {
  const most = singly ? 1 : KEYS_PER_COMMIT;
  const all = 'table' in keys ? new KeyTable(topology, keys.table).allKeys().map(plain) : undefined;
  const count = all?.length ?? ('numbered' in keys ? keys.numbered : 0);
  for (let first = 0; first < count; first += most) {
    const size = Math.min(most, count - first);
    yield Array.from({ length: size }, (_, i) => all?.[first + i] ?? `item-${String(first + i).padStart(8, '0')}`);
  }
}
