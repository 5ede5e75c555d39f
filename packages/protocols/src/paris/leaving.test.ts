/** Claims about nodes that leave the members in order, and come back (M3, M5, M6). */
import type { NodeId, Timestamp } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import { everywhere, versions } from '@isochron/testing/world/lost-disks';
import type { World } from '@isochron/testing/world/world';
import { MAPS_MACHINE } from '../kernel/maps/map-machine.js';

const [V, O, I] = ['virginia-1', 'oregon-1', 'ireland-1'];
const at = (node: NodeId) => ({ node, machine: MAPS_MACHINE });
const mapsOf = (world: World, node: NodeId) => world.node(node).parts.maps;
const membersAt = (world: World, node: NodeId) => mapsOf(world, node).current.members;

/** The node's driver asks its machine to leave. */
const asksToLeave = (world: World, node: NodeId): void =>
  world.inject(at(node), { node, machine: 'client' }, { type: 'LeaveReq', ref: 4711 });

const asksToReturn = (world: World, node: NodeId): void =>
  world.inject(at(node), { node, machine: 'client' }, { type: 'ReturnReq', ref: 4712 });

const answerOf = (world: World, node: NodeId) => world.answer(node, 4711) as unknown;

/** The node leaves and ends. */
function leaves(world: World, node: NodeId): void {
  asksToLeave(world, node);
  world.until(() => answerOf(world, node) !== undefined, 10_000);
  expect(answerOf(world, node)).toEqual({ type: 'LeaveResp', ref: 4711 });
  world.crash(node);
  for (const other of [V, O, I]) if (other !== node) world.until(() => !membersAt(world, other).includes(node), 1_000);
}

const isBack = (world: World, node: NodeId): void =>
  world.until(() => [V, O, I].every((other) => membersAt(world, other).includes(node)), 10_000);

/** Writes at a node, and returns how long it takes until the write is visible at some nodes. */
function visibleAfter(world: World, from: NodeId, nodes: readonly NodeId[], partition = 0): number {
  const { ct } = new TestClient(world, from).write({ [keyIn(world, partition)]: '"new"' });
  const start = world.now;
  world.until(() => nodes.every((node) => world.node(node).parts.stable.value >= ct), 5_000);
  return world.now - start;
}

describe('PaRiS: nodes that leave and come back', () => {
  it('stable time goes on without a node that has left in order (M3, M5)', () => {
    const world = settled({ delayMs: () => 20 });
    leaves(world, I);
    for (let partition = 0; partition < 6; partition++)
      expect(visibleAfter(world, V, [V, O], partition)).toBeLessThan(500);
  });

  it('stable time stands for few round trips when a node leaves, and when it comes back (M2, M5)', () => {
    const world = settled({ delayMs: () => 40 });
    const writer = new TestClient(world, V);
    let [highest, since, longest] = [0, world.now, 0];
    const watched = (until: () => boolean): void => {
      for (let i = 0; !until(); i++) {
        if (i > 4_000) throw new Error('it does not end');
        if (i % 20 === 0) writer.write({ [keyIn(world, 0)]: `"${i}"` });
        world.run(5);
        const ust = Math.min(...[V, O].map((node) => world.node(node).parts.stable.value));
        if (ust > highest) [highest, since] = [ust, world.now];
        longest = Math.max(longest, world.now - since);
      }
    };
    asksToLeave(world, I);
    watched(() => answerOf(world, I) !== undefined);
    world.crash(I);
    watched(() => !membersAt(world, V).includes(I) && !membersAt(world, O).includes(I));
    world.restart(I);
    watched(() => [V, O, I].every((node) => membersAt(world, node).includes(I)));
    // A seal, an acceptance, the decision, a report: each crosses the links once, most of them twice.
    expect(longest).toBeLessThanOrEqual(500);
  });

  it('a node that comes back gets all that it lacks, and serves it (M5)', () => {
    const world = settled({ spec: everywhere(3), settings: { changeRetentionMs: 1_000 } });
    leaves(world, I);
    for (let i = 0; i < 20; i++) {
      new TestClient(world, i % 2 === 0 ? V : O).write({ [keyIn(world, i % 3, `k${i}-`)]: `"${i}"` });
      world.run(200);
    }
    world.run(3_000);
    world.restart(I);
    isBack(world, I);
    expect(visibleAfter(world, I, [V, O, I])).toBeLessThan(1_000);
    for (const partition of [0, 1, 2]) expect(versions(world, I, partition)).toEqual(versions(world, V, partition));
  });

  it('a node that comes back proposes above every stable time of the map without it (M5, P1)', () => {
    const world = settled();
    leaves(world, I);
    const before: Timestamp[] = [];
    for (let i = 0; i < 5; i++) visibleAfter(world, V, [V, O]);
    world.node(I).skewMs = -5_000;
    world.restart(I);
    isBack(world, I);
    before.push(world.ust());
    const { ct } = new TestClient(world, I).write({ [keyIn(world, world.topology.partitionsOn(I)[0]!)]: '"back"' });
    expect(ct).toBeGreaterThan(Math.max(...before));
    expect(visibleAfter(world, I, [V, O, I])).toBeLessThan(1_000);
  });

  it('a node that crashes once it has adopted a map knows that the entries of its members are at the horizon (M5)', () => {
    const world = settled();
    leaves(world, I);
    for (let i = 0; i < 5; i++) visibleAfter(world, V, [V, O]);
    world.restart(I);
    world.until(() => membersAt(world, V).includes(I), 10_000);
    const { horizon } = mapsOf(world, V).current.map;
    world.until(() => Number(world.node(V).store.meta.get('map/adopted')) === mapsOf(world, V).current.version, 10);
    world.crash(V);
    world.restart(V);
    const { parts } = world.node(V);
    expect(membersAt(world, V)).toContain(I);
    for (const { replication } of parts.replicas) expect(replication.vv.durableMin).toBeGreaterThanOrEqual(horizon);
    expect(parts.stable.confirmed(parts.stable.aggregated)).toBe(parts.stable.aggregated);
  });

  it('cohorts of new attempts are on members, and those of every map are known (M6, D4)', () => {
    const world = settled();
    const onI = world.topology.partitionsOn(I);
    const request = commitOver(world, id(1), onI);
    const { ct } = world.call(V, request, 'CommitResp');
    leaves(world, I);
    const now = mapsOf(world, V).current;
    for (const partition of onI) expect(now.cohort(partition, 'ireland').node).not.toBe(I);
    expect(world.call(V, { ...commitOver(world, id(2), onI), maps: [now.version] }).type).toBe('CommitResp');
    // Its cohorts have applied it: they answer.
    const known = onI.filter((partition) => now.cohort(partition, 'virginia').node === V);
    expect(known.length).toBeGreaterThan(0);
    expect(ct).toBeLessThanOrEqual(world.ust());
  });

  it('a node that leaves refuses new prepares, and first lets attempts avoid it (M6, D4)', () => {
    const world = settled();
    asksToLeave(world, I);
    world.run(50);
    expect([...mapsOf(world, V).leaving]).toEqual([I]);
    expect(world.call(V, commitOver(world, id(3), [0, 1, 2]), 'CommitResp').txId).toBe(id(3));
    world.until(() => mapsOf(world, I).isLeaving, 1_000);
    const avoiding = { ...commitOver(world, id(4), [0, 1, 2]), avoids: [['ireland']] };
    expect(world.call(V, avoiding, 'CommitResp').txId).toBe(id(4));
    world.until(() => answerOf(world, I) !== undefined, 5_000);
  });

  it('a slice whose other cohort has left without it is aborted, and holds stable time back no longer (M5, D2)', () => {
    const world = settled({ settings: { resolveAfterMs: 1_000_000 } });
    const cohortOf = (node: NodeId) =>
      [0, 1, 2, 3, 4, 5].find((p) => world.topology.cohort(p, 'oregon').node === node)!;
    const [onO, onI] = [cohortOf(O), cohortOf(I)];
    const cohorts = [onO, onI].sort((a, b) => a - b);
    const times = { ust: world.ust(), ht: world.ust(), sentAfter: world.ust() };
    // Its coordinator is gone: the other cohort never gets its slice.
    world.inject(
      { node: O, machine: `replica/${onO}` },
      { node: V, machine: 'coordinator' },
      {
        type: 'PrepareReq',
        partition: onO,
        identity: { txId: id(5), attempt: 0, home: 'oregon', map: 0, cohorts },
        ...times,
        principal: 'anonymous',
        writes: [{ key: keyIn(world, onO), value: '1' }],
      },
    );
    world.run(50);
    leaves(world, I);
    expect(visibleAfter(world, V, [V, O])).toBeLessThan(1_000);
    expect(world.node(O).parts.replicas.every(({ undecided }) => !undecided)).toBe(true);
  });

  it('nodes that leave at once stay members: a cluster that is shut down decides nothing', () => {
    const world = settled();
    asksToLeave(world, I);
    asksToLeave(world, O);
    world.run(100);
    for (const node of [I, O]) expect(answerOf(world, node)).toMatchObject({ why: 'another-leaves' });
    world.run(2_000);
    expect(mapsOf(world, V).newest.version).toBe(0);
  });

  it('a node that holds the only replica of a partition on a member stays a member', () => {
    const pinned = { name: 'pinned', partitions: 1, regions: ['ireland'] };
    const world = settled({ spec: { ...everywhere(3), keyspaces: [...everywhere(3).keyspaces, pinned] } });
    asksToLeave(world, I);
    world.run(100);
    expect(answerOf(world, I)).toMatchObject({ why: 'only-replica' });
    for (const node of [V, O]) world.inject(at(node), at(I), { type: 'MemberReq', version: 0, leaves: true });
    world.run(2_000);
    expect(mapsOf(world, V).newest.version).toBe(0);
    leaves(world, O);
  });

  it('a node that crashes before the map without it is decided becomes a member in full again (M1)', () => {
    const world = settled();
    world.filter = ({ message }) => message.type !== 'MemberReq';
    asksToLeave(world, I);
    world.until(() => mapsOf(world, I).hasLeft, 5_000);
    world.run(100);
    world.crash(I);
    world.run(50);
    world.restart(I);
    expect(mapsOf(world, I).hasLeft).toBe(true);
    world.filter = () => true;
    world.until(() => !mapsOf(world, I).hasLeft, 10_000);
    isBack(world, I);
    expect(visibleAfter(world, I, [V, O, I])).toBeLessThan(1_000);
  });

  it('a node that has left comes back when it is asked to, and not by itself (M5)', () => {
    const world = settled();
    asksToLeave(world, I);
    world.until(() => answerOf(world, I) !== undefined, 10_000);
    world.run(5_000);
    expect([V, O, I].map((node) => membersAt(world, node).includes(I))).toEqual([false, false, false]);
    // Still linked: nodes that are away have everything that they can have.
    expect(visibleAfter(world, V, [V, O, I])).toBeLessThan(500);
    asksToReturn(world, I);
    isBack(world, I);
    expect(visibleAfter(world, I, [V, O, I])).toBeLessThan(500);
  });

  it('a node that leaves stays a member when it is asked to, prepares again, and lets others leave (M6)', () => {
    const world = settled();
    const [onI] = world.topology.partitionsOn(I);
    // Nothing becomes stable: the node waits for its last write.
    new TestClient(world, I).write({ [keyIn(world, onI!)]: '"last"' });
    world.cut(V, O);
    asksToLeave(world, I);
    world.run(1_000);
    expect([mapsOf(world, I).isLeaving, [...mapsOf(world, V).leaving]]).toEqual([true, [I]]);
    asksToReturn(world, I);
    world.run(100);
    expect(answerOf(world, I)).toMatchObject({ why: 'returns' });
    expect([mapsOf(world, I).isLeaving, [...mapsOf(world, V).leaving], mapsOf(world, I).hasLeft]).toEqual([
      false,
      [],
      false,
    ]);
    world.heal(V, O);
    expect(visibleAfter(world, I, [V, O, I], onI)).toBeLessThan(2_000);
    leaves(world, V);
  });

  it('a second request to leave ends the first: each is answered', () => {
    const world = settled();
    world.cut(V, O);
    asksToLeave(world, I);
    world.run(100);
    world.inject(at(I), { node: I, machine: 'client' }, { type: 'LeaveReq', ref: 4713 });
    world.run(100);
    expect(answerOf(world, I)).toMatchObject({ why: 'returns' });
    world.heal(V, O);
    world.until(() => world.answer(I, 4713) !== undefined, 10_000);
    expect(world.answer(I, 4713)).toEqual({ type: 'LeaveResp', ref: 4713 });
  });

  it('a node leaves and comes back for its own driver alone (D12)', () => {
    const world = settled();
    world.inject(at(I), at(O), { type: 'LeaveReq', ref: 4713 });
    world.run(5_000);
    expect(membersAt(world, V)).toContain(I);
    asksToLeave(world, I);
    world.until(() => answerOf(world, I) !== undefined, 10_000);
    world.inject(at(I), at(O), { type: 'ReturnReq', ref: 4714 });
    world.run(5_000);
    expect(membersAt(world, V)).not.toContain(I);
  });

  it('every node of a cluster leaves and comes back, one after the other, under writes (M1, M5)', () => {
    const world = settled({ spec: everywhere(4), delayMs: () => 10 });
    let written = 0;
    for (const node of [V, O, I]) {
      const other = node === V ? O : V;
      const write = () => {
        new TestClient(world, other).write({ [keyIn(world, written % 4, `w${written}-`)]: `"${written++}"` });
      };
      asksToLeave(world, node);
      while (answerOf(world, node) === undefined) write();
      world.crash(node);
      for (let i = 0; i < 5; i++) write();
      world.restart(node);
      for (let i = 0; i < 300 && !membersAt(world, other).includes(node); i++) write();
      isBack(world, node);
      expect(visibleAfter(world, node, [V, O, I])).toBeLessThan(1_000);
      world.node(node).client.answers.clear();
    }
    for (const partition of [0, 1, 2, 3])
      for (const node of [O, I]) expect(versions(world, node, partition)).toEqual(versions(world, V, partition));
    expect(mapsOf(world, V).newest.version).toBe(6);
  });
});
