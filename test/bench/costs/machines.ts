/** The cost of steps of machines: the real machines of a small cluster on real LevelDB, in one process, under load. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DurableRecord, NodeId } from '@isochron/core';
import { TRANSACTION_PROTOCOLS, type TransactionMessage } from '@isochron/protocols';
import { type Cost, type CostModel, type Costs, FREE_MODEL, itemsOf } from '@isochron/sim/scale/cost-model';
import { ScaleCluster } from '@isochron/sim/scale/scale-cluster';
import { openLevelStore, type VersionStore } from '@isochron/storage';
import { READ_HEAVY, type TransactionMix, WRITE_HEAVY } from '@isochron/workload';
import { placed } from '../papers/scale/placement.js';
import { mainThreadMs } from './cpu-clock.js';
import { Samples } from './fit.js';

const REGIONS = ['one', 'two', 'three'];
const KEYS_PER_PARTITION = 10_000;
const CLIENTS_PER_NODE = 32;
/** Virtual time between two waits for the disks. */
const SLICE_MS = 5;
/** Approximate costs: without them versions would pile up on keys at an unrealistic rate. */
const ROUGH_MODEL: CostModel = {
  ...FREE_MODEL,
  client: { receive: { us: 150, perItemUs: 0 }, send: { us: 0, perItemUs: 0 } },
  batch: { loop: { us: 0, perItemUs: 5 }, disk: { us: 1_000, perItemUs: 0 } },
};
const LEAST_SAMPLES = 20;
/** Number of messages kept of each kind. */
const KEPT = 512;
const KEPT_BATCHES = 2_000;

export type Messages = ReadonlyMap<string, readonly TransactionMessage[]>;

export interface MachineCosts {
  readonly steps: Costs;
  /** Messages that crossed links, by type. */
  readonly messages: Messages;
  /** The event loop's cost of durable batches, whose versions belong to chains in memory. */
  readonly batchLoop: Cost;
  /** Some of those batches, in the order of their commits. */
  readonly batches: readonly (readonly DurableRecord[])[];
}

/** The measurements while the machines run. */
class Gathered {
  readonly samples = new Samples();
  readonly messages = new Map<string, TransactionMessage[]>();
  readonly batches: (readonly DurableRecord[])[] = [];
  readonly #batchLoop = new Samples();
  /** Batches and records since the last wait for the disks, and the time of passing them to the stores, ms. */
  #handed = { batches: 0, records: 0, ms: 0 };
  /** Whether code is compiled and caches are full. */
  warm = false;
  /** While machines ran: elapsed time, time in steps, and CPU time, ms. */
  readonly #ran = { ms: 0, steppedMs: 0, cpuMs: 0 };
  #began = 0;

  stepping(): void {
    this.#began = performance.now();
  }

  stepped(kind: string, items: number): void {
    if (!this.warm) return;
    const ms = performance.now() - this.#began;
    this.#ran.steppedMs += ms;
    this.samples.add(kind, items, ms * 1000);
  }

  /** Runs the machines. */
  running(run: () => void): void {
    const [began, cpu] = [performance.now(), mainThreadMs()];
    run();
    if (!this.warm) return;
    this.#ran.ms += performance.now() - began;
    this.#ran.cpuMs += mainThreadMs() - cpu;
  }

  /** The share of steps in CPU time equals their share in elapsed time: interruptions affect both alike. */
  get steps(): Costs {
    const { ms, steppedMs, cpuMs } = this.#ran;
    const cpuUs = cpuMs * (steppedMs / ms) * 1000;
    return this.samples.costs(LEAST_SAMPLES, cpuUs / this.samples.totalUs);
  }

  keepMessage(message: TransactionMessage): void {
    const kept = this.messages.get(message.type);
    if (kept === undefined) this.messages.set(message.type, [message]);
    else if (kept.length < KEPT) kept.push(message);
    else if (!kept.some((other) => itemsOf(other) === itemsOf(message))) kept.push(message);
  }

  /** A batch is passed to a store. */
  committing<T>(records: readonly DurableRecord[], commit: () => T): T {
    const began = performance.now();
    const done = commit();
    this.#handed.ms += performance.now() - began;
    this.#handed.batches++;
    this.#handed.records += records.length;
    if (this.warm && this.batches.length < KEPT_BATCHES) this.batches.push(records);
    return done;
  }

  /** All batches are on disk; `cpuMs` is the event loop's CPU time meanwhile. */
  committed(cpuMs: number): void {
    const { batches, records, ms } = this.#handed;
    this.#handed = { batches: 0, records: 0, ms: 0 };
    if (this.warm && batches > 0) {
      this.#batchLoop.add('batch', Math.round(records / batches), ((cpuMs + ms) * 1000) / batches);
    }
  }

  get batchLoop(): Cost {
    return this.#batchLoop.costs(1).batch!;
  }
}

/** @param virtualMs the duration of each mix, after an equal time that is not measured */
export async function measureMachines(folder: string, virtualMs: number): Promise<MachineCosts> {
  const gathered = new Gathered();
  for (const mix of [READ_HEAVY, WRITE_HEAVY]) {
    await runUnderLoad(join(folder, `${mix.reads}-${mix.writes}`), mix, virtualMs, gathered);
  }
  const { steps, messages, batches, batchLoop } = gathered;
  return { steps, messages, batches, batchLoop };
}

async function runUnderLoad(folder: string, mix: TransactionMix, virtualMs: number, gathered: Gathered): Promise<void> {
  const place = placed({ regions: REGIONS, nodesPerRegion: 2, replication: 2, keysPerPartition: KEYS_PER_PARTITION });
  const stores = await openStores(folder, place.topology.nodes);
  const cluster = new ScaleCluster(
    {
      ...place.options(mix),
      entry: TRANSACTION_PROTOCOLS.paris,
      model: ROUGH_MODEL,
      cores: 1,
      delayMs: (a, b) => (a === b ? 0.1 : 20),
      clientMs: 0.1,
      skewsMs: [0],
      seed: 1,
      probe: {
        watcher: gathered,
        openStore: (node) => watched(stores.get(node)!, gathered),
        sent: ({ envelopes }) => {
          for (const { message } of envelopes) gathered.keepMessage(message);
        },
      },
    },
    { begin: () => {}, end: () => {} },
  );
  cluster.raise(CLIENTS_PER_NODE);
  for (let ms = 0; ms < 2 * virtualMs; ms += SLICE_MS) {
    gathered.warm = ms >= virtualMs;
    gathered.running(() => cluster.run(SLICE_MS));
    const before = mainThreadMs();
    // Commits resolve in their order: an empty one resolves when all before it are on disk.
    await Promise.all([...stores.values()].map((store) => store.commit([])));
    gathered.committed(mainThreadMs() - before);
  }
  gathered.warm = false;
  for (const store of stores.values()) await store.close();
}

async function openStores(folder: string, nodes: readonly NodeId[]): Promise<Map<NodeId, VersionStore>> {
  const stores = new Map<NodeId, VersionStore>();
  for (const node of nodes) {
    const location = join(folder, node);
    mkdirSync(location, { recursive: true });
    stores.set(node, await openLevelStore({ location, durability: 'memory', cacheBytes: 64 * 2 ** 20 }));
  }
  return stores;
}

/** The store, with its commits recorded. */
function watched(store: VersionStore, gathered: Gathered): VersionStore {
  return new Proxy(store, {
    get: (target, name: keyof VersionStore) => {
      if (name !== 'commit') return target[name].bind(target);
      return (records: readonly DurableRecord[]) => gathered.committing(records, () => target.commit(records));
    },
  });
}
