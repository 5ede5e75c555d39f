import {
  type ClusterSpec,
  type Content,
  compareKeys,
  type NodeId,
  type QualifiedKey,
  Random,
  type Timestamp,
  Update,
} from '@isochron/core';
import { FeedsWorld, type FeedTx } from '@isochron/testing/world/feeds-world';
import type { Scope } from './scope.js';

/** Each partition in two of three regions; two keyspaces. */
const SPEC: ClusterSpec = {
  regions: ['virginia', 'oregon', 'ireland'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
  keyspaces: [
    { name: 'default', partitions: 3, replication: 2 },
    { name: 'other', partitions: 2, replication: 2 },
  ],
};
const KEYS = ['default', 'other'].flatMap((space) => [...'abcdefgh', '\ue000x', '😀'].map((key) => `${space}/${key}`));
const LIMIT_BYTES = 600;

type Watches = ReadonlyMap<number, Scope>;

const within = (watches: Watches, key: QualifiedKey): boolean =>
  [...watches.values()].some(
    ({ keys, ranges }) =>
      keys.includes(key) ||
      ranges.some(({ start, end }) => compareKeys(start, key) <= 0 && (end === null || compareKeys(key, end) < 0)),
  );

/** The contents of each key that a reader needs in a range of the history, and the times of the others. */
function expectedNet(history: readonly FeedTx[], after: Timestamp, to: Timestamp, watches: Watches) {
  const net = new Map<QualifiedKey, { ct: Timestamp; txId: string; content: Content }[]>();
  const replaced = new Map<QualifiedKey, Timestamp[]>();
  for (const { ct, txId, writes } of history) {
    if (ct <= after || ct > to) continue;
    for (const { key, value: content } of writes) {
      if (!within(watches, key)) continue;
      const known = net.get(key) ?? [];
      const isUpdate = content instanceof Update;
      net.set(key, [...(isUpdate ? known : []), { ct, txId, content }]);
      if (!isUpdate && known.length > 0)
        replaced.set(key, [...(replaced.get(key) ?? []), ...known.map((one) => one.ct)].slice(0, 65));
    }
  }
  const changes = [...net].map(([key, contents]) => ({ key, contents, replaced: replaced.get(key) }));
  return changes.sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** A live client that moves between nodes, adds and removes scopes, and checks every answer. */
class Watcher {
  readonly watches = new Map<number, Scope>();
  node: NodeId;
  at: Timestamp;
  answers = 0;
  #ref = -1;
  #asked = 0;
  #waitMs = 0;
  #number = 0;
  #replaced = new Map<number, { readonly after: Timestamp; readonly watches: Watches }>();
  #isNew = true;

  constructor(
    readonly world: FeedsWorld,
    readonly random: Random,
    readonly reader: number,
    readonly nextRef: () => number,
  ) {
    this.node = random.pick(world.topology.nodes);
    this.at = world.nodes.get(this.node)!.stable.value;
  }

  get waits(): boolean {
    return this.#ref >= 0;
  }

  ask(waitMs = this.random.pick([0, 30, 200, 1_000])): void {
    if (this.waits) this.#replaced.set(this.#ref, { after: this.at, watches: new Map(this.watches) });
    const remove = [...this.watches.keys()].filter(() => this.random.chance(0.1));
    for (const number of remove) this.watches.delete(number);
    if (this.watches.size === 0 || this.random.chance(0.2)) this.watches.set(this.#number++, this.#scope());
    const fresh = [...this.watches].filter(([number]) => this.#isNew || number === this.#number - 1);
    const add = fresh.map(([watch, scope]) => ({ watch, ...scope }));
    this.#isNew = false;
    this.#ref = this.nextRef();
    this.#asked = this.world.nowMs;
    this.#waitMs = waitMs;
    const { reader, at: after } = this;
    this.world.post(this.node, {
      type: 'LiveReq',
      ref: this.#ref,
      reader,
      after,
      add,
      remove,
      waitMs,
      limitBytes: LIMIT_BYTES,
    });
  }

  /** Its connection breaks, and it connects to a node again. */
  move(): void {
    this.world.post(this.node, { type: 'LiveEnd', ref: this.nextRef(), reader: this.reader });
    this.#ref = -1;
    this.#isNew = true;
    this.node = this.random.pick(this.world.topology.nodes);
  }

  take(): void {
    for (const [ref, { after, watches }] of this.#replaced) this.#check(ref, after, watches, true);
    this.#replaced.clear();
    if (!this.waits || !this.world.answers.has(this.#ref)) return;
    const isLate = this.world.nowMs >= this.#asked + this.#waitMs;
    const to = this.#check(this.#ref, this.at, this.watches, isLate);
    this.#ref = -1;
    if (to !== undefined) this.at = Math.max(this.at, to);
  }

  #check(ref: number, after: Timestamp, watches: Watches, mayBeEmpty: boolean): Timestamp | undefined {
    const answer = this.world.answers.get(ref);
    if (answer?.type === 'Refused') {
      expect(answer.code).toBe('CHANGES_GONE');
      expect(after).toBeLessThan(this.world.truncatedUpTo);
      this.at = this.world.highestStable();
      return undefined;
    }
    if (answer?.type !== 'LiveResp') throw new Error(`no answer: ${JSON.stringify(answer)}`);
    this.answers++;
    expect(answer.to).toBeGreaterThanOrEqual(after);
    expect(answer.to).toBeLessThanOrEqual(Math.max(after, this.world.highestStable()));
    const changes = [...answer.changes].sort((a, b) => (a.key < b.key ? -1 : 1));
    same(changes, expectedNet(this.world.history, after, answer.to, watches));
    if (!mayBeEmpty) expect(changes).not.toEqual([]);
    return answer.to;
  }

  #scope(): Scope {
    const { random } = this;
    const some = (count: number) => Array.from({ length: count }, () => random.pick(KEYS));
    if (random.chance(0.5)) return { keys: [...new Set(some(1 + random.below(3)))], ranges: [] };
    const space = random.pick(['default/', 'other/']);
    if (random.chance(0.3)) return { keys: [], ranges: [{ start: space, end: space.replace('/', '0') }] };
    const [start, end] = [random.pick(KEYS), random.pick(KEYS)]
      .map((key) => space + key.slice(key.indexOf('/') + 1))
      .sort(compareKeys) as [string, string];
    return { keys: some(random.below(2)), ranges: [{ start, end: random.chance(0.5) ? end : `${start}\u{10ffff}` }] };
  }
}

/** A reader of the feed that moves between nodes with every request. */
class Follower {
  at: Timestamp | undefined;
  #ref = -1;
  #node = '';

  constructor(
    readonly world: FeedsWorld,
    readonly random: Random,
    readonly prefix: string,
    readonly nextRef: () => number,
  ) {}

  ask(waitMs = this.random.pick([0, 50, 500])): void {
    if (this.#ref >= 0) return;
    this.#node = this.random.pick(this.world.topology.nodes);
    this.at ??= this.world.nodes.get(this.#node)!.stable.value;
    const { prefix, at: after } = this;
    this.#ref = this.nextRef();
    this.world.post(this.#node, {
      type: 'ChangesReq',
      ref: this.#ref,
      prefix,
      after,
      waitMs,
      limitBytes: LIMIT_BYTES,
    });
  }

  take(): void {
    const answer = this.world.answers.get(this.#ref);
    if (answer === undefined) return;
    this.#ref = -1;
    if (answer.type === 'Refused') {
      expect(this.at).toBeLessThan(this.world.truncatedUpTo);
      this.at = undefined;
      return;
    }
    if (answer.type !== 'ChangesResp') throw new Error(answer.type);
    const { from, to, transactions } = answer;
    expect(from).toBe(this.at);
    expect(to).toBeGreaterThanOrEqual(from);
    const expected = this.world.history
      .filter(({ ct }) => ct > from && ct <= to)
      .map(({ ct, txId, writes }) => ({
        ct,
        txId,
        writes: sorted(writes.filter(({ key }) => key.startsWith(this.prefix))),
      }))
      .filter(({ writes }) => writes.length > 0);
    same(
      transactions.map(({ ct, txId, writes }) => ({ ct, txId, writes: sorted(writes) })),
      expected,
    );
    this.at = to;
  }
}

/** Quicker than the matcher, which compares only what differs. */
function same(actual: unknown, expected: unknown): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) expect(actual).toEqual(expected);
}

const sorted = (writes: FeedTx['writes']) => [...writes].sort((a, b) => (a.key < b.key ? -1 : 1));

function write(world: FeedsWorld, random: Random): void {
  const keys = new Set(Array.from({ length: 1 + random.below(3) }, () => random.pick(KEYS)));
  const writes = [...keys].map((key) => {
    const kind = random.float();
    const value = kind < 0.5 ? new Update(`[${random.below(100)}]`) : kind < 0.65 ? null : `${random.below(1000)}`;
    return { key, value };
  });
  world.commit(writes, random.chance(0.2));
}

function run(seed: number): { readonly answers: number } {
  const random = new Random(seed);
  const limits = random.chance(0.5)
    ? {}
    : { cacheBytes: 2_000, behindPages: random.below(12), stepWork: 1 + random.below(20), behindWork: 5_000 };
  const world = new FeedsWorld(SPEC, limits);
  if (random.chance(0.5)) world.pageTransactions = 1 + random.below(4);
  let ref = 0;
  const nextRef = () => ref++;
  const watchers = Array.from({ length: 4 }, (_, i) => new Watcher(world, random, i, nextRef));
  const followers = ['', 'default/', 'other/a'].map((prefix) => new Follower(world, random, prefix, nextRef));
  const truncates = random.chance(0.15);
  for (let step = 0; step < 300; step++) {
    const what = random.float();
    const watcher = random.pick(watchers);
    if (what < 0.2) write(world, random);
    else if (what < 0.35)
      world.stabilise(random.pick(world.topology.nodes), random.chance(0.5) ? world.clock : world.clock - 2);
    else if (what < 0.4) world.pass(random.pick([1, 10, 100]));
    else if (what < 0.42) watcher.move();
    else if (what < 0.43) world.lose(random);
    else if (what < 0.44 && truncates) world.truncatedUpTo = world.highestStable();
    else if (what < 0.55) {
      if (!watcher.waits || random.chance(0.2)) watcher.ask();
    } else if (what < 0.6) random.pick(followers).ask();
    else world.deliver(random);
    for (const one of [...watchers, ...followers]) one.take();
  }
  settle(world, watchers, followers);
  return { answers: watchers.reduce((sum, { answers }) => sum + answers, 0) };
}

/** In the end every reader has everything. */
function settle(world: FeedsWorld, watchers: readonly Watcher[], followers: readonly Follower[]): void {
  for (const node of world.topology.nodes) world.stabilise(node);
  const isDone = () =>
    watchers.every(({ at }) => at === world.clock) && followers.every(({ at }) => at === world.clock);
  for (let rounds = 0; !isDone() && rounds < 200; rounds++) {
    for (const watcher of watchers) if (!watcher.waits) watcher.ask(100);
    for (const follower of followers) follower.ask(100);
    world.run(200);
    for (const one of [...watchers, ...followers]) one.take();
  }
  expect([...watchers, ...followers].map(({ at }) => at)).toEqual(
    Array(watchers.length + followers.length).fill(world.clock),
  );
}

describe('readers of changes', () => {
  it('every answer has exactly what a scan of all transactions finds between its ends (CF1, LQ4)', () => {
    const first = Math.floor(Math.random() * 2 ** 31);
    let answers = 0;
    for (let seed = first; seed < first + 300; seed++) {
      try {
        answers += run(seed).answers;
      } catch (cause) {
        throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : cause}`, { cause });
      }
    }
    expect(answers).toBeGreaterThan(3_000);
  });

  it('readers below the retention that each wait at a partition of another one are refused (CF2, seed 2002847532)', () => {
    expect(run(2_002_847_532).answers).toBeGreaterThan(0);
  });
});
