/**
 * Random disasters: writes, crashes, cut links and lost disks, and the guarantees after all is healed (D10). A failure
 * prints its seed and path: with them as `REBUILD_SEED` and `REBUILD_PATH` it is repeated and made smaller, which takes
 * minutes. `REBUILD_RUNS` sets the number of runs.
 */
import type { ClusterSpec, NodeId, Timestamp, TxId } from '@isochron/core';
import { keyIn } from '@isochron/testing/world/clients';
import { restart, runRebuilding } from '@isochron/testing/world/lost-disks';
import { PlainStore } from '@isochron/testing/world/plain-store';
import { World } from '@isochron/testing/world/world';
import fc from 'fast-check';

const { REBUILD_SEED, REBUILD_PATH, REBUILD_RUNS } = process.env;

const cluster = (nodes: number, partitions: number, replication: number): ClusterSpec => ({
  regions: ['a', 'b', 'c'].map((id) => ({
    id,
    nodes: Array.from({ length: nodes }, (_, i) => ({ id: `${id}-${i + 1}` })),
  })),
  keyspaces: [{ name: 'default', partitions, replication }],
});

interface Step {
  readonly what: 'write' | 'cut' | 'heal' | 'crash' | 'restart' | 'wipe';
  /** Taken modulo the number of choices. */
  readonly node: number;
  readonly other: number;
  readonly keys: readonly number[];
  readonly ms: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.oneof(
    { weight: 12, arbitrary: fc.constant('write' as const) },
    { weight: 8, arbitrary: fc.constantFrom('cut' as const, 'heal' as const, 'crash' as const, 'restart' as const) },
    { weight: 2, arbitrary: fc.constant('wipe' as const) },
  ),
  // Few, so that steps meet.
  node: fc.nat(5),
  other: fc.nat(5),
  keys: fc.array(fc.nat(40), { minLength: 1, maxLength: 3 }),
  // Interesting steps come before a write has reached all, or during a rebuild.
  ms: fc.oneof({ weight: 3, arbitrary: fc.nat(30) }, { weight: 1, arbitrary: fc.nat(900) }),
});

const stage = fc.record({
  spec: fc.constantFrom(cluster(1, 2, 3), cluster(1, 3, 2), cluster(2, 4, 2), cluster(2, 3, 3)),
  empty: fc.boolean(),
  syncMs: fc.constantFrom(1, 5),
  prefetchMs: fc.constantFrom(0, 3, 60, 200),
  delays: fc.array(fc.constantFrom(1, 2, 20, 60), { minLength: 36, maxLength: 36 }),
});
type Stage = typeof stage extends fc.Arbitrary<infer S> ? S : never;

/** A transaction that was sent. */
interface Sent {
  readonly keys: readonly string[];
  readonly node: NodeId;
  readonly incarnation: number;
  readonly ref: number;
  ct: Timestamp | undefined;
  /** A stable time has covered it while every replica had it. */
  stable: boolean;
}

class Disasters {
  readonly world: World;
  readonly nodes: readonly NodeId[];
  readonly sent = new Map<TxId, Sent>();
  readonly #down = new Set<NodeId>();
  readonly #cuts: [NodeId, NodeId][] = [];
  wiped = 0;
  gaveUp = 0;
  /**
   * A disk was lost while another node had no data, or had not settled the losses of its own disk: of a transaction of
   * both perhaps no survivor has the other part.
   */
  overlapping = false;
  /** A disk was lost that no peer had received anything from: that looks like a first start. */
  early = false;
  /** Versions that only a lost disk had, as partition and transaction. */
  readonly lost = new Set<string>();

  constructor(readonly given: Stage) {
    const { spec, empty, syncMs, prefetchMs, delays } = given;
    const ids = spec.regions.flatMap(({ nodes }) => nodes.map(({ id }) => id));
    this.world = new World({
      spec,
      empty,
      syncMs,
      prefetchMs,
      // Nothing is collected, so that every version can be looked for.
      settings: { retentionMs: 1e9, resolveAfterMs: 300, commitTimeoutMs: 1500 },
      delayMs: (from, to) => delays[(ids.indexOf(from) * ids.length + ids.indexOf(to)) % delays.length]!,
    });
    this.nodes = ids;
  }

  play(steps: readonly Step[]): void {
    for (const next of steps) {
      this[next.what](next);
      this.#run(next.ms);
    }
  }

  /** Heals everything. */
  recover(): void {
    for (const node of this.#down) restart(this.world, node);
    for (const [a, b] of this.#cuts) this.world.heal(a, b);
    const whole = () => this.nodes.every((id) => this.#joined(id) && this.world.node(id).store.prepared.size === 0);
    for (let i = 0; i < 150 && !whole(); i++) this.#run(1000);
    const mark = Math.max(...this.nodes.map((id) => this.world.node(id).parts.clock.last));
    for (let i = 0; i < 60 && this.world.ust() <= mark; i++) this.#run(1000);
    expect({ whole: whole(), goesOn: this.world.ust() > mark }).toEqual({ whole: true, goesOn: true });
  }

  write({ node, keys }: Step): void {
    const id = this.#pick(
      this.nodes.filter((up) => !this.#down.has(up)),
      node,
    );
    if (id === undefined || !this.#joined(id)) return;
    const { parts, incarnation } = this.world.node(id);
    const txId = `tx-${this.sent.size}`;
    const { length } = this.world.topology.partitions;
    const names = [...new Set(keys.map((k) => keyIn(this.world, k % length, 'abcdefgh'[k % 8])))];
    const ust = parts.stable.value;
    const ref = this.world.ask(id, {
      type: 'CommitReq',
      txId,
      snapshot: ust,
      hwt: 0,
      sentAfter: ust,
      attemptRegions: [this.world.topology.regionOf(id)],
      principal: 'p',
      writes: names.map((key) => ({ key, value: `"${txId}"` })),
    });
    this.sent.set(txId, { keys: names, node: id, incarnation, ref, ct: undefined, stable: false });
  }

  cut({ node, other }: Step): void {
    const [a, b] = [this.#pick(this.nodes, node)!, this.#pick(this.nodes, other)!];
    if (a === b) return;
    this.world.cut(a, b);
    this.#cuts.push([a, b]);
  }

  heal({ node }: Step): void {
    const cut = this.#pick(this.#cuts, node);
    if (cut === undefined || cut.some((id) => this.#down.has(id))) return;
    this.#cuts.splice(this.#cuts.indexOf(cut), 1);
    this.world.heal(...cut);
  }

  crash({ node }: Step): void {
    const up = this.nodes.filter((id) => !this.#down.has(id));
    if (up.length < 2) return;
    const id = this.#pick(up, node)!;
    this.world.crash(id);
    this.#down.add(id);
  }

  restart({ node }: Step): void {
    const id = this.#pick([...this.#down], node);
    if (id === undefined) return;
    this.#down.delete(id);
    restart(this.world, id);
  }

  /** Never the last copy: at most as many disks are lost at a time as there are further replicas. */
  wipe({ node }: Step): void {
    const id = this.#pick(this.nodes, node)!;
    const without = this.nodes.filter((other) => other !== id && !this.#joined(other)).length;
    if (without > this.given.spec.keyspaces[0]!.replication! - 2) return;
    this.overlapping ||= without > 0 || this.nodes.some((other) => other !== id && !this.#settled(other));
    this.early ||= this.nodes.every((other) => this.world.node(other).parts.stable.aggregated === 0);
    this.#lose(id);
    if (!this.#down.has(id)) this.world.crash(id);
    this.#down.delete(id);
    this.world.restart(id, new PlainStore());
    this.wiped++;
  }

  /** Prepares, and commits that no other replica has yet. */
  #lose(id: NodeId): void {
    const { store } = this.world.node(id);
    for (const { partition, txId } of store.prepared.values()) this.lost.add(`${partition}|${txId}`);
    for (const partition of store.logs.keys()) {
      const others = this.world.topology.partitions[partition]!.regions.filter(
        (region) => region !== this.world.topology.regionOf(id),
      );
      for (const { tx } of store.ownLog(partition)) {
        const { txId } = tx;
        const held = ({ key }: { key: string }) =>
          others.some((region) => this.count(partition, region, key, txId) > 0);
        if (!tx.writes.every(held)) this.lost.add(`${partition}|${txId}`);
      }
    }
  }

  /** How many versions of a transaction a replica has of a key. */
  count(partition: number, region: string, key: string, txId: TxId): number {
    const { store } = this.world.node(this.world.topology.replicaNode(partition, region)!);
    return (store.chains.get(`${partition}|${key}`) ?? []).filter((version) => version.txId === txId).length;
  }

  /** The same, at any replica, after all is healed. */
  finally(key: string, txId: TxId): number {
    const { id, regions } = this.world.topology.partitions[this.world.topology.partitionOf(key)]!;
    return this.count(id, regions[0]!, key, txId);
  }

  #run(ms: number): void {
    this.gaveUp += runRebuilding(this.world, ms).length;
    const ust = Math.max(...this.nodes.map((id) => this.world.node(id).parts.stable.aggregated));
    for (const [txId, sent] of this.sent) {
      if (sent.ct === undefined && this.world.node(sent.node).incarnation === sent.incarnation) {
        const answer = this.world.answer(sent.node, sent.ref);
        if (answer?.type === 'CommitResp') sent.ct = answer.ct;
      }
      if (sent.ct !== undefined && sent.ct <= ust && !sent.stable) sent.stable = this.#everywhere(txId, sent.keys);
    }
  }

  /** Whether every node reports the transaction as lost. */
  reported(txId: TxId): boolean {
    return this.nodes.every((id) => this.world.node(id).parts.losses.get(txId) !== undefined);
  }

  #everywhere(txId: TxId, keys: readonly string[]): boolean {
    const { topology } = this.world;
    return keys.every((key) => {
      const { id, regions } = topology.partitions[topology.partitionOf(key)]!;
      return regions.every(
        (region) => this.#joined(topology.replicaNode(id, region)!) && this.count(id, region, key, txId) === 1,
      );
    });
  }

  #settled(id: NodeId): boolean {
    return this.world.node(id).parts.membership.settled;
  }

  #joined(id: NodeId): boolean {
    return this.world.node(id).parts.membership.joined;
  }

  #pick<T>(from: readonly T[], number: number): T | undefined {
    return from[number % from.length];
  }
}

describe('D10: random disasters', () => {
  it('after random disasters replicas agree, nothing stable is lost, and without a lost disk nothing acknowledged is', () => {
    const trials: fc.Parameters<[Stage, Step[]]> = {
      numRuns: Number(REBUILD_RUNS ?? 15),
      endOnFailure: REBUILD_SEED === undefined,
    };
    if (REBUILD_SEED !== undefined) trials.seed = Number(REBUILD_SEED);
    if (REBUILD_PATH !== undefined) trials.path = REBUILD_PATH;
    fc.assert(
      fc.property(stage, fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }), (given, steps) => {
        const disasters = new Disasters(given);
        disasters.play(steps);
        disasters.recover();
        const { world, sent, wiped, gaveUp } = disasters;
        for (const { id, regions } of world.topology.partitions) {
          const shown = regions.map((region) => contents(world, world.topology.replicaNode(id, region)!, id));
          for (const other of shown) expect(other).toEqual(shown[0]);
        }
        for (const [txId, { keys, ct, stable }] of sent) {
          const counts = new Map(keys.map((key) => [key, disasters.finally(key, txId)]));
          expect({ txId, twice: [...counts.values()].some((count) => count > 1) }).toEqual({ txId, twice: false });
          if (stable || (wiped + gaveUp === 0 && ct !== undefined)) {
            expect({ txId, counts }).toEqual({ txId, counts: new Map(keys.map((key) => [key, 1])) });
          } else if (!disasters.overlapping && !disasters.early) {
            // The rest of a partly lost transaction is taken back: all of it or nothing.
            expect({ txId, kinds: new Set(counts.values()).size }).toEqual({ txId, kinds: 1 });
            const gone = ct !== undefined && keys.some((key) => counts.get(key) === 0);
            const somewhere = keys.some((key) => !disasters.lost.has(`${world.topology.partitionOf(key)}|${txId}`));
            if (gone && somewhere)
              expect({ txId, reported: disasters.reported(txId) }).toEqual({ txId, reported: true });
          }
        }
        if (wiped === 0) expect(gaveUp).toBe(0);
      }),
      trials,
    );
  });
});

const contents = (world: World, node: NodeId, partition: number): unknown =>
  [...world.node(node).store.chains]
    .filter(([name]) => name.startsWith(`${partition}|`))
    .map(([name, chain]) => [name, chain.map(({ ts, txId }) => `${ts} ${txId}`)])
    .sort();
