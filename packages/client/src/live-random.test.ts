/**
 * Live queries of one client of a cluster in memory, at random: slow and behind nodes, lost connections, refused and
 * damaged frames, logs that do not go back far enough. Each call of an observer, and what it shows after each step, is
 * checked against the fold of all commits with the client's own writes.
 */
import type { Content, QualifiedKey, Timestamp, TxId, Value } from '@isochron/core/ids';
import { Random } from '@isochron/core/random';
import { Update } from '@isochron/core/updates/update';
import { isOfLevel } from '@isochron/core/versions';
import { laidOver } from '@isochron/protocols/kernel/transactions/write-cache';
import { World } from '@isochron/testing/client/world';
import { MemoryCluster } from '@isochron/testing/nodes/memory-cluster';
import { MemoryNode, type Reaction, refusal } from '@isochron/testing/nodes/memory-node';
import type { ClientFrame } from '@isochron/wire/session-frames';
import type { LiveDocument, LiveObserver, LiveScope, ScopeView } from './live/observer.js';

const SEEDS = Number(process.env.LIVE_SEEDS ?? 120);
const FIRST = Number(process.env.LIVE_FIRST ?? 1);
const STEPS = 120;

/** An own transaction. */
interface Own {
  readonly tx: TxId;
  readonly writes: readonly { readonly key: QualifiedKey; readonly value: Content }[];
  /** The session does not wait for it: refused, or given up. */
  isOut: boolean;
}

/** Whether a scope has a key. */
const isIn = (scope: LiveScope, key: QualifiedKey): boolean =>
  'keys' in scope ? scope.keys.includes(key) : scope.start <= key && key < scope.end && isOfLevel(scope.level, key);

class Checked implements LiveObserver {
  snapshot: Timestamp = -1;
  views: readonly ScopeView[] | undefined;
  error: string | undefined;
  #copies: Map<QualifiedKey, LiveDocument>[] = [];

  constructor(
    readonly run: Run,
    readonly scopes: readonly LiveScope[],
  ) {}

  next(snapshot: Timestamp, views: readonly ScopeView[]): void {
    const { run } = this;
    if (snapshot < run.position) run.violate(`the position went back from ${run.position} to ${snapshot}`);
    run.position = snapshot;
    const isFirst = this.views === undefined;
    views.forEach(({ documents, changed }, i) => {
      const before = this.#copies[i] ?? new Map<QualifiedKey, LiveDocument>();
      const keys = new Set([...before.keys(), ...documents.keys()]);
      const differing = [...keys].filter((key) => before.get(key) !== documents.get(key)).sort();
      if (differing.join() !== [...changed].sort().join()) run.violate(`changed: ${[...changed]}, not ${differing}`);
    });
    if (!isFirst && views.every(({ changed }) => changed.size === 0)) run.violate('a call without a change');
    this.#copies = views.map(({ documents }) => new Map(documents));
    this.views = views;
    this.snapshot = snapshot;
    this.check(true);
  }

  failed(error: { readonly code: string }): void {
    this.error = error.code;
  }

  /**
   * What it shows is its snapshot with own writes laid over. Between its calls the snapshot may have moved to a later
   * one that shows the same: then a write that is given up is part of that.
   */
  check(isCall = false): void {
    if (this.run.isDetaching) return;
    this.views?.forEach(({ documents }, i) => {
      const shown = [...documents.values()].map(({ key, value, pending }) => `${key}=${value}${pending ? '*' : ''}`);
      const expected = this.run.expected(this.scopes[i]!, this.snapshot);
      shown.sort();
      const later = isCall ? [] : this.run.commits.filter((ts) => ts > this.snapshot);
      const shows = (at: readonly string[]): boolean => at.join('\n') === shown.join('\n');
      if (!shows(expected) && !later.some((ts) => shows(this.run.expected(this.scopes[i]!, ts))))
        this.run.violate(`at ${this.snapshot} shown\n${shown.join('\n')}\n, not\n${expected.join('\n')}`);
    });
  }
}

class Run {
  readonly random: () => number;
  readonly nodes: readonly MemoryNode[];
  readonly cluster: MemoryCluster;
  readonly world: World;
  readonly observers = new Set<Checked>();
  readonly owns: Own[] = [];
  readonly violations: string[] = [];
  position: Timestamp = -1;
  /** The writes of other clients, by their commit timestamps. */
  readonly #others = new Map<
    QualifiedKey,
    { readonly ct: Timestamp; readonly txId: TxId; readonly value: Content }[]
  >();
  #othersWritten = 0;
  /** Cursors below are refused. */
  #keptAfter: Timestamp = 0;
  #handles = 0;
  faults = 0;
  isDetaching = false;

  constructor(seed: number) {
    const source = new Random(seed);
    this.random = () => source.float();
    const regions = ['east', 'west', 'north'].slice(0, 1 + this.int(3));
    this.cluster = new MemoryCluster({ regions, keyspaces: ['other'] });
    this.nodes = regions.map((region) => new MemoryNode(region, this.cluster));
    this.cluster.hold();
    this.world = new World(this.nodes, { random: this.random, settings: { commitTimeoutMs: 1500 } });
    for (const node of this.nodes) node.script = (frame) => this.#fault(frame);
    this.world.ask({ f: 'connect' }, 2000);
    this.world.jitterMs = () => (this.random() < 0.1 ? this.int(300) : this.int(3));
    this.faults = 0.05;
  }

  /** The timestamps of all commits. */
  get commits(): readonly Timestamp[] {
    return [...this.cluster.outcomes.values()];
  }

  int(below: number): number {
    return Math.floor(this.random() * below);
  }

  pick<T>(all: readonly T[]): T {
    return all[this.int(all.length)]!;
  }

  violate(what: string): void {
    this.violations.push(what);
  }

  /** The documents of a scope in a snapshot, with own writes that it does not contain laid over. */
  expected(scope: LiveScope, snapshot: Timestamp): string[] {
    const above = this.owns.filter((own) => !own.isOut && !(this.commitOf(own) <= snapshot));
    const keys = new Set([...this.#others.keys(), ...this.owns.flatMap(({ writes }) => writes.map(({ key }) => key))]);
    const shown: string[] = [];
    for (const key of keys) {
      if (!isIn(scope, key)) continue;
      const own = above.flatMap(({ writes }) => writes.filter((write) => write.key === key));
      const value: Value | null = laidOver(this.#at(key, snapshot), own) ?? null;
      if (value !== null) shown.push(`${key}=${value}${own.length > 0 ? '*' : ''}`);
    }
    return shown.sort();
  }

  /** The document of a key in a snapshot: the fold of all commits in it. */
  #at(key: QualifiedKey, snapshot: Timestamp): Value | null {
    const own = this.owns.flatMap((one) =>
      one.writes
        .filter((write) => write.key === key)
        .map(({ value }) => ({ ct: this.commitOf(one), txId: one.tx, value })),
    );
    const writes = [...(this.#others.get(key) ?? []), ...own].filter(({ ct }) => ct <= snapshot);
    return (
      laidOver(
        null,
        writes.sort((a, b) => a.ct - b.ct),
      ) ?? null
    );
  }

  /** The commit timestamp of an own transaction; infinite before. */
  commitOf({ tx }: Own): Timestamp {
    return this.cluster.outcomes.get(tx) ?? Number.POSITIVE_INFINITY;
  }

  #fault(frame: ClientFrame): Reaction {
    const { type } = frame;
    const id = type === 'hello' ? undefined : frame.id;
    if (type === 'live' && frame.after < this.#keptAfter) return refusal(id, 'CHANGES_GONE', false);
    if (this.random() >= this.faults || type === 'hello' || type === 'ping') return undefined;
    if (type === 'live' && this.random() < 0.2)
      return {
        type: 'live',
        id,
        to: this.cluster.ust + this.int(5000),
        changes: [['default/a', [[1, 'x', 'no']]]],
      } as never;
    switch (this.int(5)) {
      case 0:
        return refusal(id, this.pick(['OVERLOADED', 'NOT_READY', 'RATE_LIMITED', 'INTERNAL']), true);
      case 1:
        return 'close' as const;
      case 2:
        return type === 'commit' ? ('apply-and-close' as const) : undefined;
      case 3:
        return type === 'commit' ? ('apply-and-drop' as const) : undefined;
      default:
        return type === 'commit' ? refusal(id, 'KEY_INVALID', false) : ('drop' as const);
    }
  }

  #key(): QualifiedKey {
    return `${this.pick(['default', 'other'])}/${this.pick(['a', 'b', 'c', 'd'])}${this.int(3)}`;
  }

  #content(name: string): Content {
    const kind = this.int(10);
    if (kind < 2) return null;
    if (kind < 6) return `{"n":${this.int(100)},"by":"${name}"}`;
    return new Update(JSON.stringify([{ op: 'increment', path: '/n', by: 1 + this.int(5) }]));
  }

  #writes(name: string, count: number) {
    const keys = new Set(Array.from({ length: count }, () => this.#key()));
    return [...keys].map((key) => ({ key, value: this.#content(name) }));
  }

  otherCommits(): void {
    const writes = this.#writes(`x${this.#othersWritten++}`, 1 + this.int(3));
    const encoded = writes.map(({ key, value }) => [
      key,
      value instanceof Update ? { operations: value.operations } : (value as string | null),
    ]);
    const ct = this.cluster.write(Object.fromEntries(encoded));
    for (const { key, value } of writes) {
      const known = this.#others.get(key) ?? [];
      known.push({ ct, txId: '', value });
      this.#others.set(key, known);
    }
  }

  ownCommits(): void {
    const name = `o${this.owns.length}`;
    const writes = this.#writes(name, 1 + this.int(3));
    const handle = ++this.#handles;
    this.world.step({ kind: 'begin', handle, mode: 'transaction' });
    const { tx } = this.world.machine.handle(handle);
    for (const { key, value } of writes) tx.write(key, value);
    const own: Own = { tx: tx.id, writes, isOut: false };
    this.owns.push(own);
    const reject = (reason: unknown): void => {
      const error = reason as { readonly code: string; settle?: (status: { readonly state: string }) => void };
      if (error.code !== 'OUTCOME_UNKNOWN') own.isOut = true;
      else
        error.settle = ({ state }) => {
          own.isOut ||= state !== 'committed';
        };
    };
    const caller = { resolve: () => {}, reject };
    this.world.step({ kind: 'call', call: { f: 'commit', handle }, caller });
    this.checkAll();
  }

  detach(): void {
    // The observers are called before the test has the result.
    this.isDetaching = true;
    const { value } = this.world.call({ f: 'detach' });
    this.isDetaching = false;
    for (const own of this.owns) if (own.tx === value) own.isOut = true;
    this.checkAll();
  }

  watch(): void {
    const scopes = Array.from({ length: 1 + this.int(3) }, (): LiveScope => {
      if (this.random() < 0.4) return { keys: [this.#key(), this.#key()] };
      const keyspace = this.pick(['default', 'other']);
      if (this.random() < 0.3) return { start: `${keyspace}/`, end: `${keyspace}0` };
      const first = this.pick(['a', 'b', 'c']);
      return { start: `${keyspace}/${first}`, end: `${keyspace}/${this.pick(['d', 'd1', 'e'])}` };
    });
    const observer = new Checked(this, scopes);
    this.observers.add(observer);
    this.world.watch(observer, ...scopes);
  }

  unwatch(): void {
    const observer = this.pick([...this.observers]);
    if (observer === undefined) return;
    this.observers.delete(observer);
    this.world.unwatch(observer);
    if (this.observers.size === 0) this.position = -1;
  }

  /** Stable time rises, at some of the nodes. */
  stabilise(): void {
    const regions = this.nodes.filter(() => this.random() < 0.7).map(({ region }) => region);
    if (regions.length > 0) this.cluster.stabilise(...regions);
  }

  checkAll(): void {
    for (const observer of this.observers) observer.check();
  }

  step(): void {
    const dice = this.random();
    if (dice < 0.25) this.otherCommits();
    else if (dice < 0.4) this.ownCommits();
    else if (dice < 0.6) this.stabilise();
    else if (dice < 0.67) this.watch();
    else if (dice < 0.71) this.unwatch();
    else if (dice < 0.74) this.world.cut(this.pick(this.nodes));
    else if (dice < 0.76) this.#keptAfter = this.cluster.ust - this.int(4);
    else if (dice < 0.78) this.detach();
    else if (dice < 0.79) this.world.run(5000 + this.int(70_000));
    this.world.run(this.int(60));
    this.checkAll();
  }

  /** Everything works again, and all has become stable. */
  settle(): void {
    this.faults = 0;
    this.world.jitterMs = () => 0;
    for (let i = 0; i < 15; i++) {
      this.cluster.stabilise();
      this.world.run(5000);
    }
    for (const observer of this.observers) {
      if (observer.error !== undefined) this.violate(`an observer failed: ${observer.error}`);
      else if (observer.views === undefined) this.violate('an observer has never been called');
      else {
        observer.check();
        observer.scopes.forEach((scope, i) => {
          const shown = [...observer.views![i]!.documents.values()].map(({ key, value }) => `${key}=${value}`).sort();
          const latest = this.expected(scope, this.cluster.clock);
          if (shown.join('\n') !== latest.join('\n')) this.violate(`in the end shown ${shown}, not ${latest}`);
        });
      }
    }
  }
}

/** The first violations of a seed. */
function violationsOf(seed: number): readonly string[] {
  const run = new Run(seed);
  for (let i = 0; i < STEPS && run.violations.length === 0; i++) run.step();
  if (run.violations.length === 0) run.settle();
  return [...run.violations, ...run.world.violations].slice(0, 3);
}

describe('live queries at random', () => {
  it('every call shows all scopes at one snapshot with own pending writes laid over, and no snapshot goes back (LQ1–LQ3)', () => {
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      let violations: readonly string[] = [];
      try {
        violations = violationsOf(seed);
      } catch (error) {
        violations = [String((error as Error).stack)];
      }
      if (violations.length > 0) throw new Error(`seed ${seed}:\n${violations.join('\n')}`);
    }
  });
});
