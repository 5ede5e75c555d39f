import type { StoredVersion } from '@isochron/core';
import { packWall } from '@isochron/core';
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
import { contrarian } from './contrarian.js';

const settled = (options: WorldOptions = {}): OperationWorld => settledWorld(contrarian, options);

/** The newest version of a key on a node's disk. */
const newest = (world: OperationWorld, node: string, key: string): StoredVersion | undefined =>
  [...world.node(node).store.chains].find(([name]) => name.endsWith(`|${key}`))?.[1][0];

/** Nothing that oregon's replica of partition 1 has reaches virginia. */
function withLaggard(world: OperationWorld): void {
  world.filter = ({ from, to, message }) =>
    !(from.node.startsWith('oregon') && to.node.startsWith('virginia')) ||
    !((message.type === 'Replicate' || message.type === 'Heartbeat') && message.partition === 1);
}

describe('Contrarian: tracking causality (section 4.1)', () => {
  it('a version’s vector has the client’s remote entries and, as local one, a timestamp above all of them (Alg. 2 lines 2–6)', () => {
    const world = settled();
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    const ahead = new OperationClient(world, 'oregon-1').put(x, 'X');
    world.until(() => world.ust() > ahead);
    const client = new OperationClient(world, 'virginia-1');
    expect(client.get(x)).toBe('X');
    const { seen } = client.session;
    const ts = client.put(y, 'Y');
    const version = newest(world, 'virginia-1', y)!;
    expect(version.deps).toEqual([ts, seen[1], seen[2]]);
    expect(ts).toBeGreaterThan(Math.max(...seen));
    expect(client.session.seen).toEqual(version.deps);
  });

  it('a PUT lies above what its client depends on, however far ahead that clock was (Alg. 2 line 2)', () => {
    const world = settled({ skewMs: (node) => (node === 'oregon-1' ? 2_000 : 0) });
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    const ahead = new OperationClient(world, 'oregon-1').put(x, 'X');
    world.run(200);
    const client = new OperationClient(world, 'virginia-1');
    expect(client.get(x)).toBe('X');
    expect(client.put(y, 'Y')).toBeGreaterThan(ahead);
    const further = { ...client.session.put(y, 'Y2'), seen: [0, ahead + 4096 * 4_000, 0] };
    expect(world.call('virginia-1', further, 'PutResp').ts).toBe(ahead + 4096 * 4_000 + 1);
    expect(blockedIn(world).puts).toBe(0);
  });

  it('the whole vector goes to the other regions with the version (Alg. 2 line 11)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    new OperationClient(world, 'virginia-1').put(key, 'X');
    world.run(100);
    expect(newest(world, 'oregon-1', key)!.deps).toEqual(newest(world, 'virginia-1', key)!.deps);
    expect(newest(world, 'oregon-1', key)!.deps).toHaveLength(3);
  });

  it('versions created in a region are stable there immediately (section 4.1)', () => {
    const world = settled();
    withLaggard(world);
    const key = keyIn(world, 0);
    new OperationClient(world, 'virginia-1').put(key, 'X');
    expect(new OperationClient(world, 'virginia-1').get(key)).toBe('X');
    expect(new OperationClient(world, 'virginia-1').rot(key, keyIn(world, 1))).toEqual(['X', null]);
  });

  it('a remote version can be read only when all partitions of the region have the versions created before it (GSS)', () => {
    const world = settled();
    withLaggard(world);
    world.run(50);
    const key = keyIn(world, 0);
    const ts = new OperationClient(world, 'oregon-1').put(key, 'X');
    world.run(200);
    expect(newest(world, 'virginia-1', key)?.ts).toBe(ts);
    expect(new OperationClient(world, 'virginia-1').get(key)).toBeNull();
    expect(new OperationClient(world, 'virginia-1').rot(key, keyIn(world, 1))).toEqual([null, null]);
    expect(new OperationClient(world, 'ireland-1').get(key)).toBe('X');
    world.filter = () => true;
    world.until(() => new OperationClient(world, 'virginia-1').get(key) === 'X');
  });

  it('GSS advances in absence of updates, by heartbeats', () => {
    const world = settled();
    const { regional } = world.node('virginia-1').parts.stabilization.state;
    const before = regional.entries;
    world.run(500);
    for (const [i, ts] of regional.entries.entries()) expect(ts).toBeGreaterThan(before[i]! + 400 * 4096);
  });

  it("a client's claims raise the GSS of no node, and make no other client wait (D12)", () => {
    const world = settled();
    const key = keyIn(world, 0);
    const { state } = world.node('virginia-1').parts.stabilization;
    const claimed = state.clock.last + 4096 * 1_000;
    const liar = { type: 'GetReq' as const, key, seen: [0, claimed, 0], region: 'virginia' };
    const ref = world.ask('virginia-1', liar);
    world.run(30);
    expect(world.answer('virginia-1', ref)).toBeUndefined();
    expect(state.regional.entries[1]).toBeLessThan(claimed);
    expect(new OperationClient(world, 'virginia-1').rot(key, keyIn(world, 1))).toEqual([null, null]);
    world.until(() => world.answer('virginia-1', ref) !== undefined);
    expect(world.answer('virginia-1', ref)!.type).toBe('GetResp');
  });
});

describe('Contrarian: ROTs (section 4.2)', () => {
  /** The client's node holds nothing: every message of an operation crosses a link. */
  const apart = (): OperationWorld => settled({ spec: replicated(REGIONS, 5, 4) });

  it('a ROT takes two rounds: the coordinator partition’s snapshot, then one message to each partition (Fig. 2)', () => {
    const world = apart();
    const keys = [0, 1, 2, 3].map((partition) => keyIn(world, partition));
    const client = new OperationClient(world, 'virginia-5');
    const from = world.sent.length;
    client.rot(...keys);
    expect(operationMessages(world, from)).toEqual([
      'SnapReq',
      'SnapResp',
      ...keys.map(() => 'RotSliceReq'),
      ...keys.map(() => 'RotSliceResp'),
    ]);
  });

  it('a PUT is one message and its answer, whatever the client depends on', () => {
    const world = apart();
    const keys = [0, 1, 2, 3].map((partition) => keyIn(world, partition));
    const client = new OperationClient(world, 'virginia-5');
    client.rot(...keys);
    const from = world.sent.length;
    client.put(keys[0]!, 'X');
    expect(operationMessages(world, from)).toEqual(['PutSliceReq', 'PutSliceResp']);
  });

  it('each partition of a ROT is its coordinator in turn (Alg. 1 line 9)', () => {
    const world = apart();
    const keys = [0, 1, 2, 3].map((partition) => keyIn(world, partition));
    const client = new OperationClient(world, 'virginia-5');
    const from = world.sent.length;
    for (let i = 0; i < 4; i++) client.rot(...keys);
    const asked = world.sent.slice(from).filter(({ message }) => message.type === 'SnapReq');
    expect(new Set(asked.map(({ to }) => to.machine)).size).toBe(4);
  });

  it('no operation of a session that stays ever waits, with clocks that disagree and a region far away (section 4.3)', () => {
    const world = settled({
      spec: replicated(REGIONS, 2),
      skewMs: (node) => ({ 'virginia-1': 60, 'virginia-2': -60, 'oregon-1': 35 })[node] ?? 0,
      delayMs: (a, b) => (a.slice(0, 3) === b.slice(0, 3) ? 1 : 45),
    });
    busyWhile(world, 12);
    expect(blockedIn(world)).toEqual({ reads: 0, puts: 0, rots: 0, ms: 0 });
  });

  it('a snapshot lies nowhere below what the client has seen (Alg. 2 lines 16–18)', () => {
    const world = settled();
    const client = new OperationClient(world, 'virginia-1');
    for (let i = 0; i < 6; i++) {
      const { seen: before } = client.session;
      if (i % 2 === 0) client.rot(keyIn(world, 0), keyIn(world, 1));
      else client.put(keyIn(world, i % 3), `${i}`);
      for (const [n, ts] of client.session.seen.entries()) expect(ts).toBeGreaterThanOrEqual(before[n] ?? 0);
      world.run(20);
    }
  });

  it('a partition moves its clock to the local entry of the snapshot: later writes lie above it (Alg. 2 line 21)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    const local = packWall(world.now + 3_000);
    readAt(world, [local, 0, 0], key);
    expect(new OperationClient(world, 'virginia-1').put(key, 'X')).toBeGreaterThan(local);
  });

  it('also after a crash nothing is written below a snapshot that was answered (D7)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    const local = packWall(world.now + 3_000);
    world.diskMs.set('virginia-1', Number.POSITIVE_INFINITY);
    readAt(world, [local, 0, 0], key);
    expect(world.crossed('RotSliceResp')).toBe(0);
    world.diskMs.set('virginia-1', 1);
    world.run(20);
    expect(world.crossed('RotSliceResp')).toBe(1);
    world.crash('virginia-1');
    world.restart('virginia-1');
    world.run(100);
    expect(new OperationClient(world, 'virginia-1').put(key, 'X')).toBeGreaterThan(local);
  });

  it('a replica that lacks a snapshot’s remote versions waits for them, and counts that (D10)', () => {
    const world = settled();
    const key = keyIn(world, 1);
    withLaggard(world);
    world.run(50);
    const { vv } = world.node('virginia-1').parts.replicas[1]!.replication;
    readAt(
      world,
      [0, vv.durable('oregon') + 1, 0].map((ts) => Math.max(ts, world.ust())),
      key,
      1,
    );
    expect(world.crossed('RotSliceResp')).toBe(0);
    world.filter = () => true;
    world.until(() => world.crossed('RotSliceResp') === 1);
    expect(world.counted('virginia-1', 'blockedReads')).toBe(1);
    expect(world.counted('virginia-1', 'blockedMs')).toBeGreaterThan(0);
  });

  it('a snapshot below the floor of garbage collection is refused, and its ROT chooses another one (P9)', () => {
    const world = settled({ settings: { retentionMs: 0 } });
    const key = keyIn(world, 0);
    const client = new OperationClient(world, 'virginia-1');
    client.put(key, '1');
    client.put(key, '2');
    world.until(() => world.node('virginia-1').parts.replicas[0]!.replication.gcFloor > 0);
    readAt(world, [1, 1, 1], key);
    expect(world.sent.filter(({ message }) => message.type === 'Refused')).toHaveLength(1);
    // A coordinator partition that is behind the others chooses a snapshot that is collected.
    const held = world.node('virginia-1').parts.coordinator.rots.rules;
    const choose = jest.spyOn(held, 'choose').mockImplementationOnce(() => [1, 1, 1]);
    expect(client.rot(key, keyIn(world, 1))).toEqual(['2', null]);
    expect(choose.mock.calls.length).toBeGreaterThan(1);
    expect(world.counted('virginia-1', 'secondTries')).toBe(1);
  });
});

/** A coordinator elsewhere reads a key in a snapshot. */
function readAt(world: OperationWorld, snapshot: readonly number[], key: string, partition = 0): void {
  const coordinator = { node: 'oregon-1', machine: 'coordinator' };
  const to = { node: 'virginia-1', machine: `replica/${partition}` };
  world.inject(to, coordinator, { type: 'RotSliceReq', ref: 1, partition, snapshot, keys: [key] });
  world.run(5);
}
