/**
 * Random worlds: sessions that read, write and move, while nodes crash and links are cut. Only causality judges what a
 * transaction saw: a session that has seen a transaction, directly or through another session, reads none of its keys
 * in an older version. A failure prints its seed and path: with them as `WREN_SEED` and `WREN_PATH` it is repeated and
 * made smaller. `WREN_RUNS` sets the number of runs.
 */
import { ERROR_CODES, type NodeId, type Timestamp, type TxId, type Version } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import type { World } from '@isochron/testing/world/world';
import { everywhereOn, wrenWorld } from '@isochron/testing/world/wren-world';
import fc from 'fast-check';
import type { ClientResponse, CommitReq } from '../kernel/transactions/messages.js';
import type { SessionTransaction } from '../kernel/transactions/session.js';

const { WREN_SEED, WREN_PATH, WREN_RUNS } = process.env;

interface Step {
  readonly what: 'read' | 'write' | 'update' | 'move' | 'cut' | 'heal' | 'crash' | 'restart';
  readonly client: number;
  /** Taken modulo the number of choices. */
  readonly node: number;
  readonly other: number;
  readonly keys: readonly number[];
  readonly ms: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.oneof(
    { weight: 9, arbitrary: fc.constant('read' as const) },
    { weight: 9, arbitrary: fc.constantFrom('write' as const, 'update' as const) },
    { weight: 2, arbitrary: fc.constant('move' as const) },
    { weight: 5, arbitrary: fc.constantFrom('cut' as const, 'heal' as const, 'crash' as const, 'restart' as const) },
  ),
  client: fc.nat(3),
  node: fc.nat(5),
  other: fc.nat(5),
  keys: fc.array(fc.nat(5), { minLength: 1, maxLength: 3 }),
  ms: fc.oneof({ weight: 4, arbitrary: fc.nat(25) }, { weight: 1, arbitrary: fc.nat(500) }),
});

const stage = fc.record({
  spec: fc.constantFrom(everywhereOn(2, 1, 2), everywhereOn(3, 1, 3), everywhereOn(2, 2, 3), everywhereOn(3, 2, 4)),
  syncMs: fc.constantFrom(1, 6),
  delays: fc.array(fc.constantFrom(1, 2, 15, 70), { minLength: 36, maxLength: 36 }),
  skews: fc.array(fc.constantFrom(0, 0, 40, -90), { minLength: 6, maxLength: 6 }),
  /** Stable time stands still, so that disks hold little beyond it: Wren must do without. */
  frozen: fc.boolean(),
});
type Stage = typeof stage extends fc.Arbitrary<infer S> ? S : never;

/** For every transaction: its writes, and what its session had seen before. */
class Ledger {
  readonly #writes = new Map<TxId, readonly string[]>();
  readonly #past = new Map<TxId, ReadonlySet<TxId>>();
  readonly ct = new Map<TxId, Timestamp>();

  sent(txId: TxId, keys: readonly string[], past: ReadonlySet<TxId>): void {
    this.#writes.set(txId, keys);
    this.#past.set(txId, new Set(past));
  }

  keysOf(txId: TxId): readonly string[] {
    return this.#writes.get(txId)!;
  }

  /** A transaction and all that it depends on. */
  causesOf(txId: TxId): Iterable<TxId> {
    return [txId, ...this.#past.get(txId)!];
  }

  /** The last writer wins. */
  isNewer(a: TxId, b: TxId): boolean {
    const [x, y] = [this.ct.get(a)!, this.ct.get(b)!];
    return x !== y ? x > y : a > b;
  }

  /** The newest writer of each key among these. */
  expected(causes: ReadonlySet<TxId>): Map<string, TxId> {
    const newest = new Map<string, TxId>();
    for (const txId of causes) {
      for (const key of this.keysOf(txId)) {
        const other = newest.get(key);
        if (other === undefined || this.isNewer(txId, other)) newest.set(key, txId);
      }
    }
    return newest;
  }
}

interface Pending {
  node: NodeId;
  incarnation: number;
  ref: number;
  readonly tx: SessionTransaction;
  readonly keys: readonly string[];
  /** A commit is repeated until its outcome is known; a failed read is dropped. */
  commit: Omit<CommitReq, 'ref'> | undefined;
  then: (answer: ClientResponse) => void;
}

/** One session, with one operation at a time. */
class Actor {
  readonly client: TestClient;
  readonly past = new Set<TxId>();
  pending: Pending | undefined;

  constructor(
    readonly chaos: Chaos,
    node: NodeId,
  ) {
    this.client = new TestClient(chaos.world, node);
  }

  read(keys: readonly string[]): void {
    const { session } = this.client;
    const tx = session.begin();
    const { ts: ust, deps } = session.seen;
    this.#ask({ type: 'ReadReq', txId: null, ust, at: null, deps, keys }, tx, keys, (answer) => {
      if (answer.type === 'ReadResp') {
        session.started(tx, answer.snapshot, answer.deps);
        this.#judge(tx, keys, answer.versions);
      }
      session.end(tx);
    });
  }

  /** In one round trip, or in a transaction that was started. */
  write(keys: readonly string[], started: boolean): void {
    const { session } = this.client;
    const tx = session.begin();
    if (!started) {
      this.#commit(tx, keys, false);
      return;
    }
    const { ts: ust, deps } = session.seen;
    this.#ask({ type: 'StartTxReq', txId: tx.id, ust, at: null, deps }, tx, keys, (answer) => {
      if (answer.type !== 'StartTxResp') session.end(tx);
      else {
        session.started(tx, answer.snapshot, answer.deps);
        this.#commit(tx, keys, true);
      }
    });
  }

  /** Checks whether the operation has ended, and continues with its result. */
  poll(): void {
    const { pending } = this;
    if (pending === undefined) return;
    const { world } = this.chaos;
    const { incarnation, up } = world.node(pending.node);
    const answer = incarnation === pending.incarnation ? world.answer(pending.node, pending.ref) : undefined;
    if (answer === undefined && incarnation === pending.incarnation && up) return;
    this.pending = undefined;
    if (pending.commit !== undefined) this.#ended(pending, answer);
    else if (answer !== undefined) pending.then(answer);
    else this.client.session.end(pending.tx);
  }

  #commit(tx: SessionTransaction, keys: readonly string[], open: boolean): void {
    for (const key of keys) tx.write(key, tx.id);
    this.chaos.ledger.sent(tx.id, keys, this.past);
    const request = this.client.commitRequest(tx);
    const detached = { ...request, snapshot: tx.snapshot ?? tx.floor };
    this.#ask(open ? request : detached, tx, keys, () => {});
    this.pending!.commit = detached;
  }

  /** The same commit goes to another coordinator, and in the end to other cohorts (D4). */
  #ended(pending: Pending, answer: ClientResponse | undefined): void {
    const { session } = this.client;
    const { tx, keys, commit } = pending;
    if (answer?.type === 'CommitResp') {
      this.chaos.ledger.ct.set(tx.id, answer.ct);
      this.past.add(tx.id);
      session.committed(answer.ct, answer.deps);
    } else if (answer?.type === 'Refused' && !ERROR_CODES[answer.code] && answer.code !== 'ATTEMPT_MISMATCH') {
      session.refused();
    } else {
      this.client.node = this.chaos.running(this.client.node);
      const { attemptRegions } = commit!;
      const mismatch = answer?.type === 'Refused' && answer.code === 'ATTEMPT_MISMATCH';
      const stuck = answer?.type === 'Refused' && answer.code === 'OUTCOME_PENDING' && attemptRegions.length < 4;
      const moves = stuck && attemptRegions.at(-1) !== this.client.region;
      const next = mismatch
        ? attemptRegions.slice(0, -1)
        : moves
          ? [...attemptRegions, this.client.region]
          : attemptRegions;
      const again = { ...commit!, attemptRegions: next };
      this.#ask(again, tx, keys, () => {});
      this.pending!.commit = again;
    }
  }

  /** No key is older than the session's dependencies, or those of this read, require. */
  #judge(tx: SessionTransaction, keys: readonly string[], versions: readonly (Version | null)[]): void {
    const { ledger } = this.chaos;
    const seen = new Map<string, TxId | null>();
    keys.forEach((key, i) => {
      const version = versions[i] ?? null;
      if (version !== null) ledger.ct.set(version.txId, version.ts);
      const { value } = tx.lookup(key) ?? tx.record(key, version);
      seen.set(key, value as TxId | null);
    });
    for (const txId of seen.values()) {
      if (txId !== null) for (const cause of ledger.causesOf(txId)) this.past.add(cause);
    }
    for (const [key, newest] of ledger.expected(this.past)) {
      const found = seen.get(key);
      if (found === undefined || found === newest) continue;
      const stale = found === null || ledger.isNewer(newest, found);
      const report = { key, found, expected: newest, snapshot: tx.snapshot, deps: tx.deps };
      expect({ stale, ...report }).toEqual({ stale: false, ...report });
    }
    this.chaos.reads++;
  }

  #ask(
    request: Parameters<World['ask']>[1],
    tx: SessionTransaction,
    keys: readonly string[],
    then: Pending['then'],
  ): void {
    const { node } = this.client;
    const { world } = this.chaos;
    const { incarnation } = world.node(node);
    this.pending = { node, incarnation, ref: world.ask(node, request), tx, keys, commit: undefined, then };
  }
}

class Chaos {
  readonly world: World;
  readonly ledger = new Ledger();
  readonly actors: Actor[];
  readonly keys: readonly string[];
  readonly #nodes: readonly NodeId[];
  readonly #cuts: [NodeId, NodeId][] = [];
  reads = 0;

  constructor({ spec, syncMs, delays, skews, frozen }: Stage) {
    const ids = spec.regions.flatMap(({ nodes }) => nodes.map(({ id }) => id));
    const delay = (from: NodeId, to: NodeId) => delays[(ids.indexOf(from) * ids.length + ids.indexOf(to)) % 36]!;
    const near = (from: NodeId, to: NodeId) => from.split('-')[0] === to.split('-')[0];
    this.world = wrenWorld(spec, {
      syncMs,
      delayMs: (from, to) => (near(from, to) ? 1 : delay(from, to)),
      skewMs: (node) => skews[ids.indexOf(node) % skews.length]!,
      settings: { resolveAfterMs: 300, commitTimeoutMs: 900, snapshotWaitMs: 200, readDeadlineMs: 400, retentionMs: 0 },
    });
    if (frozen) this.world.filter = ({ message }) => message.type !== 'GossipRoot';
    this.#nodes = ids;
    const partitions = this.world.topology.partitions.length;
    this.keys = Array.from({ length: 6 }, (_, i) => keyIn(this.world, i % partitions, 'abcdef'[i]));
    this.actors = [0, 1, 2, 3].map((i) => new Actor(this, ids[i % ids.length]!));
  }

  play(steps: readonly Step[]): void {
    for (const next of steps) {
      this.#act(next);
      this.#run(next.ms);
    }
  }

  /** Heals the world, ends every operation, and lets each session read everything in every region. */
  recover(): void {
    this.world.filter = () => true;
    for (const { id, up } of this.world.nodes.values()) if (!up) this.world.restart(id);
    for (const [a, b] of this.#cuts) this.world.heal(a, b);
    const idle = () => this.actors.every(({ pending }) => pending === undefined);
    for (let i = 0; i < 100 && !idle(); i++) this.#run(300);
    expect(idle()).toBe(true);
    this.#stabilize();
    for (const node of this.#nodes) {
      for (const actor of this.actors) {
        actor.client.node = node;
        actor.read(this.keys);
      }
      for (let i = 0; i < 20 && !idle(); i++) this.#run(100);
    }
    expect(idle()).toBe(true);
  }

  /** A running node: the one used before, if it runs. */
  running(node: NodeId): NodeId {
    return this.world.node(node).up ? node : this.#up()[0]!;
  }

  #act({ what, client, node, other, keys }: Step): void {
    const up = this.#up();
    const [a, b] = [this.#nodes[node % this.#nodes.length]!, this.#nodes[other % this.#nodes.length]!];
    if (what === 'cut' && a !== b) {
      this.world.cut(a, b);
      this.#cuts.push([a, b]);
    } else if (what === 'heal' && this.#cuts.length > 0) {
      const cut = this.#cuts[node % this.#cuts.length]!;
      if (!cut.every((id) => this.world.node(id).up)) return;
      this.#cuts.splice(this.#cuts.indexOf(cut), 1);
      this.world.heal(...cut);
    } else if (what === 'crash' && up.length > 1) this.world.crash(up[node % up.length]!);
    else if (what === 'restart') {
      const down = this.#nodes.filter((id) => !up.includes(id));
      if (down.length > 0) this.world.restart(down[node % down.length]!);
    } else this.#operate(this.actors[client]!, what, up[node % up.length]!, keys);
  }

  #operate(actor: Actor, what: Step['what'], node: NodeId, picked: readonly number[]): void {
    if (actor.pending !== undefined) return;
    actor.client.node = what === 'move' ? node : this.running(actor.client.node);
    const keys = [...new Set(picked.map((i) => this.keys[i]!))];
    if (what === 'read' || what === 'move') actor.read(what === 'move' ? this.keys : keys);
    else if (what === 'write' || what === 'update') actor.write(keys, what === 'update');
  }

  #run(ms: number): void {
    const end = this.world.now + ms;
    do {
      this.world.run(Math.min(5, end - this.world.now));
      for (const actor of this.actors) actor.poll();
    } while (this.world.now < end);
  }

  #stabilize(): void {
    const mark = Math.max(...[...this.world.nodes.values()].map(({ parts }) => parts.clock.last));
    for (let i = 0; i < 60 && this.world.ust() <= mark; i++) this.#run(300);
    expect(this.world.ust()).toBeGreaterThan(mark);
  }

  #up(): NodeId[] {
    return this.#nodes.filter((id) => this.world.node(id).up);
  }
}

describe('Wren: random worlds', () => {
  it('through crashes and cut links, snapshots are causal, updates atomic, own writes visible, and replicas converge', () => {
    let reads = 0;
    const trials: fc.Parameters<[Stage, Step[]]> = {
      numRuns: Number(WREN_RUNS ?? 40),
      endOnFailure: WREN_SEED === undefined,
    };
    if (WREN_SEED !== undefined) trials.seed = Number(WREN_SEED);
    if (WREN_PATH !== undefined) trials.path = WREN_PATH;
    fc.assert(
      fc.property(stage, fc.array(step, { minLength: 30, maxLength: 80, size: 'max' }), (given, steps) => {
        const chaos = new Chaos(given);
        chaos.play(steps);
        chaos.recover();
        reads += chaos.reads;
        const { world, ledger, actors } = chaos;
        const shown = [...world.nodes.values()].map(({ id, store }) => ({ id, chains: store.chains }));
        for (const { id: partition, regions } of world.topology.partitions) {
          const heads = regions.map((region) => {
            const node = world.topology.replicaNode(partition, region)!;
            const { chains } = shown.find(({ id }) => id === node)!;
            return [...chains]
              .filter(([name]) => name.startsWith(`${partition}|`))
              .map(([name, [head]]) => `${name} ${head!.txId}`)
              .sort();
          });
          for (const other of heads) expect(other).toEqual(heads[0]);
        }
        // Every replica has, of each key that a session has written or seen, that version or a newer one.
        for (const { past } of actors) {
          for (const [key, newest] of ledger.expected(past)) {
            const partition = world.topology.partitionOf(key);
            for (const region of world.topology.partitions[partition]!.regions) {
              const node = world.topology.replicaNode(partition, region)!;
              const head = world.node(node).store.chains.get(`${partition}|${key}`)?.[0]?.txId;
              const lost = head === undefined || (head !== newest && !ledger.isNewer(head, newest));
              expect({ lost, key, region, head, newest }).toEqual({ lost: false, key, region, head, newest });
            }
          }
        }
        for (const { parts } of world.nodes.values()) {
          for (const { waiting } of parts.replicas) expect(waiting.counters.blockedReads).toBe(0);
        }
      }),
      trials,
    );
    expect(reads).toBeGreaterThan(100);
  });
});
