import type { ClusterSpec, NodeId, Timestamp } from '@isochron/core';
import { Update } from '@isochron/core';
import { FeedsWorld } from '@isochron/testing/world/feeds-world';
import type { LiveReq, LiveResp } from './messages.js';

const [V, O] = ['virginia-1', 'oregon-1'];
/** Two regions; partitions of `everywhere` in both, of `apart` in one of them. */
const SPEC: ClusterSpec = {
  regions: ['virginia', 'oregon'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
  keyspaces: [
    { name: 'everywhere', partitions: 8, replication: 2 },
    { name: 'apart', partitions: 4, replication: 1 },
  ],
};

let world: FeedsWorld;
let refs = 0;
beforeEach(() => {
  world = new FeedsWorld(SPEC);
});

const ALL = { watch: 1, keys: [], ranges: [{ start: 'everywhere/', end: 'everywhere0' }] };

function ask(node: NodeId, request: Partial<LiveReq> = {}): number {
  const ref = refs++;
  const whole = { type: 'LiveReq', ref, reader: 1, after: 1_000, add: [], remove: [], waitMs: 10_000 } as const;
  world.post(node, { ...whole, limitBytes: 256 * 1024, ...request });
  return ref;
}

function answer(ref: number): LiveResp | undefined {
  const found = world.answers.get(ref);
  if (found !== undefined && found.type !== 'LiveResp') throw new Error(JSON.stringify(found));
  return found;
}

const put = (key: string, value: string | Update | null = '1'): Timestamp => world.commit([{ key, value }]).ct;
const everywhere = (): void => {
  for (const node of world.topology.nodes) world.stabilise(node);
};
const counters = (node: NodeId = V) => world.nodes.get(node)!.feeds.following.counters;

describe('live readers', () => {
  it('with 10,000 readers that wait, a change that concerns one of them costs a look at that one (LQ6)', () => {
    const refsOf = Array.from({ length: 10_000 }, (_, reader) =>
      ask(V, {
        reader,
        waitMs: 60_000,
        add: [
          {
            watch: 1,
            keys: [`everywhere/${reader}`],
            ranges: [{ start: `apart/${reader}/`, end: `apart/${reader}0` }],
          },
        ],
      }),
    );
    world.run(50);
    const before = { ...counters() };
    for (let i = 0; i < 20; i++) {
      put('everywhere/of-no-reader');
      everywhere();
      world.run(20);
    }
    expect(counters()).toEqual(before);
    put('everywhere/77');
    everywhere();
    world.run(20);
    expect(counters().found - before.found).toBe(1);
    expect(counters().looks - before.looks).toBeLessThanOrEqual(6);
    expect(refsOf.flatMap((ref, reader) => (answer(ref) === undefined ? [] : [reader]))).toEqual([77]);
  });

  it('a transaction of several partitions costs its reader one look, and the request after its answer none (LQ6)', () => {
    const first = ask(V, { add: [ALL] });
    world.run(50);
    const before = counters().looks;
    world.commit(Array.from({ length: 20 }, (_, i) => ({ key: `everywhere/${i}`, value: '1' })));
    everywhere();
    world.run(50);
    expect(answer(first)!.changes).toHaveLength(20);
    expect(counters().looks - before).toBe(1);
    const second = ask(V, { after: answer(first)!.to });
    world.run(100);
    expect(counters().looks - before).toBe(1);
    put('everywhere/1', '2');
    everywhere();
    world.run(50);
    expect(answer(second)!.changes).toMatchObject([{ key: 'everywhere/1', contents: [{ content: '2' }] }]);
  });

  it('a change between an answer and the next request of its reader is in the next answer (LQ4)', () => {
    const first = ask(V, { add: [ALL] });
    world.run(50);
    put('everywhere/a');
    everywhere();
    world.run(50);
    put('everywhere/b');
    everywhere();
    world.run(50);
    const second = ask(V, { after: answer(first)!.to });
    world.run(50);
    expect(answer(second)!.changes.map(({ key }) => key)).toEqual(['everywhere/b']);
  });

  it('a node with more answers than a step can send rests, and each reader then gets all changes in one answer (LQ4)', () => {
    world = new FeedsWorld(SPEC, { stepWork: 1_000 });
    const readers = Array.from({ length: 100 }, (_, reader) => ({ reader, ref: ask(V, { reader, add: [ALL] }) }));
    world.run(50);
    put('everywhere/a', '0');
    everywhere();
    world.run(10);
    const answered = () => readers.filter(({ ref }) => answer(ref) !== undefined);
    world.run(20);
    const early = answered().length;
    expect(early).toBeGreaterThan(0);
    expect(early).toBeLessThan(30);
    put('everywhere/a', '1');
    put('everywhere/b', '1');
    everywhere();
    world.run(1_000);
    expect(answered()).toHaveLength(100);
    const late = readers.filter(({ ref }) => answer(ref)!.changes.length === 2);
    expect(late.length).toBeGreaterThanOrEqual(70);
    for (const { ref } of late) expect(answer(ref)!.changes[0]!.contents).toMatchObject([{ content: '1' }]);
  });

  it('a scope of keys reads the partitions of these keys alone', () => {
    const partition = world.topology.partitionOf('everywhere/a');
    ask(V, { add: [{ watch: 1, keys: ['everywhere/a'], ranges: [] }] });
    put('everywhere/a');
    everywhere();
    world.run(50);
    expect(new Set(world.asked)).toEqual(new Set([partition]));
  });

  it('an answer has the newest put or delete of each key and what follows it, for all that was missed (LQ4)', () => {
    const increment = new Update('[{"op":"increment","path":"","by":1}]');
    const dropped = [put('everywhere/a', '1'), put('everywhere/a', increment)];
    const a = [put('everywhere/a', '2'), put('everywhere/a', increment), put('everywhere/a', increment)];
    const b = [put('everywhere/b', increment), put('everywhere/b', increment)];
    put('everywhere/c', '1');
    const c = [put('everywhere/c', null)];
    everywhere();
    const ref = ask(V, { add: [ALL] });
    world.run(50);
    const { to, changes } = answer(ref)!;
    const times = new Map(changes.map(({ key, contents }) => [key, contents.map(({ ct }) => ct)]));
    expect(times).toEqual(
      new Map([
        ['everywhere/a', a],
        ['everywhere/b', b],
        ['everywhere/c', c],
      ]),
    );
    expect(dropped.some((ct) => [...times.values()].flat().includes(ct))).toBe(false);
    expect(to).toBe(world.clock);
  });

  it('a slow client gets one answer for all pages that it missed (LQ4)', () => {
    world.pageTransactions = 3;
    for (let i = 0; i < 500; i++) put('everywhere/a', `${i}`);
    put('everywhere/b');
    everywhere();
    const ref = ask(V, { add: [ALL] });
    world.run(50);
    const { to, changes } = answer(ref)!;
    expect(to).toBe(world.clock);
    expect(changes).toEqual([
      { key: 'everywhere/a', contents: [expect.objectContaining({ content: '499' })], replaced: expect.any(Array) },
      { key: 'everywhere/b', contents: [expect.objectContaining({ content: '1' })] },
    ]);
  });

  it('an answer is bounded, and the next one goes on behind it without a gap (LQ4)', () => {
    for (let i = 0; i < 60; i++) put(`everywhere/${i}`, `"${'x'.repeat(1_000)}"`);
    everywhere();
    const seen: string[] = [];
    let after = 1_000;
    for (let i = 0; i < 10 && after < world.clock; i++) {
      const ref = ask(V, { after, add: i === 0 ? [ALL] : [], limitBytes: 10_000 });
      world.run(50);
      const { to, changes } = answer(ref)!;
      expect(changes.length).toBeLessThanOrEqual(11);
      seen.push(...changes.map(({ key }) => key));
      after = to;
    }
    expect(seen).toEqual(Array.from({ length: 60 }, (_, i) => `everywhere/${i}`));
  });

  it('a new request of a reader ends the one that waits, once, with what is known (LQ4)', () => {
    const first = ask(V, { add: [ALL] });
    world.run(50);
    world.clock += 10;
    everywhere();
    world.run(50);
    const to = world.clock;
    expect(answer(first)).toBeUndefined();
    const second = ask(V);
    expect(answer(first)).toMatchObject({ to, changes: [] });
    put('everywhere/a');
    everywhere();
    // The world fails if the first one has another answer: with this change, or at its deadline.
    world.run(50);
    world.run(10_000);
    expect(answer(second)!.changes).toHaveLength(1);
  });

  it('the scopes of a reader stay between its requests, and a removed one gives nothing more', () => {
    const key = { keys: ['everywhere/a'], ranges: [] };
    const first = ask(V, {
      add: [
        { watch: 1, ...key },
        { watch: 2, keys: ['everywhere/b'], ranges: [] },
      ],
    });
    put('everywhere/a');
    everywhere();
    world.run(50);
    const second = ask(V, { after: answer(first)!.to, remove: [1] });
    put('everywhere/a');
    put('everywhere/b');
    everywhere();
    world.run(50);
    expect(answer(second)!.changes.map((change) => change.key)).toEqual(['everywhere/b']);
  });

  it('a request that does not wait brings its reader to the present, over partitions of other regions too', () => {
    const range = { start: 'apart/', end: 'apart0' };
    put('apart/a');
    put('apart/b');
    put('apart/c');
    put('apart/d');
    everywhere();
    const ref = ask(V, { waitMs: 0, add: [{ watch: 1, keys: [], ranges: [range] }] });
    world.run(50);
    expect(answer(ref)).toMatchObject({ to: world.clock, changes: [{}, {}, {}, {}] });
    const next = ask(V, { waitMs: 0, after: world.clock });
    world.run(20);
    expect(answer(next)).toEqual({ type: 'LiveResp', ref: next, to: world.clock, changes: [] });
  });

  it('a reader that is ahead of the node waits for it: the end of an answer is never below its request (LQ3)', () => {
    const after = world.clock + 100;
    const ref = ask(V, { after, waitMs: 200, add: [ALL] });
    put('everywhere/a');
    everywhere();
    world.run(100);
    expect(answer(ref)).toBeUndefined();
    world.run(200);
    expect(answer(ref)).toMatchObject({ to: after, changes: [] });
  });

  it('a wait ends at its deadline with the time up to which nothing was written', () => {
    const ref = ask(V, { waitMs: 500, add: [ALL] });
    world.run(300);
    world.clock += 50;
    everywhere();
    expect(answer(ref)).toBeUndefined();
    world.run(300);
    expect(answer(ref)).toMatchObject({ to: world.clock, changes: [] });
  });

  it('a reader below the retention is refused, at its first request and while it waits (CF2)', () => {
    put('everywhere/a');
    everywhere();
    world.truncatedUpTo = world.clock;
    const ref = ask(V, { add: [ALL] });
    world.run(50);
    expect(world.answers.get(ref)).toMatchObject({ type: 'Refused', code: 'CHANGES_GONE' });
    const waits = ask(V, { after: world.clock });
    world.run(50);
    put('everywhere/a');
    world.truncatedUpTo = world.clock;
    everywhere();
    world.run(50);
    expect(world.answers.get(waits)).toMatchObject({ type: 'Refused', code: 'CHANGES_GONE' });
    const anew = ask(V, { after: world.clock });
    put('everywhere/b');
    everywhere();
    world.run(50);
    expect(answer(anew)!.changes.map(({ key }) => key)).toEqual(['everywhere/b']);
  });

  it('a live reader that is further behind than a node examines is refused, and goes on from the present (LQ3)', () => {
    world = new FeedsWorld(SPEC, { behindWork: 10 });
    const watched = { watch: 1, keys: [], ranges: [{ start: 'everywhere/a', end: 'everywhere/b' }] };
    // Not in its scope.
    const others = (count: number): void => {
      for (let i = 0; i < count; i++) put(`everywhere/o${i}`);
      everywhere();
    };
    others(10);
    const near = ask(V, { add: [watched], waitMs: 0 });
    world.run(50);
    expect(answer(near)).toMatchObject({ to: world.clock, changes: [] });
    put('everywhere/a');
    others(10);
    const far = ask(V, { after: 1_000 });
    world.run(50);
    expect(world.answers.get(far)).toMatchObject({ type: 'Refused', code: 'CHANGES_GONE' });
    const anew = ask(V, { after: world.clock });
    put('everywhere/a');
    everywhere();
    world.run(50);
    expect(answer(anew)!.changes.map(({ key }) => key)).toEqual(['everywhere/a']);
  });

  it('a live reader of named keys examines the transactions of these keys alone (LQ6)', () => {
    world = new FeedsWorld(SPEC, { behindWork: 10 });
    for (let i = 0; i < 200; i++) put(`everywhere/${i % 50}`);
    everywhere();
    const ref = ask(V, { add: [{ watch: 1, keys: ['everywhere/1', 'everywhere/2'], ranges: [] }] });
    world.run(50);
    expect(answer(ref)).toMatchObject({ to: world.clock, changes: [{ contents: [{}] }, { contents: [{}] }] });
  });

  it('a settled live reader is not behind, whatever the other transactions since its last request (LQ6)', () => {
    world = new FeedsWorld(SPEC, { behindWork: 10 });
    const first = ask(V, { add: [{ watch: 1, keys: ['everywhere/a'], ranges: [] }], waitMs: 20 });
    world.run(50);
    const { to } = answer(first)!;
    for (let i = 0; i < 200; i++) put(`everywhere/o${i}`);
    everywhere();
    world.run(50);
    const next = ask(V, { after: to, waitMs: 0 });
    world.run(50);
    expect(answer(next)).toMatchObject({ to: world.clock, changes: [] });
  });

  it('a refused request of one reader does not end the requests for the others (LQ6)', () => {
    const key = Array.from({ length: 100 }, (_, i) => `apart/${i}`).find(
      (one) => world.topology.replicaNode(world.topology.partitionOf(one), 'virginia') === undefined,
    )!;
    const one = { watch: 1, keys: [key], ranges: [] };
    world.clock = 6_000;
    world.stabilise(O);
    world.truncatedUpTo = 5_000;
    ask(V, { add: [one] });
    while (world.nodes.get(V)!.feeds.size > 0) if (!world.deliver()) world.pass(2);
    // The log begins above the node's stable time: its next request names that, and lies above a reader's.
    const behind = ask(V, { reader: 2, after: 1_500, add: [one] });
    world.run(50);
    expect(world.answers.get(behind)).toMatchObject({ type: 'Refused', code: 'CHANGES_GONE' });
    const ref = ask(V, { reader: 3, after: 6_000, add: [one] });
    put(key);
    everywhere();
    world.run(50);
    expect(answer(ref)?.changes.map((change) => change.key)).toEqual([key]);
  });

  it('what a reader waits for survives the loss of the pages that it lacks (CF5)', () => {
    world = new FeedsWorld(SPEC, { cacheBytes: 600 });
    put('everywhere/a', `"${'x'.repeat(500)}"`);
    for (let i = 0; i < 40; i++) put(`everywhere/${i}`, `"${'y'.repeat(500)}"`);
    everywhere();
    const ref = ask(V, { add: [ALL] });
    world.run(100);
    expect(answer(ref)!.changes).toHaveLength(41);
  });

  it('a node keeps nothing for a reader that is gone, and asks no partition for it', () => {
    const ref = ask(V, { add: [ALL] });
    world.run(50);
    world.post(V, { type: 'LiveEnd', ref: refs++, reader: 1 });
    expect(answer(ref)).toMatchObject({ changes: [] });
    world.clock += 100;
    everywhere();
    world.run(100);
    const asked = world.asked.length;
    world.clock += 100;
    everywhere();
    world.run(200);
    expect(world.asked.length).toBe(asked);
    expect(world.nodes.get(V)!.feeds.describe()).toMatchObject({ reads: 0, live: 0, requests: 0 });
    expect(world.nodes.get(V)!.feeds.following.partitions).toBe(0);
  });

  it('a live reader of another node is ignored: it would escape the limits of connections', () => {
    const feeds = world.nodes.get(V)!.feeds;
    const none = () => {
      throw new Error('an effect');
    };
    const out = { send: none, sendAfterPersist: none, write: none, lastWrite: none, setTimer: none };
    const message = {
      type: 'LiveReq',
      ref: 1,
      reader: 1,
      after: 1,
      add: [ALL],
      remove: [],
      waitMs: 1,
      limitBytes: 1,
    } as const;
    feeds.step({ kind: 'message', now: world.nowMs, from: { node: O, machine: 'client' }, message }, out);
    expect(feeds.describe()).toMatchObject({ live: 0 });
  });
});
