import { packWall } from '@isochron/core';
import { joined, loseDisk } from '@isochron/testing/world/lost-disks';
import {
  blockedIn,
  busyWhile,
  keyIn,
  OperationClient,
  OperationWorld,
  operationMessages,
  REGIONS,
  replicated,
} from '@isochron/testing/world/operation-world';
import type { WorldOptions } from '@isochron/testing/world/world-of';
import { gentleRain } from './gentlerain.js';

function settled(options: WorldOptions = {}): OperationWorld {
  const world = new OperationWorld(gentleRain, options);
  world.run(400);
  return world;
}

const gstOf = (world: OperationWorld, node: string) => world.node(node).parts.stabilization.state.regional.entries[0]!;

describe('GentleRain: physical clocks', () => {
  it('a PUT whose client is ahead of the node’s clock waits until that has passed (Okapi, Fig. 1, bottom)', () => {
    const world = settled();
    const client = new OperationClient(world, 'virginia-1');
    const ahead = packWall(world.now + 200);
    const request = { ...client.session.put(keyIn(world, 0), 'X'), seen: [ahead, 0] };
    const before = world.now;
    expect(world.call('virginia-1', request, 'PutResp').ts).toBeGreaterThan(ahead);
    expect(world.now - before).toBeGreaterThanOrEqual(200);
    expect(world.now - before).toBeLessThan(210);
    expect(blockedIn(world).puts).toBe(1);
    expect(blockedIn(world).ms).toBeGreaterThanOrEqual(200);
  });

  it('a client that moves from a fast node to a slow one waits as long as their clocks differ', () => {
    const world = settled({ spec: replicated(REGIONS, 2), skewMs: (node) => (node === 'virginia-2' ? -80 : 0) });
    const client = new OperationClient(world, 'virginia-1');
    const first = client.put(keyIn(world, 0), 'X');
    const before = world.now;
    expect(client.put(keyIn(world, 1), 'Y')).toBeGreaterThan(first);
    expect(world.now - before).toBeGreaterThan(60);
  });

  it("a node's clock is moved by no other clock", () => {
    const world = settled({ skewMs: (node) => (node === 'oregon-1' ? 5_000 : 0) });
    new OperationClient(world, 'oregon-1').put(keyIn(world, 0), 'X');
    world.run(200);
    const ts = new OperationClient(world, 'virginia-1').put(keyIn(world, 1), 'Y');
    expect(ts).toBeLessThan(packWall(world.now + 1));
  });

  it('after a crash a PUT waits until the clock has passed every timestamp that the node may have published (D7)', () => {
    const world = settled();
    const { ceiling } = world.node('virginia-1').parts.clock;
    world.crash('virginia-1');
    world.restart('virginia-1');
    expect(new OperationClient(world, 'virginia-1').put(keyIn(world, 0), 'X')).toBeGreaterThan(ceiling);
    expect(packWall(world.now)).toBeGreaterThan(ceiling);
    expect(blockedIn(world).puts).toBe(1);
  });

  it('a PUT that will be refused does not wait first', () => {
    const world = settled();
    const client = new OperationClient(world, 'virginia-1');
    world.refusal = 'STORAGE_FULL';
    const request = { ...client.session.put(keyIn(world, 0), 'X'), seen: [packWall(world.now + 200), 0] };
    world.call('virginia-1', request, 'Refused');
    expect(blockedIn(world).puts).toBe(0);
  });
});

describe('GentleRain: global stable time', () => {
  it('a remote version can be read once GST has passed it, a local one at once', () => {
    const world = settled({ delayMs: (a, b) => (a.startsWith('ire') || b.startsWith('ire') ? 60 : 2) });
    const key = keyIn(world, 0);
    const ts = new OperationClient(world, 'oregon-1').put(key, 'X');
    expect(new OperationClient(world, 'oregon-1').get(key)).toBe('X');
    world.run(25);
    expect([...world.node('virginia-1').store.chains.values()].flat()).toHaveLength(1);
    expect(gstOf(world, 'virginia-1')).toBeLessThan(ts);
    expect(new OperationClient(world, 'virginia-1').get(key)).toBeNull();
    world.until(() => gstOf(world, 'virginia-1') >= ts);
    expect(new OperationClient(world, 'virginia-1').get(key)).toBe('X');
  });

  it('a RO-TX waits until the region has everything that its client depends on, from the farthest region too (Okapi, section 3.2)', () => {
    const world = settled({ delayMs: (a, b) => (a.startsWith('ire') || b.startsWith('ire') ? 90 : 2) });
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    const client = new OperationClient(world, 'virginia-1');
    client.put(x, 'X');
    const before = world.now;
    expect(client.rot(x, y)).toEqual(['X', null]);
    expect(world.now - before).toBeGreaterThan(80);
    expect(blockedIn(world).rots).toBe(1);
    const again = world.now;
    client.rot(x, y);
    expect(world.now - again).toBeLessThan(5);
    expect(blockedIn(world).rots).toBe(1);
  });

  it('while a region is cut off a RO-TX of later writes is refused in time, and GETs go on', () => {
    const world = settled({ settings: { readDeadlineMs: 400 } });
    const key = keyIn(world, 0);
    for (const other of ['virginia-1', 'oregon-1']) world.cut('ireland-1', other);
    const client = new OperationClient(world, 'virginia-1');
    client.put(key, 'X');
    expect(client.get(key)).toBe('X');
    const { code } = world.call('virginia-1', client.session.rot([key, keyIn(world, 1)]), 'Refused');
    expect(code).toBe('SNAPSHOT_UNAVAILABLE');
    expect(world.counted('virginia-1', 'blockedRots')).toBe(1);
  });

  it('the client keeps the highest timestamp that it has read, and GST (Okapi, section 3.2)', () => {
    const world = settled();
    const keys = [0, 1].map((partition) => keyIn(world, partition));
    const [x, y] = keys.map((key) => new OperationClient(world, 'oregon-1').put(key, 'X'));
    world.run(400);
    const [a, b] = [new OperationClient(world, 'virginia-1'), new OperationClient(world, 'virginia-1')];
    a.get(keys[0]!);
    expect(a.session.seen[0]).toBe(x);
    b.rot(...keys);
    expect(b.session.seen[0]).toBe(Math.max(x!, y!));
    expect(b.session.seen[1]).toBeGreaterThanOrEqual(y!);
  });

  it("a replica that lacks a session's or a snapshot's claim waits for it, and counts that (D10)", () => {
    const world = settled();
    const key = keyIn(world, 0);
    const to = { node: 'virginia-1', machine: 'replica/0' };
    const from = { node: 'oregon-1', machine: 'coordinator' };
    const claimed = world.node('virginia-1').parts.replicas[0]!.replication.vv.durableMin + 4096 * 50;
    world.inject(to, from, { type: 'RotSliceReq', ref: 1, partition: 0, snapshot: [claimed], keys: [key] });
    world.inject(to, from, { type: 'GetSliceReq', ref: 2, partition: 0, seen: [0, claimed], key });
    world.run(20);
    expect([world.crossed('RotSliceResp'), world.crossed('GetSliceResp')]).toEqual([0, 0]);
    world.run(200);
    expect([world.crossed('RotSliceResp'), world.crossed('GetSliceResp')]).toEqual([1, 1]);
    expect(world.counted('virginia-1', 'blockedReads')).toBe(2);
  });

  it('a replica that has lost its disk answers no GET of another node before the stable time has passed the loss (D10)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    new OperationClient(world, 'oregon-1').put(key, '1');
    world.run(200);
    loseDisk(world, 'virginia-1');
    world.filter = ({ message }) => !message.type.startsWith('Gossip');
    world.until(joined(world, 'virginia-1'));
    const to = { node: 'virginia-1', machine: 'replica/0' };
    const from = { node: 'ireland-1', machine: 'coordinator' };
    world.inject(to, from, { type: 'GetSliceReq', ref: 1, partition: 0, seen: [0, 0], key });
    world.run(100);
    expect(world.crossed('GetSliceResp')).toBe(0);
    world.filter = () => true;
    world.until(() => world.crossed('GetSliceResp') === 1);
  });

  it('a snapshot below the floor of garbage collection is refused (P9)', () => {
    const world = settled({ settings: { retentionMs: 0 } });
    const key = keyIn(world, 0);
    new OperationClient(world, 'virginia-1').put(key, '1');
    world.until(() => world.node('virginia-1').parts.replicas[0]!.replication.gcFloor > 0);
    const to = { node: 'virginia-1', machine: 'replica/0' };
    const from = { node: 'oregon-1', machine: 'coordinator' };
    world.inject(to, from, { type: 'RotSliceReq', ref: 1, partition: 0, snapshot: [1], keys: [key] });
    world.run(5);
    expect(world.sent.map(({ message }) => message)).toContainEqual(
      expect.objectContaining({ type: 'Refused', ref: 1, code: 'SNAPSHOT_TOO_OLD' }),
    );
  });

  it('the snapshot is one timestamp, and so is the metadata of a version', () => {
    const world = settled({ spec: replicated(REGIONS, 5, 4) });
    const keys = [0, 1, 2, 3].map((partition) => keyIn(world, partition));
    const client = new OperationClient(world, 'virginia-5');
    client.put(keys[0]!, 'X');
    world.run(300);
    const from = world.sent.length;
    client.rot(...keys);
    expect(operationMessages(world, from)).toEqual([
      ...keys.map(() => 'RotSliceReq'),
      ...keys.map(() => 'RotSliceResp'),
    ]);
    for (const { message } of world.sent) {
      if (message.type === 'RotSliceReq') expect(message.snapshot).toHaveLength(1);
      if (message.type === 'Replicate') for (const { txs } of message.groups) expect(txs[0]!.deps).toBeUndefined();
    }
  });

  it("a client that gets a local version by a GET learns its writer's GST: the next read does not fall behind it", () => {
    const world = settled({ spec: replicated(REGIONS, 2) });
    const [x, y] = [keyIn(world, 1, 'x'), keyIn(world, 3, 'y')];
    world.filter = ({ to, message }) => !(to.node === 'virginia-2' && message.type === 'GossipDown');
    const ts = new OperationClient(world, 'oregon-1').put(x, 'X');
    world.until(() => gstOf(world, 'virginia-1') >= ts);
    const alice = new OperationClient(world, 'virginia-1');
    alice.rot(keyIn(world, 0), keyIn(world, 2)); // she learns GST from virginia-1
    expect(alice.get(x)).toBe('X');
    alice.put(y, 'Y');
    const bob = new OperationClient(world, 'virginia-2');
    expect(gstOf(world, 'virginia-2')).toBeLessThan(ts);
    expect(bob.get(y)).toBe('Y');
    expect(bob.get(x)).toBe('X');
  });

  it('with clocks that agree only ROTs wait: the versions that they read were written a moment ago, here or far away', () => {
    const world = settled({ delayMs: (a, b) => (a.slice(0, 3) === b.slice(0, 3) ? 1 : 45) });
    busyWhile(world, 6);
    expect(blockedIn(world)).toMatchObject({ reads: 0 });
    expect(blockedIn(world).rots).toBeGreaterThan(6);
    expect(blockedIn(world).ms / blockedIn(world).rots).toBeGreaterThan(40);
  });
});
