import { type QualifiedKey, qualify, Random, type RegionId, Topology } from '@isochron/core';
import { TRANSACTION_PROTOCOLS } from '@isochron/protocols';
import type { Transactions } from './closed-loop.js';
import { type Cost, type CostModel, FREE_MODEL } from './cost-model.js';
import { type Ramp, runScale } from './run-scale.js';
import type { ScaleClusterOptions } from './scale-cluster.js';

const WAN_MS = 40;
const LAN_MS = 0.5;
const CLIENT_MS = 1;

/** Regions of nodes with one partition each, each partition in two regions; a key in each. */
function clusterOf(regions: number, nodesPerRegion: number) {
  const spec = {
    regions: Array.from({ length: regions }, (_, r) => ({
      id: `r${r}`,
      nodes: Array.from({ length: nodesPerRegion }, (_, n) => ({ id: `r${r}-${n}` })),
    })),
    keyspaces: [{ name: 'default', partitions: (regions * nodesPerRegion) / 2, replication: 2 }],
  };
  const topology = Topology.of(spec);
  const keys = new Map<number, QualifiedKey>();
  for (let i = 0; keys.size < topology.partitions.length; i++) {
    const key = qualify('default', `key-${i}`);
    keys.set(topology.partitionOf(key), key);
  }
  return { spec, topology, keys };
}

/** Reads and writes a key of a partition that the region hosts. */
class LocalTransactions implements Transactions {
  readonly #random: Random;
  #values = 0;

  constructor(
    seed: number,
    readonly keys: readonly QualifiedKey[],
  ) {
    this.#random = new Random(seed);
  }

  nextTransaction() {
    const keys = [this.#random.pick(this.keys)];
    return { reads: keys, writes: keys };
  }

  nextValue(): string {
    return String(this.#values++);
  }
}

function optionsOf(regions: number, nodesPerRegion: number, model: CostModel, more: Partial<ScaleClusterOptions> = {}) {
  const { spec, topology, keys } = clusterOf(regions, nodesPerRegion);
  const hosted = (region: RegionId): QualifiedKey[] =>
    topology.partitions.filter((partition) => partition.regions.includes(region)).map(({ id }) => keys.get(id)!);
  return {
    spec,
    entry: TRANSACTION_PROTOCOLS.paris,
    model,
    cores: 1,
    delayMs: (from: RegionId, to: RegionId) => (from === to ? LAN_MS : WAN_MS),
    clientMs: CLIENT_MS,
    skewsMs: [0],
    keysOf: (partition: number) => [keys.get(partition)!],
    transactions: (region: RegionId, seed: number) => new LocalTransactions(seed, hosted(region)),
    seed: 7,
    ...more,
  } satisfies ScaleClusterOptions;
}

const RAMP: Ramp = { clientsPerNode: [4], settleMs: 300, measureMs: 300, leastGain: 0 };
/**
 * Clients that ask again at once: turns of many requests end together, so the next requests of their clients would come
 * together.
 */
const NEAR = { clientMs: 0.05 };
const cost = (us: number): Cost => ({ us, perItemUs: 0 });

/** The clients' messages cost this, and all other work is free. */
const clientsCost = (us: number): CostModel => ({ ...FREE_MODEL, client: { receive: cost(us), send: cost(0) } });

describe('runScale', () => {
  it('a scale run takes the time of the links and the disk alone where work is free', () => {
    const syncMs = 3;
    const model = { ...FREE_MODEL, batch: { ...FREE_MODEL.batch, disk: cost(syncMs * 1000) } };
    // One node a region: two partitions in two regions, every transaction is local to its node.
    const { points } = runScale(optionsOf(2, 1, model), RAMP);
    const [point] = points as [(typeof points)[0]];
    // Start with read, and commit: two round trips. The prepare is durable first; a batch may be under way before it.
    expect(point.meanMs).toBeGreaterThanOrEqual(4 * CLIENT_MS + syncMs);
    expect(point.p99Ms).toBeLessThanOrEqual(4 * CLIENT_MS + 2 * syncMs + 1e-6);
    expect(point.utilisation.most).toBe(0);
    expect(point.diskUtilisation.mean).toBeGreaterThan(0);
  });

  it('a scale run has the latency of two round trips of the client where nothing but links takes time', () => {
    const { points } = runScale(optionsOf(2, 1, FREE_MODEL), RAMP);
    expect(points[0]!.p50Ms).toBeCloseTo(4 * CLIENT_MS, 6);
    expect(points[0]!.meanMs).toBeCloseTo(4 * CLIENT_MS, 6);
    expect(points[0]!.perSecond).toBeCloseTo((2 * 4 * 1000) / (4 * CLIENT_MS), -1);
  });

  it("a scale run adds the service time of the client's requests, also where no other client waits", () => {
    const { points } = runScale(optionsOf(2, 1, clientsCost(2_000)), { ...RAMP, clientsPerNode: [1] });
    expect(points[0]!.p50Ms).toBeCloseTo(4 * CLIENT_MS + 2 * 2, 6);
  });

  it('a scale run adds the way to another node where the partition is elsewhere in the region', () => {
    const { points } = runScale(optionsOf(2, 2, FREE_MODEL), RAMP);
    expect(points[0]!.p50Ms).toBeGreaterThan(4 * CLIENT_MS - 1e-6);
    // Read and prepare of a node beside it.
    expect(points[0]!.p99Ms).toBeCloseTo(4 * CLIENT_MS + 4 * LAN_MS, 6);
  });

  it('a scale run is saturated at 1 / service time of each node, and twice the nodes do twice as much', () => {
    const ramp = { ...RAMP, clientsPerNode: [20], measureMs: 2_000 };
    // A transaction has two messages of a client: 500 a second and node.
    const [small, large] = [1, 2].map((nodes) => runScale(optionsOf(2, nodes, clientsCost(1_000), NEAR), ramp));
    for (const { nodes, points } of [small!, large!]) {
      expect(points[0]!.perSecond / nodes).toBeGreaterThan(490);
      expect(points[0]!.perSecond / nodes).toBeLessThan(510);
      expect(points[0]!.utilisation.least).toBeGreaterThan(0.98);
      expect(points[0]!.cpuUs.clients).toBeGreaterThan(1_950);
      expect(points[0]!.cpuUs.clients).toBeLessThan(2_050);
      expect(points[0]!.cpuUs.reads).toBe(0);
    }
    expect(large!.points[0]!.perSecond / small!.points[0]!.perSecond).toBeCloseTo(2, 1);
  });

  it('a scale run does as much more as there are more cores', () => {
    const ramp = { ...RAMP, clientsPerNode: [30], measureMs: 2_000 };
    const [one, three] = [1, 3].map((cores) => runScale(optionsOf(2, 1, clientsCost(1_000), { cores, ...NEAR }), ramp));
    expect(three!.points[0]!.perSecond / one!.points[0]!.perSecond).toBeCloseTo(3, 1);
    expect(three!.points[0]!.utilisation.most).toBeLessThanOrEqual(1 + 1e-9);
  });

  it('a scale run charges every part of the model', () => {
    const charged = (model: CostModel): number => runScale(optionsOf(2, 2, model), RAMP).points[0]!.utilisation.mean;
    const some = { other: cost(20) };
    const parts: Partial<CostModel>[] = [
      { steps: some },
      { encode: some },
      { decode: some },
      { turnUs: 20 },
      { frame: { sendUs: 20, receiveUs: 0 } },
      { frame: { sendUs: 0, receiveUs: 20 } },
      { client: { receive: cost(20), send: cost(0) } },
      { client: { receive: cost(0), send: cost(20) } },
      { batch: { loop: cost(20), disk: cost(0) } },
    ];
    for (const part of parts) expect(charged({ ...FREE_MODEL, ...part })).toBeGreaterThan(0.001);
  });

  it('a scale run gives the same figures for the same seed, and others for another one', () => {
    const once = (seed: number): unknown => runScale(optionsOf(3, 2, clientsCost(200), { seed }), RAMP);
    expect(once(1)).toEqual(once(1));
    expect(once(1)).not.toEqual(once(2));
  });

  it('a scale run ends every transaction, or has it under way: each client has exactly one', () => {
    const ramp = { ...RAMP, clientsPerNode: [2, 6] };
    const { begun, ended, underWay, nodes, points } = runScale(optionsOf(3, 2, clientsCost(200)), ramp);
    expect(begun).toBe(ended + underWay);
    expect(underWay).toBe(6 * nodes);
    expect(points.map(({ refused }) => refused)).toEqual([0, 0]);
    expect(ended).toBeGreaterThan(points[0]!.committed + points[1]!.committed);
  });

  it('a scale run adds clients until throughput grows no more', () => {
    const ramp = { ...RAMP, clientsPerNode: [1, 20, 40, 80], leastGain: 0.02 };
    const { points } = runScale(optionsOf(2, 1, clientsCost(1_000)), ramp);
    expect(points.map(({ clientsPerNode }) => clientsPerNode)).toEqual([1, 20, 40]);
    expect(points[0]!.perSecond).toBeLessThan(points[1]!.perSecond);
  });
});
