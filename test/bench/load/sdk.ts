/** SDK load: sessions over WebSocket, each in a closed loop. Every value that is read is verified. */
import { Random, type Topology } from '@isochron/core';
import type { IsochronClient } from '@isochron/sdk';
import type { KeyTable, TransactionMix } from '@isochron/workload';
import { WebSocket } from 'ws';
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';
import { CountedWebSocket, type FrameCounts, framesSince, framesSoFar } from './counted-socket.js';
import { hostedKeys, type LoadedCluster, loadCluster, plain } from './loaded-cluster.js';
import { type KeyChoice, transactionsOf } from './mixes.js';
import { numberedKey } from './numbered.js';
import { type ValueRule, valueFor, verify, WRITERS } from './values.js';
import { runWindow } from './window.js';

interface Common {
  readonly configFile: string;
  /** Regions of the sessions, in turn. */
  readonly regions: readonly string[];
  readonly sessions: number;
  readonly values: ValueRule;
  /** Whether the traffic of the sockets is counted: {@link SdkLoad.frames}. */
  readonly counted?: boolean;
  /** Whether each session has a socket of its own; else they share one with each node. */
  readonly own?: boolean;
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

/** Durable commits of one local key each; the last write of each session is read back at the end. */
export interface CommitJob extends Timed {
  readonly kind: 'commit';
}

export interface TransactionJob extends Timed {
  readonly kind: 'transaction';
  readonly mix: TransactionMix;
  /** `zipf` unless given. */
  readonly keys?: KeyChoice;
}

/** Writes keys. `table`: those of a table with this many keys a partition; `numbered`: this many keys. */
export interface FillJob extends Common {
  readonly kind: 'fill';
  readonly keys: { readonly table: number } | { readonly numbered: number };
  /** Each by an operation of its own, for protocols without transactions; otherwise 1000 in a commit. */
  readonly singly: boolean;
}

export type SdkJob = ReadJob | CommitJob | TransactionJob | FillJob;

export interface SdkLoad extends Load {
  /** Of counted sockets, from the first to the last operation, with those outside of the window. */
  readonly frames?: FrameCounts;
}

const KEYS_PER_COMMIT = 1000;
/** The writer of a load phase's values. */
const FILLER = 0;

answerJobs<SdkJob, SdkLoad>(async (job) => {
  const cluster = loadCluster(job.configFile);
  // The limit's class, or a counting one, in place of Node's own.
  Object.assign(globalThis, { WebSocket: job.counted ? CountedWebSocket : WebSocket });
  const clients = await Promise.all(
    Array.from({ length: job.sessions }, (_, i) => cluster.connect(regionOf(job, i), job.own)),
  );
  const before = framesSoFar();
  try {
    const load = await run(job, cluster, clients);
    return job.counted ? { ...load, frames: framesSince(before) } : load;
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
});

function run(job: SdkJob, cluster: LoadedCluster, clients: IsochronClient[]): Promise<Load> {
  if (job.kind === 'fill') return fill(job, cluster, clients);
  const table = cluster.table(job.keysPerPartition);
  if (job.kind === 'read') return readOneByOne(job, cluster.topology, table, clients);
  if (job.kind === 'commit') return commitOneByOne(job, cluster.topology, table, clients);
  return transact(job, table, clients);
}

const regionOf = ({ regions }: Common, session: number): string => regions[session % regions.length]!;

/** For each session the keys, without their keyspace, of the partitions that its region hosts. */
function localKeys(job: Timed, topology: Topology, table: KeyTable): string[][] {
  const byRegion = new Map(job.regions.map((region) => [region, hostedKeys(topology, table, region)]));
  return Array.from({ length: job.sessions }, (_, i) => byRegion.get(regionOf(job, i))!);
}

function readOneByOne(job: ReadJob, topology: Topology, table: KeyTable, clients: IsochronClient[]): Promise<Load> {
  const random = new Random(job.seed);
  const keys = localKeys(job, topology, table);
  return runWindow(clients.length * job.inFlight, job.durationMs, async (loop) => {
    const i = loop % clients.length;
    const key = random.pick(keys[i]!);
    verify(job.values, key, await clients[i]!.get(key));
  });
}

async function commitOneByOne(
  job: CommitJob,
  topology: Topology,
  table: KeyTable,
  clients: IsochronClient[],
): Promise<Load> {
  const random = new Random(job.seed);
  const keys = localKeys(job, topology, table);
  const last: string[] = [];
  const load = await runWindow(clients.length, job.durationMs, (i) => {
    const key = random.pick(keys[i]!);
    last[i] = key;
    return clients[i]!.set(key, valueFor(job.values, key, random.below(WRITERS)));
  });
  await Promise.all(last.map(async (key, i) => verify(job.values, key, await clients[i]!.get(key))));
  return load;
}

/** The paper's transactions: all reads in parallel, then all writes, as the papers' clients do. */
function transact({ values, ...job }: TransactionJob, table: KeyTable, clients: IsochronClient[]): Promise<Load> {
  const random = new Random(job.seed);
  const generators = transactionsOf(job, table);
  return runWindow(clients.length, job.durationMs, async (i) => {
    const { reads, writes } = generators[i]!.nextTransaction();
    const keys = reads.map(plain);
    await clients[i]!.transaction(async (tx) => {
      const read = await tx.getMany(keys);
      for (let k = 0; k < keys.length; k++) verify(values, keys[k]!, read[k]);
      for (const key of writes) tx.set(plain(key), valueFor(values, plain(key), random.below(WRITERS)));
    });
  });
}

async function fill(job: FillJob, cluster: LoadedCluster, clients: IsochronClient[]): Promise<Load> {
  const start = performance.now();
  const commits = keysOf(job, cluster);
  let operations = 0;
  const session = async (client: IsochronClient): Promise<void> => {
    // Sessions share the iterator: each takes the next commit when its last one is durable.
    for (const keys of commits) {
      if (job.singly) await client.set(keys[0]!, valueFor(job.values, keys[0]!, FILLER));
      else
        await client.transaction((tx) => {
          for (const key of keys) tx.set(key, valueFor(job.values, key, FILLER));
        });
      operations += keys.length;
    }
  };
  await Promise.all(clients.map(session));
  return { operations, elapsedMs: performance.now() - start };
}

/** The keys of each commit. The loops share it: a consumer that ended early would end it for all. */
function* keysOf({ keys, singly }: FillJob, cluster: LoadedCluster): Generator<string[]> {
  const most = singly ? 1 : KEYS_PER_COMMIT;
  const all = 'table' in keys ? cluster.table(keys.table).allKeys().map(plain) : undefined;
  const count = all?.length ?? ('numbered' in keys ? keys.numbered : 0);
  for (let first = 0; first < count; first += most) {
    const size = Math.min(most, count - first);
    yield Array.from({ length: size }, (_, i) => all?.[first + i] ?? numberedKey(first + i));
  }
}
