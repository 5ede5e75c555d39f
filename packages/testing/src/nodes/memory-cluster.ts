/**
 * A cluster in memory: real machines and hosts over a plain store. Unless a test names the nodes, each region has a
 * node, and a region more, the witness, no client reaches. Its time passes as the test lets it; a request is answered
 * at the time at which it arrives.
 */
import type { ClusterSpec, NodeId, QualifiedKey, RegionId, StoredVersion, Timestamp, TxId } from '@isochron/core';
import type { StableTime } from '@isochron/protocols/kernel/replication/stable-time';
import type { ProtocolName } from '@isochron/protocols/session-rules';
import type { WireContent } from '@isochron/wire/session-frames';
import { type Family, familyOf } from './family.js';

/** The region that keeps stable time back: its node replicates everything. */
const WITNESS = 'witness';
/** The last report before a hold has its effect within this time. */
const REPORTED_MS = 40;
/** Stable time rises within this time, unless a node is cut off. */
const STABLE_MS = 10_000;

/** A node of the cluster as the cluster needs it. */
interface ClusterNode {
  readonly isBusy: boolean;
  /** Writes as another client, at a node that no client of a test reaches. */
  writeBeside(writes: readonly WireWrite[]): Timestamp;
}

/** A write as a frame carries it. */
export interface WireWrite {
  readonly key: QualifiedKey;
  readonly value: WireContent;
}

export interface MemoryClusterOptions {
  /** Default: one region. */
  readonly regions?: readonly RegionId[];
  readonly protocol?: ProtocolName;
  /** Keyspaces of one partition beside `default`, which has two. */
  readonly keyspaces?: readonly string[];
  /** Regions, nodes and keyspaces in place of these: at least two nodes that replicate something together. */
  readonly spec?: ClusterSpec;
  /** Whether stable time rises with `stabilise` alone. */
  readonly held?: boolean;
}

export class MemoryCluster {
  readonly family: Family;
  readonly nodes: ClusterNode[] = [];
  /** Commit timestamps of all transactions of clients, in the order of their commits. */
  readonly outcomes = new Map<TxId, Timestamp>();
  readonly regions: readonly RegionId[];
  readonly #held = new Set<NodeId>();
  readonly #passing = new Set<() => void>();

  constructor({ regions, protocol = 'paris', keyspaces, spec, held = false }: MemoryClusterOptions = {}) {
    this.family = familyOf(protocol, spec ?? witnessed(regions, keyspaces));
    this.regions = this.family.world.topology.regions.filter((region) => region !== WITNESS);
    this.pass(100);
    if (held) this.hold();
  }

  /** The time of its clocks. */
  get now(): number {
    return this.family.world.now;
  }

  /** The stable time of the first region. */
  get ust(): Timestamp {
    return this.ustOf(this.regions[0]!);
  }

  /** The highest commit timestamp. */
  get clock(): Timestamp {
    return Math.max(0, ...this.outcomes.values());
  }

  ustOf(region: RegionId): Timestamp {
    return this.family.stable(`${region}-1`).value;
  }

  /** A client's transaction has committed. @throws if a node has reported another commit timestamp before */
  committed(tx: TxId, ts: Timestamp): void {
    const known = this.outcomes.get(tx) ?? ts;
    if (known !== ts) throw new Error(`${tx} has committed at ${known} and at ${ts}`);
    this.outcomes.set(tx, ts);
  }

  /** The versions of a key that the first region has stored. */
  versionsOf(key: QualifiedKey): readonly StoredVersion[] {
    const { chains } = this.family.store(`${this.regions[0]}-1`);
    return [...chains].flatMap(([name, versions]) => (name.endsWith(`|${key}`) ? versions : []));
  }

  /** Time passes. */
  pass(ms: number): void {
    this.family.world.run(ms);
    for (const passed of this.#passing) passed();
  }

  /** Calls `passed` whenever time has passed, until the returned function is called. */
  onPass(passed: () => void): () => void {
    this.#passing.add(passed);
    return () => void this.#passing.delete(passed);
  }

  /** Whether a request has no answer yet: the passing of time may bring it. */
  get isBusy(): boolean {
    return this.nodes.some((node) => node.isBusy);
  }

  /** kill -9 and a start on the same disk. */
  restart(node: NodeId): void {
    this.family.restart(node);
  }

  /** From now on stable time rises in these regions with `stabilise` alone: default, all. */
  hold(...regions: readonly RegionId[]): void {
    for (const node of this.#nodesOf(regions)) this.#held.add(node);
    this.family.hold(this.#held);
    this.pass(REPORTED_MS);
  }

  /** Stable time rises by itself. */
  release(): void {
    this.#held.clear();
  }

  /** All commits so far become stable, in these regions: default, all. */
  stabilise(...regions: readonly RegionId[]): Timestamp {
    return this.#rise(regions, ({ value }) => value);
  }

  /** All commits so far become stable in all regions, and every region knows that. */
  stabiliseEverywhere(): Timestamp {
    return this.#rise([], ({ served }) => served);
  }

  /** The nodes of these regions, which clients reach: default, of all. */
  #nodesOf(regions: readonly RegionId[]): readonly NodeId[] {
    const { topology } = this.family.world;
    const wanted = new Set(regions.length > 0 ? regions : this.regions);
    return topology.nodes.filter((node) => wanted.has(topology.regionOf(node)));
  }

  #rise(regions: readonly RegionId[], risen: (stable: StableTime) => Timestamp): Timestamp {
    const { clock } = this;
    const before = [...this.#held];
    const nodes = this.#nodesOf(regions);
    const times = nodes.map((node) => this.family.stable(node));
    for (const node of nodes) this.#held.delete(node);
    for (const stable of times) stable.want(clock);
    for (let ms = 0; times.some((stable) => risen(stable) < clock); ms++) {
      if (ms > STABLE_MS) throw new Error(`stable time did not reach ${clock}`);
      this.pass(1);
    }
    for (const node of before) this.#held.add(node);
    this.pass(REPORTED_MS);
    // A feed of several nodes ends where the lowest of them ends: all get the highest stable time that one has.
    const highest = Math.max(...times.map(({ value }) => value));
    for (const stable of times) stable.aggregate(highest, stable.sOld, stable.served);
    return highest;
  }

  /** Another client writes documents; null deletes. The keys are qualified. */
  write(writes: Readonly<Record<QualifiedKey, WireContent>>): Timestamp {
    return this.nodes[0]!.writeBeside(Object.entries(writes).map(([key, value]) => ({ key, value })));
  }

  /** Another client writes a document, which is stable at once. */
  seed(key: QualifiedKey, document: unknown): void {
    this.write({ [key]: JSON.stringify(document) });
    this.stabilise();
  }
}

/** Regions of one node that replicate everything, with the witness, which keeps stable time back. */
function witnessed(regions: readonly RegionId[] = ['east'], keyspaces: readonly string[] = []): ClusterSpec {
  const all = [...regions, WITNESS];
  const keyspace = (name: string, partitions: number) => ({ name, partitions, replication: all.length });
  return {
    regions: all.map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
    keyspaces: [keyspace('default', 2), ...keyspaces.map((name) => keyspace(name, 1))],
  };
}
