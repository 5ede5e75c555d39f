/** Claims about the verification of a disk after a start (D10), on a virtual clock. */
import { IsochronError } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { backup, everywhere } from '@isochron/testing/world/lost-disks';
import { World } from '@isochron/testing/world/world';

const V = 'virginia-1';
const O = 'oregon-1';
const I = 'ireland-1';

/** The verification of a node's disk, as its driver sees it. */
const statusOf = (world: World, node: string) => world.node(node).parts.verification.status(world.now);

/** Virginia's version clocks. */
const clocks = (world: World): number[] =>
  world.node(V).parts.replicas.map(({ replication }) => replication.versionClock);

/** A partition that virginia shares with this region alone. */
const sharedWith = (world: World, region: string): number =>
  world.topology.partitions.find(({ regions }) => regions.includes('virginia') && regions.includes(region))!.id;

/** Virginia has crashed, and runs on a disk from before its last write to the key; no link of it is up. */
function rolledBack(world = new World()) {
  const key = keyIn(world, sharedWith(world, 'oregon'));
  const client = new TestClient(world, V);
  client.write({ [key]: '"a"' });
  world.run(100);
  const old = backup(world.node(V).store);
  const { ct } = client.write({ [key]: '"b"' });
  world.run(100);
  restarted(world, old);
  return { world, key, ct };
}

/** Virginia starts again, with links to none of the others. */
function restarted(world: World, store = world.node(V).store): void {
  for (const peer of world.topology.nodes) if (peer !== V) world.cut(V, peer);
  world.crash(V);
  world.restart(V, store);
}

/** A commit of one write through virginia, which decides it. */
function commit(world: World, key: string): number {
  const client = new TestClient(world, V);
  const tx = client.begin();
  tx.write(key, '"c"');
  return world.ask(V, client.commitRequest(tx));
}

describe('D10: the verification of a disk', () => {
  it('links that come up 5 s after the start of an old disk: nothing is decided before the peer has reported', () => {
    const { world, key } = rolledBack();
    const before = clocks(world);
    world.sent.length = 0;
    const ref = commit(world, key);
    world.run(5_000);
    expect(statusOf(world, V)).toEqual({ state: 'verifying', missing: [I, O], timedOut: false });
    world.heal(V, I);
    world.run(2_500);
    expect([world.answer(V, ref), clocks(world), world.node(V).store.prepared.size]).toEqual([undefined, before, 0]);
    world.heal(V, O);
    expect(() => world.run(5_000)).toThrow(expect.objectContaining({ code: 'REBUILD_NEEDED' }));
    expect(world.failure).toBeInstanceOf(IsochronError);
    expect(world.answer(V, ref)).toBeUndefined();
  });

  it('a node that no peer replica reports to goes on after verifyTimeoutMs, and reports that it is unverified', () => {
    const world = new World({ settings: { verifyTimeoutMs: 6_000, commitTimeoutMs: 20_000 } });
    world.run(100);
    const key = keyIn(world, sharedWith(world, 'oregon'));
    restarted(world);
    const ref = commit(world, key);
    world.run(5_900);
    expect([world.answer(V, ref), statusOf(world, V).state]).toEqual([undefined, 'verifying']);
    world.run(1_000);
    expect(world.answer(V, ref)).toMatchObject({ type: 'CommitResp' });
    expect(statusOf(world, V)).toEqual({ state: 'unverified', missing: [I, O], timedOut: true });
    for (const peer of [O, I]) world.heal(V, peer);
    world.run(200);
    expect(statusOf(world, V)).toEqual({ state: 'verified', missing: [], timedOut: false });
  });

  it('a node that reached no other node within verifyTimeoutMs waits once more when its first link comes up', () => {
    const { world, key } = rolledBack(new World({ settings: { verifyTimeoutMs: 6_000 } }));
    world.run(6_100);
    expect(statusOf(world, V)).toEqual({ state: 'unverified', missing: [I, O], timedOut: true });
    world.heal(V, I);
    const ref = commit(world, key);
    world.run(5_900);
    expect([world.answer(V, ref), statusOf(world, V)]).toEqual([
      undefined,
      { state: 'verifying', missing: [O], timedOut: false },
    ]);
    world.heal(V, O);
    expect(() => world.run(5_000)).toThrow(expect.objectContaining({ code: 'REBUILD_NEEDED' }));
    expect(world.answer(V, ref)).toBeUndefined();
  });

  it('the wait that begins with the first link is the last one', () => {
    const world = new World({ settings: { verifyTimeoutMs: 2_000 } });
    world.run(100);
    restarted(world);
    world.run(3_000);
    world.heal(V, I);
    world.run(2_100);
    const unverified = { state: 'unverified', missing: [O], timedOut: true };
    expect(statusOf(world, V)).toEqual(unverified);
    world.cut(V, I);
    world.run(1_000);
    world.heal(V, I);
    world.run(1_000);
    expect(statusOf(world, V)).toEqual(unverified);
  });

  it('a report for one partition does not end the wait of the others, nor its own: they are on one disk', () => {
    const world = new World();
    world.run(100);
    const key = keyIn(world, sharedWith(world, 'ireland'));
    restarted(world);
    world.heal(V, I);
    const ref = commit(world, key);
    world.run(4_000);
    expect([world.answer(V, ref), statusOf(world, V)]).toEqual([
      undefined,
      { state: 'verifying', missing: [O], timedOut: false },
    ]);
    world.heal(V, O);
    world.until(() => world.answer(V, ref) !== undefined, 1_000);
    expect(world.answer(V, ref)).toMatchObject({ type: 'CommitResp' });
  });

  it('where one peer replica has reported, a node waits for another one until 2 s after its link came up', () => {
    const world = new World({ spec: everywhere(1) });
    world.run(100);
    restarted(world);
    world.filter = ({ message }) => message.type !== 'ResyncReq' || message.region !== 'oregon';
    world.run(5_000);
    world.heal(V, I);
    world.run(1_000);
    world.heal(V, O);
    world.run(1_900);
    expect(statusOf(world, V)).toEqual({ state: 'verifying', missing: [O], timedOut: false });
    world.run(200);
    expect(statusOf(world, V)).toEqual({ state: 'unverified', missing: [O], timedOut: false });
  });

  it('a peer replica whose link stays down delays nothing where another one has reported', () => {
    const world = new World({ spec: everywhere(1) });
    world.run(100);
    restarted(world);
    world.heal(V, I);
    const ref = commit(world, keyIn(world, 0));
    world.until(() => world.answer(V, ref) !== undefined, 3_000);
    expect(world.answer(V, ref)).toMatchObject({ type: 'CommitResp' });
  });

  it('a first start and a restart of the whole cluster wait only for their links', () => {
    for (const empty of [true, false]) {
      const world = new World({ empty });
      world.until(() => [V, O, I].every((node) => world.node(node).parts.membership.joined), 5_000);
      world.run(100);
      for (const node of [V, O, I]) world.crash(node);
      for (const node of [V, O, I]) world.restart(node);
      world.until(() => [V, O, I].every((node) => statusOf(world, node).state === 'verified'), 50);
    }
  });

  it('a partition with one replica has nothing to verify', () => {
    const keyspaces = [{ name: 'default', partitions: 3, replication: 1 }];
    const world = new World({ spec: { ...everywhere(1), keyspaces } });
    restarted(world);
    expect(statusOf(world, V)).toEqual({ state: 'verified', missing: [], timedOut: false });
  });

  it('a commit whose cohort is being verified goes on when the verification ends', () => {
    const world = new World();
    world.run(100);
    const key = keyIn(world, sharedWith(world, 'oregon'));
    restarted(world);
    world.heal(V, I);
    const client = new TestClient(world, I);
    const tx = client.begin();
    tx.write(key, '"from elsewhere"');
    const ref = world.ask(I, { ...client.commitRequest(tx), attemptRegions: ['virginia'] });
    world.run(4_000);
    expect(world.answer(I, ref)).toBeUndefined();
    world.heal(V, O);
    world.until(() => world.answer(I, ref) !== undefined, 1_000);
    expect(world.answer(I, ref)).toMatchObject({ type: 'CommitResp' });
  });
});
