/** Cure has physical clocks only, and waits for them; H-Cure does not (Wren paper, section V). */
import { packWall } from '@isochron/core';
import { FULLY_REPLICATED } from '@isochron/testing/claims/transaction-claims';
import { ONE_REGION } from '@isochron/testing/claims/vector-claims';
import { blockingIn } from '@isochron/testing/world/blocking';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { World, type WorldOptions } from '@isochron/testing/world/world';
import { vectorSession } from '../kernel/transactions/vector-session.js';
import { cure } from './cure.js';

function settled(options: WorldOptions = {}): World {
  const world = new World({ protocol: cure, session: vectorSession, spec: FULLY_REPLICATED, ...options });
  world.run(200);
  return world;
}

const skew =
  (skewed: string, ms: number) =>
  (node: string): number =>
    node === skewed ? ms : 0;

describe('Cure: physical clocks', () => {
  it("the local entry of a snapshot is the coordinator's physical clock", () => {
    const world = settled({ skewMs: skew('virginia-1', 700) });
    world.run(3);
    const tx = new TestClient(world, 'virginia-1').begin();
    expect(tx.read.deps![0]).toBe(packWall(world.now + 700));
    expect(new TestClient(world, 'oregon-1').begin().read.deps![1]).toBe(packWall(world.now));
  });

  it('a read blocks while the physical clock on the partition is lower than t, although nothing is pending', () => {
    const world = settled({ spec: ONE_REGION, skewMs: skew('virginia-1', 250) });
    const key = keyIn(world, 1);
    const reader = new TestClient(world, 'virginia-1');
    const since = world.now;
    reader.readOnce(key);
    // One millisecond there, one back: it has waited exactly for the rest of the skew.
    expect(world.now - since).toBe(251);
    expect(blockingIn(world)).toEqual({ reads: 1, ms: 249 });
    // A fast clock waits for nothing.
    expect(new TestClient(world, 'virginia-2').readOnce(keyIn(world, 0))).toEqual([null]);
    expect(blockingIn(world).reads).toBe(1);
  });

  it('several reads that wait for the clock continue each in its time', () => {
    const world = settled({ spec: ONE_REGION, skewMs: skew('virginia-1', 250) });
    const request = { type: 'ReadReq', txId: null, ust: 0, at: null, keys: [keyIn(world, 1)] } as const;
    const asked: { ref: number; since: number }[] = [];
    for (let i = 0; i < 5; i++) {
      asked.push({ ref: world.ask('virginia-1', request), since: world.now });
      world.run(7);
    }
    for (const { ref, since } of asked) {
      world.until(() => world.answer('virginia-1', ref) !== undefined);
      expect(world.now - since).toBe(251);
    }
  });

  it('a prepare in the very millisecond of a read lies above its snapshot', () => {
    const world = settled();
    world.run(3); // between two rounds
    const key = keyIn(world, 0);
    const reader = new TestClient(world, 'virginia-1');
    const tx = reader.begin();
    expect(reader.read(tx, key)).toEqual([null]);
    expect(tx.read.deps![0]).toBe(packWall(world.now));
    const writes = [{ key, value: '1' }];
    const ids = {
      txId: 'blind-session-0001.0',
      hwt: 0,
      sentAfter: 0,
      attemptRegions: ['virginia'],
      principal: 'anonymous',
    };
    const { ct } = world.call('virginia-1', { type: 'CommitReq', ...ids, snapshot: 0, writes }, 'CommitResp');
    expect(ct).toBe(tx.read.deps![0]! + 1);
  });

  it('the next snapshot of a session has its writes, also when a slower coordinator assigns it: the read waits', () => {
    const world = settled({ spec: ONE_REGION, skewMs: skew('virginia-1', 250) });
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    const { ct } = client.write({ [key]: '1' });
    client.node = 'virginia-2';
    const tx = client.begin();
    expect(tx.read.deps).toEqual([ct]);
    expect(client.read(tx, key)).toEqual(['1']);
    expect(client.read(tx, keyIn(world, 1))).toEqual([null]);
    expect(packWall(world.now)).toBeGreaterThanOrEqual(ct);
  });

  it('no clock is moved by another one: transactions without a fast node have the right time', () => {
    const world = settled({ skewMs: skew('ireland-1', 60_000) });
    const { ct } = new TestClient(world, 'virginia-1').write({ [keyIn(world, 0)]: '1' });
    expect(ct).toBeLessThanOrEqual(packWall(world.now) + 10);
    expect(world.node('virginia-1').parts.clock.last).toBeLessThanOrEqual(packWall(world.now) + 10);
  });

  it('writes of a region with a fast clock belong to snapshots when the local clock has passed them, and no read waits for them', () => {
    const world = settled({ skewMs: skew('ireland-1', 400) });
    const key = keyIn(world, 0);
    const { ct } = new TestClient(world, 'ireland-1').write({ [key]: '1' });
    const reader = new TestClient(world, 'virginia-1');
    while (packWall(world.now) < ct) {
      expect(reader.readOnce(key)).toEqual([null]);
      world.run(20);
    }
    expect(reader.readOnce(key)).toEqual(['1']);
    expect(blockingIn(world).reads).toBe(0);
  });

  it('a commit lies above what its transaction has seen, also where that is ahead of the clock', () => {
    const world = settled({ skewMs: skew('ireland-1', 400) });
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'ireland-1');
    const { ct: fast } = client.write({ [key]: 'first' });
    client.node = 'virginia-1';
    const { ct } = client.write({ [key]: 'second' });
    expect(ct).toBeGreaterThan(fast);
    world.run(600);
    for (const node of world.topology.nodes) expect(new TestClient(world, node).readOnce(key)).toEqual(['second']);
  });

  it('a timestamp that the cluster has seen itself is not refused, however far ahead a clock is (T1)', () => {
    const world = settled({ settings: { maxClockDriftMs: 20_000 }, skewMs: skew('ireland-1', 15_000) });
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'ireland-1');
    client.write({ [key]: '1' });
    world.run(100);
    client.node = 'virginia-1';
    const tx = client.begin();
    expect(tx.read.deps![2]).toBeGreaterThan(packWall(world.now + 14_000));
    tx.write(key, '2');
    expect(client.commit(tx)).toBeGreaterThan(tx.snapshot!);
  });
});
