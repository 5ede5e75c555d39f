/** Claims about BPR's snapshots, and about how long its reads wait for them (PaRiS paper, section V). */
import { packWall } from '@isochron/core';
import { blockingIn } from '@isochron/testing/world/blocking';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { World, type WorldOptions } from '@isochron/testing/world/world';
import { bpr } from './bpr.js';
import { bprSession } from './session.js';

function settled(options: WorldOptions = {}): World {
  const world = new World({ protocol: bpr, session: bprSession, ...options });
  world.run(100);
  return world;
}

/** The duration of an action in virtual milliseconds. */
function taking(world: World, act: () => void): number {
  const since = world.now;
  act();
  return world.now - since;
}

describe('BPR: the snapshot of a transaction', () => {
  it("the snapshot of a transaction is the maximum of the highest snapshot seen by the client and the coordinator's clock value", () => {
    const world = settled();
    const client = new TestClient(world, 'virginia-1');
    const { clock } = world.node('virginia-1').parts;
    expect(client.begin().snapshot).toBe(clock.read(world.now));
    const ahead = packWall(world.now + 1_000);
    client.session.observe({ ts: ahead });
    expect(client.begin().snapshot).toBe(ahead);
    expect(clock.last).toBe(ahead);
  });

  it('a snapshot is fresh: a transaction that starts after a commit was answered sees it, in every region', () => {
    const world = settled({ delayMs: () => 40 });
    const key = keyIn(world, 0);
    new TestClient(world, 'virginia-1').write({ [key]: '1' });
    expect(world.ust()).toBeLessThan(packWall(world.now - 40));
    world.run(1);
    for (const node of world.topology.nodes) expect(new TestClient(world, node).readOnce(key)).toEqual(['1']);
  });

  it('a client can name a future snapshot, but does not get it before its time', () => {
    const world = settled({ settings: { snapshotWaitMs: 500 } });
    const key = keyIn(world, 0);
    const read = (at: number) => world.call('virginia-1', { type: 'ReadReq', txId: null, ust: 0, at, keys: [key] });
    const soon = packWall(world.now + 200);
    expect(read(soon)).toMatchObject({ type: 'ReadResp', snapshot: soon });
    expect(wallAhead(world)).toBeLessThan(200);
    expect(read(packWall(world.now + 60_000))).toMatchObject({ type: 'Refused', code: 'SNAPSHOT_UNAVAILABLE' });
  });

  it('a snapshot is never taken for a stable time', () => {
    const world = settled({ delayMs: () => 40 });
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    client.readOnce(key);
    client.write({ [key]: '1', [keyIn(world, 1)]: '1' });
    for (const { parts } of world.nodes.values()) {
      expect(parts.stable.value).toBe(parts.stable.aggregated);
      expect(parts.stable.refused).toBe(0);
    }
  });
});

/** How far the clocks are ahead of the wall, in ticks. */
const wallAhead = (world: World): number =>
  Math.max(...[...world.nodes.values()].map(({ parts }) => parts.clock.last)) - packWall(world.now);

describe('BPR: reads that wait', () => {
  it('a partition blocks a read with snapshot timestamp t until it has applied all remote transactions with timestamp up to t', () => {
    const world = settled({ delayMs: () => 40 });
    const key = keyIn(world, 0);
    const reader = new TestClient(world, 'virginia-1');
    const waited = taking(world, () => reader.readOnce(key));
    // The next round of the other replica is in transit for 40 ms.
    expect(waited).toBeGreaterThanOrEqual(40);
    expect(waited).toBeLessThanOrEqual(40 + 17);
    expect(blockingIn(world)).toEqual({ reads: 1, ms: waited });
    const { vv } = world.node('virginia-1').parts.replicas.find(({ partition }) => partition === 0)!.replication;
    expect(vv.durableMin).toBeGreaterThanOrEqual(reader.session.ust);
  });

  it('a read waits for a local transaction that is prepared below t, and then contains it', () => {
    const world = settled({ settings: { resolveAfterMs: 300 } });
    const [here, there] = [keyIn(world, 0), keyIn(world, 1)];
    world.filter = ({ message }) => message.type !== 'CommitTx';
    const writer = new TestClient(world, 'ireland-1');
    const tx = writer.begin();
    for (const key of [here, there]) tx.write(key, '1');
    const ct = writer.commit(tx);
    const reader = new TestClient(world, 'virginia-1');
    const snapshot = reader.begin();
    expect(snapshot.snapshot).toBeGreaterThan(ct);
    const waited = taking(world, () => expect(reader.read(snapshot, here)).toEqual(['1']));
    expect(waited).toBeGreaterThanOrEqual(200); // until the cohorts have resolved it (D2)
    expect(blockingIn(world).ms).toBeGreaterThanOrEqual(200);
  });

  it('a read of a partition that the region does not host waits there', () => {
    const world = settled({ delayMs: (a, b) => (a === 'virginia-1' || b === 'virginia-1' ? 40 : 100) });
    const remote = world.topology.partitions.find(({ regions }) => !regions.includes('virginia'))!;
    const waited = taking(world, () => new TestClient(world, 'virginia-1').readOnce(keyIn(world, remote.id)));
    expect(waited).toBeGreaterThanOrEqual(100 + 40);
    expect(blockingIn(world).reads).toBe(1);
    const [replica] = world.topology.preferredRegions(remote.id, 'virginia');
    const { waiting } = world.node(`${replica}-1`).parts.replicas.find(({ partition }) => partition === remote.id)!;
    expect(waiting.counters.blockedReads).toBe(1);
  });

  it('a read does not wait for a slow clock: clocks follow', () => {
    const world = settled({ skewMs: (node) => (node === 'virginia-1' ? 5_000 : 0) });
    const key = keyIn(world, 0);
    for (const node of world.topology.nodes) {
      expect(taking(world, () => new TestClient(world, node).readOnce(key))).toBeLessThanOrEqual(30);
    }
  });

  it('listings wait as reads do', () => {
    const world = settled({ delayMs: () => 40 });
    const client = new TestClient(world, 'virginia-1');
    const key = keyIn(world, 0);
    const { ct } = client.write({ [key]: '1' });
    const range = { start: 'default/', end: null, limit: 10 };
    const request = { type: 'ListReq' as const, txId: null, ust: ct, at: null, keyspace: 'default', range };
    expect(world.call('oregon-1', request, 'ListResp').entries.map((entry) => entry.key)).toEqual([key]);
    expect(blockingIn(world).ms).toBeGreaterThan(40);
  });

  it('a region that is cut off blocks the reads of its partitions, which are refused within their deadline, and no others', () => {
    const world = settled();
    world.cut('ireland-1', 'virginia-1');
    world.cut('ireland-1', 'oregon-1');
    world.run(50);
    const [shared, other] = [2, 0].map((partition) => keyIn(world, partition)) as [string, string];
    const read = (key: string) =>
      world.call('virginia-1', { type: 'ReadReq', txId: null, ust: 0, at: null, keys: [key] });
    expect(read(other).type).toBe('ReadResp');
    const waited = taking(world, () => {
      expect(read(shared)).toMatchObject({ type: 'Refused', code: 'SNAPSHOT_UNAVAILABLE' });
    });
    expect(waited).toBeGreaterThanOrEqual(world.settings.readDeadlineMs);
    expect(waited).toBeLessThanOrEqual(world.settings.readDeadlineMs + 100);
    world.heal('ireland-1', 'virginia-1');
    expect(read(shared).type).toBe('ReadResp');
  });

  it('a read that is sent again while it waits is answered and counted once', () => {
    const world = settled({ settings: { readTimeoutMs: 100 } });
    const key = keyIn(world, 0);
    world.diskMs.set('oregon-1', Number.POSITIVE_INFINITY);
    world.cut('virginia-1', 'oregon-1');
    const reader = new TestClient(world, 'virginia-1');
    const tx = reader.begin();
    const ref = world.ask('virginia-1', { type: 'ReadReq', txId: tx.id, ust: 0, at: null, keys: [key] });
    world.run(1_000);
    expect(world.answer('virginia-1', ref)).toBeUndefined();
    expect(world.node('virginia-1').parts.coordinator.reads.counters.failovers).toBeGreaterThan(3);
    world.diskMs.delete('oregon-1');
    world.heal('virginia-1', 'oregon-1');
    world.until(() => world.answer('virginia-1', ref) !== undefined);
    expect(world.answer('virginia-1', ref)?.type).toBe('ReadResp');
    const { waiting } = world.node('virginia-1').parts.replicas.find(({ partition }) => partition === 0)!;
    expect(waiting.counters.blockedReads).toBe(1);
    expect(waiting.counters.blockedMs).toBeGreaterThanOrEqual(1_000);
  });
});
