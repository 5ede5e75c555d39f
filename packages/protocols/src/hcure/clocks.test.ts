/** "HLCs enable H-Cure to avoid blocking the read of a transaction T because of clock skew" (Wren paper, section V). */
import { packWall } from '@isochron/core';
import { ONE_REGION } from '@isochron/testing/claims/vector-claims';
import { blockingIn } from '@isochron/testing/world/blocking';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { World, type WorldOptions } from '@isochron/testing/world/world';
import { vectorSession } from '../kernel/transactions/vector-session.js';
import { hCure } from './hcure.js';

function settled(options: WorldOptions = {}): World {
  const world = new World({ protocol: hCure, session: vectorSession, spec: ONE_REGION, ...options });
  world.run(200);
  return world;
}

describe('H-Cure: hybrid clocks', () => {
  it('a read does not block because of clock skew: the replica moves its clock', () => {
    const world = settled({ skewMs: (node) => (node === 'virginia-1' ? 250 : 0) });
    const reader = new TestClient(world, 'virginia-1');
    const tx = reader.begin();
    expect(tx.read.deps![0]).toBeGreaterThanOrEqual(packWall(world.now + 250));
    const since = world.now;
    reader.read(tx, keyIn(world, 1));
    expect(world.now - since).toBe(2);
    expect(blockingIn(world)).toEqual({ reads: 0, ms: 0 });
    expect(world.node('virginia-2').parts.clock.last).toBeGreaterThanOrEqual(tx.read.deps![0]!);
  });

  it('a prepare after a read lies above its snapshot', () => {
    const world = settled({ skewMs: (node) => (node === 'virginia-1' ? 250 : 0) });
    const key = keyIn(world, 1);
    const reader = new TestClient(world, 'virginia-1');
    const tx = reader.begin();
    expect(reader.read(tx, key)).toEqual([null]);
    const { ct } = new TestClient(world, 'virginia-2').write({ [key]: '1' });
    expect(ct).toBeGreaterThan(tx.read.deps![0]!);
  });

  it('a snapshot above the durable ceiling is answered when the disk has a ceiling above it: a crash makes no room below (D7)', () => {
    const world = settled();
    const key = keyIn(world, 1);
    const from = { node: 'virginia-1', machine: 'coordinator' };
    const { parts } = world.node('virginia-2');
    const snapshot = packWall(world.now + 5_000);
    expect(snapshot).toBeGreaterThan(parts.clock.ceiling);
    const slice = { type: 'ReadSliceReq' as const, ref: 4711, partition: 1, snapshot, keys: [key], deps: [snapshot] };
    world.inject({ node: 'virginia-2', machine: 'replica/1' }, from, slice);
    const answered = () => world.sent.some(({ message }) => 'ref' in message && message.ref === 4711);
    world.until(answered);
    expect(parts.clock.ceiling).toBeGreaterThanOrEqual(snapshot);
    world.crash('virginia-2');
    world.restart('virginia-2');
    world.run(100);
    const { ct } = new TestClient(world, 'virginia-2').write({ [key]: '1' });
    expect(ct).toBeGreaterThan(snapshot);
  });

  it('HLCs cannot avoid blocking if there are pending transactions: a read waits until they have ended', () => {
    const world = settled({ delayMs: () => 20 });
    const keys = [keyIn(world, 0), keyIn(world, 1)];
    const writer = new TestClient(world, 'virginia-4');
    const tx = writer.begin();
    for (const key of keys) tx.write(key, '1');
    world.ask('virginia-4', writer.commitRequest(tx));
    world.run(30); // prepared at both; the answers are in transit
    const reader = new TestClient(world, 'virginia-1');
    expect(reader.readOnce(...keys)).toEqual(['1', '1']);
    expect(blockingIn(world).reads).toBe(2);
    expect(blockingIn(world).ms).toBeGreaterThan(20);
  });
});
