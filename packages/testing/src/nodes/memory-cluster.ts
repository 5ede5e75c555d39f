/**
 * A cluster in memory: real machines and hosts over a plain store, with one node in each region, and one region more
 * that no client reaches. Its time passes as the test lets it; a request is answered at the time at which it arrives.
 */
import type { QualifiedKey, RegionId, StoredVersion, Timestamp, TxId } from '@isochron/core';
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
  /** Time has passed. */
  advance(): void;
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
  /** Whether stable time rises with `stabilise` alone. */
  readonly held?: boolean;
}

export class MemoryCluster {
  readonly family: Family;
  readonly nodes: ClusterNode[] = [];
  /** Commit timestamps of all transactions of clients, in the order of their commits. */
  readonly outcomes = new Map<TxId, Timestamp>();
  readonly regions: readonly RegionId[];
  readonly #held = new Set<string>();

  constructor({ regions = ['east'], protocol = 'paris', keyspaces = [], held = false }: MemoryClusterOptions = {}) {
    this.regions = regions;
    const all = [...regions, WITNESS];
    const keyspace = (name: string, partitions: number) => ({ name, partitions, replication: all.length });
    this.family = familyOf(protocol, {
      regions: all.map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
      keyspaces: [keyspace('default', 2), ...keyspaces.map((name) => keyspace(name, 1))],
    });
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
    for (const node of this.nodes) node.advance();
  }

  /** Whether a request has no answer yet: the passing of time may bring it. */
  get isBusy(): boolean {
    return this.nodes.some((node) => node.isBusy);
  }

  /** From now on stable time rises in these regions with `stabilise` alone: default, all. */
  hold(...regions: readonly RegionId[]): void {
    for (const region of regions.length > 0 ? regions : this.regions) this.#held.add(`${region}-1`);
    this.family.hold(this.#held);
    this.pass(REPORTED_MS);
  }

  /** Stable time rises by itself. */
  release(): void {
    this.#held.clear();
  }

  /** All commits so far become stable, in these regions: default, all. */
  stabilise(...regions: readonly RegionId[]): Timestamp {
    const wanted = regions.length > 0 ? regions : this.regions;
    return this.#rise(wanted, ({ value }) => value);
  }

  /** All commits so far become stable in all regions, and every region knows that. */
  stabiliseEverywhere(): Timestamp {
    return this.#rise(this.regions, ({ served }) => served);
  }

  #rise(wanted: readonly RegionId[], risen: (stable: StableTime) => Timestamp): Timestamp {
    const { clock } = this;
    const before = [...this.#held];
    const times = wanted.map((region) => this.family.stable(`${region}-1`));
    for (const region of wanted) this.#held.delete(`${region}-1`);
    for (const stable of times) stable.want(clock);
    for (let ms = 0; times.some((stable) => risen(stable) < clock); ms++) {
      if (ms > STABLE_MS) throw new Error(`stable time did not reach ${clock}`);
      this.pass(1);
    }
    for (const node of before) this.#held.add(node);
    this.pass(REPORTED_MS);
    return this.ustOf(wanted[0]!);
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
