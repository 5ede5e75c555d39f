/** Claims about the time that every node of every region serves (P14). */
import type { ClusterSpec, NodeId, Timestamp } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { backup, joined, loseDisk, runRebuilding } from '@isochron/testing/world/lost-disks';
import { THREE_REGIONS, World } from '@isochron/testing/world/world';

/** The world's regions, and one whose only node has no replicas. */
const WITH_COORDINATOR: ClusterSpec = {
  regions: [...THREE_REGIONS.regions, { id: 'mumbai', nodes: [{ id: 'mumbai-1' }] }],
  keyspaces: [{ name: 'default', partitions: 3, regions: ['virginia', 'oregon', 'ireland'] }],
};

const served = (world: World, node: NodeId): Timestamp => world.node(node).parts.stable.served;

/** Waits as a driver does for its callers. */
function awaitServed(world: World, node: NodeId, ts: Timestamp, withinMs = 1_000): number {
  const from = world.now;
  world.node(node).parts.stable.want(ts);
  world.until(() => served(world, node) >= ts, withinMs);
  return world.now - from;
}

/** The snapshot of a session that has seen nothing. */
const newSnapshot = (world: World, node: NodeId): Timestamp =>
  world.call(node, { type: 'StartTxReq', txId: `new-${world.now}-${node}`, ust: 0, at: null }, 'StartTxResp').snapshot;

describe('PaRiS: served time', () => {
  it('a time counts as served when every node of every region begins new sessions at or above it (P14)', () => {
    const world = new World({ spec: WITH_COORDINATOR, delayMs: () => 40 });
    world.run(500);
    for (let i = 0; i < 5; i++) {
      const { ct } = new TestClient(world, 'virginia-1').write({ [keyIn(world, 0)]: `"${i}"` });
      awaitServed(world, 'virginia-1', ct);
      for (const { id } of world.nodes.values()) expect(newSnapshot(world, id)).toBeGreaterThanOrEqual(ct);
    }
  });

  it('a time that a region does not learn does not count as served, although this node calls it stable (P14)', () => {
    const world = new World({ delayMs: () => 20 });
    world.run(500);
    // Ireland goes on sending; messages to it are lost.
    world.filter = ({ to }) => to.node !== 'ireland-1';
    const key = keyIn(world, world.topology.partitions.find(({ regions }) => !regions.includes('ireland'))!.id);
    const { ct } = new TestClient(world, 'virginia-1').write({ [key]: '"x"' });
    world.node('virginia-1').parts.stable.want(ct);
    world.run(2_000);
    for (const node of ['virginia-1', 'oregon-1']) expect(served(world, node)).toBeLessThan(ct);
    expect(newSnapshot(world, 'ireland-1')).toBeLessThan(ct);
  });

  it('a time that a node without replicas does not have on its disk does not count as served (P14)', () => {
    const world = new World({ spec: WITH_COORDINATOR });
    world.run(500);
    world.diskMs.set('mumbai-1', Number.POSITIVE_INFINITY);
    world.run(200);
    const { ct } = new TestClient(world, 'virginia-1').write({ [keyIn(world, 0)]: '"x"' });
    world.node('virginia-1').parts.stable.want(ct);
    world.until(() => world.ust() >= ct, 1_000);
    world.run(500);
    expect(served(world, 'virginia-1')).toBeLessThan(ct);
    world.diskMs.delete('mumbai-1');
    awaitServed(world, 'virginia-1', ct);
  });

  it('a node that is cut off and starts again serves every served time (P14)', () => {
    const world = new World();
    world.run(500);
    const { ct } = new TestClient(world, 'virginia-1').write({ [keyIn(world, 0)]: '"x"' });
    awaitServed(world, 'virginia-1', ct);
    for (const node of ['oregon-1', 'ireland-1']) {
      world.crash(node);
      for (const { id } of world.nodes.values()) if (id !== node) world.cut(node, id);
      world.restart(node);
      world.run(100);
      expect(newSnapshot(world, node)).toBeGreaterThanOrEqual(ct);
    }
  });

  it('a node that has lost its disk serves nothing below a served time (P14, D10)', () => {
    const world = new World({ delayMs: () => 20 });
    world.run(500);
    const { ct } = new TestClient(world, 'virginia-1').write({ [keyIn(world, 0)]: '"x"' });
    awaitServed(world, 'virginia-1', ct);
    loseDisk(world, 'ireland-1');
    world.until(joined(world, 'ireland-1'));
    for (let asked = 0; asked < 50; asked++) {
      const answer = world.call('ireland-1', { type: 'StartTxReq', txId: `new-${asked}`, ust: 0, at: null });
      if (answer.type === 'StartTxResp') expect(answer.snapshot).toBeGreaterThanOrEqual(ct);
      else expect(answer).toMatchObject({ type: 'Refused', code: 'NOT_READY' });
      world.run(5);
    }
    const later = new TestClient(world, 'virginia-1').write({ [keyIn(world, 0)]: '"y"' });
    awaitServed(world, 'oregon-1', later.ct);
    expect(newSnapshot(world, 'ireland-1')).toBeGreaterThanOrEqual(later.ct);
  });

  it('a node on a rolled-back disk serves older snapshots until that is detected; then it serves what the others do (P14, D10)', () => {
    const world = new World();
    world.run(500);
    const old = backup(world.node('ireland-1').store);
    world.run(1_000);
    const before = served(world, 'virginia-1');
    world.crash('ireland-1');
    for (const other of ['virginia-1', 'oregon-1']) world.cut('ireland-1', other);
    world.restart('ireland-1', old);
    world.run(50);
    expect(newSnapshot(world, 'ireland-1')).toBeLessThan(before);
    expect(served(world, 'virginia-1')).toBeGreaterThanOrEqual(before);
    for (const other of ['virginia-1', 'oregon-1']) world.heal('ireland-1', other);
    expect(runRebuilding(world, 5_000)).toEqual(['ireland-1']);
    const { ct } = new TestClient(world, 'virginia-1').write({ [keyIn(world, 0)]: '"x"' });
    awaitServed(world, 'virginia-1', ct, 10_000);
    expect(newSnapshot(world, 'ireland-1')).toBeGreaterThanOrEqual(ct);
  });

  it('a time that a caller waits for goes to the disks at once, and an idle cluster writes no more often than before (P14)', () => {
    const world = new World({ spec: WITH_COORDINATOR, delayMs: () => 40 });
    world.run(3_000);
    const batches = () => [...world.batches.values()].reduce((sum, count) => sum + count, 0);
    const idle = batches();
    world.run(10_000);
    // Ten stable times and a few ceilings of the clock a second, in each of four nodes.
    expect(batches() - idle).toBeLessThanOrEqual(4 * 12 * 10);
    const waits: number[] = [];
    for (let i = 0; i < 20; i++) {
      world.run(137);
      const { ct } = new TestClient(world, 'virginia-1').write({ [keyIn(world, 0)]: `"${i}"` });
      waits.push(awaitServed(world, 'virginia-1', ct));
    }
    // Two WAN delays make it stable everywhere, the third brings that back; the rest are rounds and syncs.
    expect(Math.max(...waits)).toBeLessThan(3 * 40 + 60);
  });
});
