import { packWall, type StoredVersion } from '@isochron/core';
import { backup } from '@isochron/testing/world/lost-disks';
import { settledWorld } from '@isochron/testing/world/operation-fixtures';
import {
  blockedIn,
  busyWhile,
  keyIn,
  OperationClient,
  type OperationWorld,
  operationMessages,
  REGIONS,
  replicated,
} from '@isochron/testing/world/operation-world';
import type { WorldOptions } from '@isochron/testing/world/world-of';
import { okapi } from './okapi.js';

const settled = (options: WorldOptions = {}): OperationWorld => settledWorld(okapi, options);

/** The newest version of a key on a node's disk. */
const newest = (world: OperationWorld, node: string, key: string): StoredVersion | undefined =>
  [...world.node(node).store.chains].find(([name]) => name.endsWith(`|${key}`))?.[1][0];

const usvOf = (world: OperationWorld, node: string) => world.node(node).parts.stabilization.state.regional.entries;

/** Nothing that replicas in oregon send reaches ireland. */
function withSlowIreland(world: OperationWorld): void {
  world.filter = ({ from, to, message }) =>
    !(from.node.startsWith('oregon') && to.node.startsWith('ireland')) ||
    !(message.type === 'Replicate' || message.type === 'Heartbeat');
}

describe('Okapi: what is universal (D7, D9)', () => {
  it('a local version that every region has is shown here as elsewhere, whatever its vector is', () => {
    const world = settled();
    withSlowIreland(world);
    world.run(200);
    const key = keyIn(world, 0);
    const client = new OperationClient(world, 'virginia-1');
    // A crash can set a version clock back, as far as there are no versions, and USV with it.
    const above = usvOf(world, 'virginia-1')[1]! + 4_096;
    const { ts } = world.call('virginia-1', { ...client.session.put(key, 'X'), seen: [0, 0, above, 0] }, 'PutResp');
    world.until(() => ['virginia-1', 'ireland-1'].every((node) => usvOf(world, node)[0]! >= ts), 5_000);
    expect(usvOf(world, 'virginia-1')[1]!).toBeLessThan(above);
    const shown = ['virginia-1', 'ireland-1'].map((node) => new OperationClient(world, node).rot(key));
    expect(shown).toEqual([['X'], ['X']]);
  });
});

describe('Okapi: an older disk (D10)', () => {
  it.each(['virginia-1', 'virginia-2'])(
    'no node shows an effect without its cause, with %s on an older disk',
    (older) => {
      const world = settled({ spec: replicated(REGIONS, 2) });
      const partition = world.topology.partitionsOn(older)[0]!;
      const [x, y] = [keyIn(world, partition, 'x'), keyIn(world, partition, 'y')];
      const old = backup(world.node(older).store);
      const y1 = new OperationClient(world, 'oregon-1').put(y, 'Y');
      const writer = new OperationClient(world, 'ireland-1');
      world.until(() => writer.get(y) === 'Y');
      world.until(() => usvOf(world, 'virginia-1')[0]! > y1);
      // No stable time confirms it yet: ireland sends it again, and would refuse it below the stable time.
      writer.put(x, 'X');
      world.crash(older);
      // Messages that oregon sends after its report arrive late.
      const late = ['Replicate', 'Heartbeat', 'ResyncRefused'];
      world.filter = ({ from, message }) => !(from.node.startsWith('oregon') && late.includes(message.type));
      world.restart(older, old);
      for (let i = 0; i < 400; i++) {
        world.run(5);
        const [shownX, shownY] = new OperationClient(world, older).rot(x, y);
        if (shownX === 'X') expect(shownY).toBe('Y');
      }
    },
  );
});

describe('Okapi: hybrid clocks (section 3.1)', () => {
  it('a PUT whose client is ahead of the node’s clock does not wait: its timestamp is the next one above (Fig. 1, top)', () => {
    const world = settled();
    const client = new OperationClient(world, 'virginia-1');
    const ahead = packWall(world.now + 4_000);
    const request = { ...client.session.put(keyIn(world, 0), 'X'), seen: [ahead, 0, 0, 0] };
    const before = world.now;
    expect(world.call('virginia-1', request, 'PutResp').ts).toBe(ahead + 1);
    expect(world.now - before).toBeLessThan(20);
    expect(blockedIn(world).puts).toBe(0);
  });

  it('a replica whose clock is behind a snapshot moves it there and answers at once (Fig. 2, top)', () => {
    const world = settled({ spec: replicated(REGIONS, 2), skewMs: (node) => (node === 'virginia-2' ? -400 : 0) });
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    const client = new OperationClient(world, 'virginia-1');
    client.rot(x, y);
    const lts = client.session.seen[0]!;
    expect(blockedIn(world)).toEqual({ reads: 0, puts: 0, rots: 0, ms: 0 });
    const snapshots = world.sent.flatMap(({ message }) =>
      message.type === 'RotSliceReq' ? [message.snapshot[0]!] : [],
    );
    const later = new OperationClient(world, 'virginia-2').put(y, 'Y');
    expect(later).toBeGreaterThan(Math.max(lts, ...snapshots));
  });

  it('also after a crash nothing is written below a snapshot that was answered (D7)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    const lts = packWall(world.now + 3_000);
    const to = { node: 'virginia-1', machine: 'replica/0' };
    const from = { node: 'oregon-1', machine: 'coordinator' };
    world.inject(to, from, { type: 'RotSliceReq', ref: 1, partition: 0, snapshot: [lts, 0, 0, 0], keys: [key] });
    world.until(() => world.crossed('RotSliceResp') === 1);
    world.crash('virginia-1');
    world.restart('virginia-1');
    expect(new OperationClient(world, 'virginia-1').put(key, 'X')).toBeGreaterThan(lts);
  });

  it('no operation of a session that stays ever waits, with clocks that disagree and a region far away', () => {
    const world = settled({
      spec: replicated(REGIONS, 2),
      skewMs: (node) => ({ 'virginia-1': 60, 'virginia-2': -60, 'oregon-1': 35 })[node] ?? 0,
      delayMs: (a, b) => (a.slice(0, 3) === b.slice(0, 3) ? 1 : 45),
    });
    busyWhile(world, 12);
    expect(blockedIn(world)).toEqual({ reads: 0, puts: 0, rots: 0, ms: 0 });
  });
});

describe('Okapi: universal stable time (section 3.2)', () => {
  it('updates are visible in their own data center immediately', () => {
    const world = settled();
    withSlowIreland(world);
    const key = keyIn(world, 0);
    new OperationClient(world, 'oregon-1').put(key, 'X');
    const other = new OperationClient(world, 'oregon-1');
    expect([other.get(key), other.rot(key)]).toEqual(['X', ['X']]);
  });

  it('a remote update is visible only when it has been replicated at every data center', () => {
    const world = settled();
    withSlowIreland(world);
    world.run(50);
    const key = keyIn(world, 0);
    const ts = new OperationClient(world, 'oregon-1').put(key, 'X');
    world.run(300);
    expect(newest(world, 'virginia-1', key)?.ts).toBe(ts);
    const client = new OperationClient(world, 'virginia-1');
    expect([client.get(key), client.rot(key)]).toEqual([null, [null]]);
    world.filter = () => true;
    world.until(() => new OperationClient(world, 'virginia-1').get(key) === 'X');
    expect(newest(world, 'ireland-1', key)?.ts).toBe(ts);
  });

  it('healthy data centers show the same versions of one that has failed (availability)', () => {
    const world = settled({
      spec: replicated(REGIONS, 2),
      delayMs: (a, b) => (a.startsWith('ire') || b.startsWith('ire') ? 40 : 2),
    });
    const keys = [0, 1, 2].map((partition) => keyIn(world, partition));
    const client = new OperationClient(world, 'oregon-1');
    for (const key of keys) client.put(key, 'before');
    world.run(300);
    for (const key of keys) client.put(key, 'last words');
    world.run(25); // virginia has them, ireland does not
    for (const node of ['oregon-1', 'oregon-2']) world.crash(node);
    world.run(1_000);
    const shown = ['virginia-1', 'ireland-2'].map((node) => new OperationClient(world, node).rot(...keys));
    expect(shown[0]).toEqual(shown[1]);
    expect(shown[0]).toEqual(['before', 'before', 'before']);
  });

  it('USV is the minimum over all data centers, and never falls (Alg. 4 lines 3–5)', () => {
    const world = settled();
    withSlowIreland(world);
    world.run(100);
    const [oregon, virginia] = [usvOf(world, 'virginia-1')[1]!, usvOf(world, 'virginia-1')[0]!];
    let before = usvOf(world, 'virginia-1');
    for (let i = 0; i < 20; i++) {
      world.run(13);
      for (const [n, ts] of usvOf(world, 'virginia-1').entries()) expect(ts).toBeGreaterThanOrEqual(before[n]!);
      before = usvOf(world, 'virginia-1');
      const have = REGIONS.map((region) =>
        world.node(`${region}-1`).parts.replicas.map(({ replication }) => replication.vv),
      );
      before.forEach((ts, n) => {
        for (const vv of have.flat()) expect(ts).toBeLessThanOrEqual(vv.durable(REGIONS[n]!));
      });
    }
    expect(before[1]).toBe(oregon);
    expect(before[0]).toBeGreaterThan(virginia);
  });

  it('one timestamp travels with an update; the vector stays with the local copy (meta-data overhead)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    const ts = new OperationClient(world, 'virginia-1').put(key, 'X');
    world.run(300);
    const local = newest(world, 'virginia-1', key)!;
    expect(local.deps).toHaveLength(3);
    expect(local.deps![0]).toBe(ts);
    expect(newest(world, 'oregon-1', key)!.deps).toBeUndefined();
    const sent = world.sent.flatMap(({ message }) => (message.type === 'Replicate' ? message.groups : []));
    expect(sent.length).toBeGreaterThan(0);
    for (const { txs } of sent) for (const tx of txs) expect(tx.deps).toBeUndefined();
  });

  it('a replay from the log carries no vector either (D6)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    world.cut('virginia-1', 'oregon-1');
    const ts = new OperationClient(world, 'virginia-1').put(key, 'X');
    world.run(100);
    world.heal('virginia-1', 'oregon-1');
    world.until(() => newest(world, 'oregon-1', key)?.ts === ts);
    expect(newest(world, 'oregon-1', key)!.deps).toBeUndefined();
  });

  it('a ROT shows a local version only when its remote dependencies are in the snapshot (Alg. 2 line 35)', () => {
    const world = settled();
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    const alice = new OperationClient(world, 'virginia-1');
    // Alice's USV is ahead of this node's.
    const ahead = packWall(world.now) + 4096 * 200;
    world.call('virginia-1', { ...alice.session.put(y, 'Y'), seen: [0, 0, 0, 0] }, 'PutResp');
    alice.session.refused();
    const request = { ...alice.session.put(x, 'X'), seen: [0, 0, ahead, 0] };
    world.call('virginia-1', request, 'PutResp');
    const bob = new OperationClient(world, 'virginia-1');
    expect(bob.rot(x, y)).toEqual([null, 'Y']);
    world.run(500);
    expect(bob.rot(x, y)).toEqual(['X', 'Y']);
  });
});

describe('Okapi: operations (section 4.2)', () => {
  const apart = (): OperationWorld => settled({ spec: replicated(REGIONS, 5, 4) });

  it('a RO-TX takes one message to each partition: the client’s node chooses the snapshot', () => {
    const world = apart();
    const keys = [0, 1, 2, 3].map((partition) => keyIn(world, partition));
    const client = new OperationClient(world, 'virginia-5');
    const from = world.sent.length;
    client.rot(...keys);
    expect(operationMessages(world, from)).toEqual([
      ...keys.map(() => 'RotSliceReq'),
      ...keys.map(() => 'RotSliceResp'),
    ]);
  });

  it('the client keeps for a local version its timestamp, for another one the stable vector (Alg. 1 lines 4–5)', () => {
    const world = settled();
    const [local, remote] = [keyIn(world, 0), keyIn(world, 1)];
    const here = new OperationClient(world, 'virginia-1').put(local, 'X');
    const there = new OperationClient(world, 'oregon-1').put(remote, 'Y');
    world.run(300);
    const client = new OperationClient(world, 'virginia-1');
    client.get(remote);
    expect(client.session.seen[0]).toBe(0);
    expect(client.session.seen[2]).toBeGreaterThanOrEqual(there);
    client.get(local);
    expect(client.session.seen[0]).toBe(here);
    const other = new OperationClient(world, 'virginia-1');
    other.rot(local, remote);
    expect(other.session.seen[0]).toBe(here);
    expect(other.session.seen[2]).toBeGreaterThanOrEqual(there);
  });

  it('the snapshot includes everything that the client depends on, however far ahead that is (Alg. 2 lines 18–19)', () => {
    const world = apart();
    const keys = [0, 1].map((partition) => keyIn(world, partition));
    const seen = [1_000, 2_000, 3_000, 4_000].map((ms) => packWall(world.now + ms));
    world.ask('virginia-5', { ...new OperationClient(world, 'virginia-5').session.rot(keys), seen });
    world.run(10);
    const snapshots = world.sent.flatMap(({ message }) => (message.type === 'RotSliceReq' ? [message.snapshot] : []));
    expect(snapshots).toEqual([seen, seen]);
  });

  it('a client that gets a local version by a GET learns its dependencies: the next read does not fall behind it', () => {
    // virginia-2 receives no stable times, so its USV stands still; virginia-1 is the root.
    const world = settled({ spec: replicated(REGIONS, 2) });
    const [x, y] = [keyIn(world, 1, 'x'), keyIn(world, 3, 'y')];
    expect([1, 3].map((p) => world.topology.replicaNode(p, 'virginia'))).toEqual(['virginia-2', 'virginia-2']);
    world.filter = ({ to, message }) => !(to.node === 'virginia-2' && message.type === 'GossipDown');
    const ts = new OperationClient(world, 'oregon-1').put(x, 'X');
    world.until(() => usvOf(world, 'virginia-1')[1]! >= ts);
    const alice = new OperationClient(world, 'virginia-1');
    alice.rot(keyIn(world, 0), keyIn(world, 2)); // she learns USV from virginia-1
    expect(alice.get(x)).toBe('X');
    alice.put(y, 'Y');
    const bob = new OperationClient(world, 'virginia-2');
    expect(usvOf(world, 'virginia-2')[1]!).toBeLessThan(ts);
    expect(bob.get(y)).toBe('Y');
    expect(bob.get(x)).toBe('X');
  });

  it("a region's own versions that come back from other regions after a lost disk have no vector, and are shown (D10)", () => {
    const world = settled();
    const key = keyIn(world, 0);
    const client = new OperationClient(world, 'virginia-1');
    const ts = client.put(key, 'X');
    world.until(() => world.ust() > ts);
    world.crash('virginia-1');
    const { store } = world.node('oregon-1');
    expect(newest(world, 'oregon-1', key)?.deps).toBeUndefined();
    world.restart('virginia-1', new (store.constructor as new () => typeof store)());
    world.until(
      () =>
        world.ust() > world.node('virginia-1').parts.membership.incarnation &&
        newest(world, 'virginia-1', key) !== undefined,
    );
    world.run(100);
    expect(new OperationClient(world, 'virginia-1').rot(key)).toEqual(['X']);
    expect(new OperationClient(world, 'virginia-1').get(key)).toBe('X');
  });
});
