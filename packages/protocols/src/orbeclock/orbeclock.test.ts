import { packWall } from '@isochron/core';
import { settledWorld } from '@isochron/testing/world/operation-fixtures';
import {
  blockedIn,
  keyIn,
  OperationClient,
  type OperationWorld,
  operationMessages,
  REGIONS,
  replicated,
} from '@isochron/testing/world/operation-world';
import type { WorldOptions } from '@isochron/testing/world/world-of';
import { only } from '../kernel/operations/dependency-matrix.js';
import { orbeClock, PATIENCE_MS } from './orbeclock.js';

const settled = (options: WorldOptions = {}): OperationWorld => settledWorld(orbeClock, options);
const replica = { node: 'virginia-1', machine: 'replica/0' };
const stranger = { node: 'oregon-1', machine: 'coordinator' };

describe('Orbe DM-Clock: PUTs (section 4.3)', () => {
  it('“it first checks whether PDTc < Clock. If not, it delays the update request until the condition holds”', () => {
    const world = settled();
    const client = new OperationClient(world, 'virginia-1');
    const ahead = packWall(world.now + 200);
    const request = { ...client.session.put(keyIn(world, 0), 'X'), seen: only(0, 1, ahead) };
    const before = world.now;
    expect(world.call('virginia-1', request, 'PutResp').ts).toBeGreaterThan(ahead);
    expect(world.now - before).toBeGreaterThanOrEqual(200);
    expect(world.now - before).toBeLessThan(210);
    expect(blockedIn(world).puts).toBe(1);
  });

  it('“For any two item versions x and y, if x ⤳ y, then put_x < put_y”, on whichever node’s clock', () => {
    const world = settled({ spec: replicated(REGIONS, 2), skewMs: (node) => (node === 'virginia-2' ? -80 : 0) });
    const client = new OperationClient(world, 'virginia-1');
    const first = client.put(keyIn(world, 0), 'X');
    const before = world.now;
    const second = client.put(keyIn(world, 1), 'Y');
    expect(second).toBeGreaterThan(first);
    expect(world.now - before).toBeGreaterThan(60);
    const reader = new OperationClient(world, 'virginia-2');
    reader.get(keyIn(world, 1));
    expect(reader.put(keyIn(world, 3), 'Z')).toBeGreaterThan(second);
  });

  it("a node's clock is moved by no other clock", () => {
    const world = settled({ skewMs: (node) => (node === 'oregon-1' ? 5_000 : 0) });
    new OperationClient(world, 'oregon-1').put(keyIn(world, 0), 'X');
    world.run(200);
    expect(new OperationClient(world, 'virginia-1').put(keyIn(world, 1), 'Y')).toBeLessThan(packWall(world.now + 1));
  });
});

describe('Orbe DM-Clock: GET-TX (section 4.3)', () => {
  it('“st ← Clock − Δ”: a slightly older snapshot, which is complete already where regions are near', () => {
    const world = settled({ spec: replicated(REGIONS, 2) });
    const writer = new OperationClient(world, 'virginia-1');
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    writer.put(x, 'X');
    const last = writer.put(y, 'Y');
    world.until(() => packWall(world.now) > last + 40 * 4096);
    const from = world.sent.length;
    const before = world.now;
    expect(new OperationClient(world, 'virginia-1').rot(x, y)).toEqual(['X', 'Y']);
    expect(world.now - before).toBeLessThanOrEqual(20);
    const [snapshot] = world.sent.flatMap(({ message }) => (message.type === 'RotSliceReq' ? message.snapshot : []));
    expect(snapshot).toBe(packWall(before) - world.settings.applyIntervalMs * 4096);
    // One round, to the partition on another node.
    expect(operationMessages(world, from)).toEqual(['RotSliceReq', 'RotSliceResp']);
  });

  it('“2) min(PVV) > st”: a GET-TX waits until a time of every other region above the snapshot has arrived', () => {
    const world = settled({ delayMs: (a, b) => (a.startsWith('ire') || b.startsWith('ire') ? 90 : 2) });
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    const client = new OperationClient(world, 'virginia-1');
    const before = world.now;
    expect(client.rot(x, y)).toEqual([null, null]);
    expect(world.now - before).toBeGreaterThan(70);
    expect(blockedIn(world).reads).toBe(2);
    expect(blockedIn(world).ms).toBeGreaterThan(140);
  });

  it('“1) Clock > st”: a GET-TX waits for a clock that is behind', () => {
    const world = settled({ spec: replicated(REGIONS, 2), skewMs: (node) => (node === 'virginia-2' ? -120 : 0) });
    const before = world.now;
    new OperationClient(world, 'virginia-1').rot(keyIn(world, 0), keyIn(world, 1));
    expect(world.now - before).toBeGreaterThan(90);
    expect(world.counted('virginia-2', 'blockedReads')).toBe(1);
    // Later writes there lie above the snapshot, although its clock has just reached it.
    const snapshots = world.sent.flatMap(({ message }) => (message.type === 'RotSliceReq' ? message.snapshot : []));
    expect(new OperationClient(world, 'virginia-2').put(keyIn(world, 1), 'Y')).toBeGreaterThan(Math.max(...snapshots));
  });

  it('a snapshot that a slice has shown is closed: no PUT is stamped at or below it (D7)', () => {
    // Its clock is behind: the others' have passed every version that it shows.
    const skewMs = -100;
    const world = settled({ skewMs: (node) => (node === 'virginia-1' ? skewMs : 0) });
    const key = keyIn(world, 0);
    world.run(3); // between two rounds: nothing else moves the clock
    const st = packWall(world.now + skewMs);
    world.inject(replica, stranger, { type: 'RotSliceReq', ref: 1, partition: 0, snapshot: [st], keys: [key] });
    expect(new OperationClient(world, 'virginia-1').put(key, 'X')).toBeGreaterThan(st);
    expect(world.counted('virginia-1', 'blockedReads')).toBe(0);
    expect(world.node('virginia-1').parts.clock.ceiling).toBeGreaterThanOrEqual(st);
  });

  it('“including the latest item versions with a physical update timestamp no greater than the snapshot timestamp”', () => {
    const world = settled();
    const key = keyIn(world, 0);
    const client = new OperationClient(world, 'virginia-1');
    const [first, second] = [client.put(key, '1'), client.put(key, '2')];
    world.run(100);
    for (const [ref, st] of [first - 1, first, second - 1, second].entries()) {
      world.inject(replica, stranger, { type: 'RotSliceReq', ref, partition: 0, snapshot: [st], keys: [key] });
    }
    world.run(50);
    const shown = world.sent.flatMap(({ message }) =>
      message.type === 'RotSliceResp' ? [message.versions[0]?.value ?? null] : [],
    );
    expect(shown).toEqual([null, '1', '1', '2']);
  });

  it('the snapshot covers what the client depends on: it sees its own writes, and waits for them', () => {
    const world = settled({ delayMs: () => 40 });
    const client = new OperationClient(world, 'virginia-1');
    const ts = client.put(keyIn(world, 0), 'X');
    const before = world.now;
    expect(client.rot(keyIn(world, 0), keyIn(world, 1))).toEqual(['X', null]);
    expect(world.now - before).toBeGreaterThan(30);
    expect(client.session.seen).toEqual(only(0, 0, ts));
  });

  it('a GET-TX’s client handles “each retrieved item version in the same way as for a GET operation”', () => {
    const world = settled();
    const keys = [0, 2, 5].map((partition) => keyIn(world, partition));
    const stamps = keys.map((key) => new OperationClient(world, 'oregon-1').put(key, 'X'));
    world.run(100);
    const client = new OperationClient(world, 'virginia-1');
    client.rot(...keys);
    expect(client.session.seen).toEqual([0, 1, stamps[0], 2, 1, stamps[1], 5, 1, stamps[2]]);
  });

  it('a snapshot below the floor of garbage collection is refused (P9)', () => {
    const world = settled({ settings: { retentionMs: 0 } });
    const key = keyIn(world, 0);
    new OperationClient(world, 'virginia-1').put(key, '1');
    world.until(() => world.node('virginia-1').parts.replicas[0]!.replication.gcFloor > 0);
    world.inject(replica, stranger, { type: 'RotSliceReq', ref: 1, partition: 0, snapshot: [1], keys: [key] });
    world.run(5);
    expect(world.sent.map(({ message }) => message)).toContainEqual(
      expect.objectContaining({ type: 'Refused', ref: 1, code: 'SNAPSHOT_TOO_OLD' }),
    );
  });
});

describe('Orbe DM-Clock: failures (section 5.2)', () => {
  const cutOff = () => {
    const world = settled();
    const key = keyIn(world, 0);
    new OperationClient(world, 'virginia-1').put(key, 'before');
    world.run(200);
    for (const other of ['virginia-1', 'oregon-1']) world.cut('ireland-1', other);
    world.run(50);
    return { world, key };
  };

  it('“if a transaction is delayed longer than a certain threshold, its originating partition re-executes it using a smaller snapshot timestamp”', () => {
    const { world, key } = cutOff();
    new OperationClient(world, 'virginia-1').put(key, 'since');
    const reader = new OperationClient(world, 'virginia-1');
    const before = world.now;
    expect(reader.rot(key, keyIn(world, 1))).toEqual(['before', null]);
    expect(world.now - before).toBeGreaterThanOrEqual(PATIENCE_MS);
    expect(world.now - before).toBeLessThan(PATIENCE_MS + 100);
    expect(world.counted('virginia-1', 'reexecuted')).toBe(1);
  });

  it('a GET-TX is never executed below what its client depends on: then it is refused in time', () => {
    const { world, key } = cutOff();
    const client = new OperationClient(world, 'virginia-1');
    client.put(key, 'since');
    world.call('virginia-1', client.session.rot([key, keyIn(world, 1)]), 'Refused');
    expect(world.counted('virginia-1', 'reexecuted')).toBe(0);
    client.session.refused();
    expect(client.get(key)).toBe('since');
    for (const other of ['virginia-1', 'oregon-1']) world.heal('ireland-1', other);
    expect(client.rot(key, keyIn(world, 1))).toEqual(['since', null]);
  });
});
