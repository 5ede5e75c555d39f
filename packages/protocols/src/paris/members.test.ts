/** Claims about what counts, and what is refused, while the members of a map change (M1–M3, M5, M6). */
import type { NodeId } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import { loseDisk } from '@isochron/testing/world/lost-disks';
import type { World } from '@isochron/testing/world/world';
import { MAPS_MACHINE } from '../kernel/maps/map-machine.js';

const [V, O, I] = ['virginia-1', 'oregon-1', 'ireland-1'];
const at = (node: NodeId, machine = MAPS_MACHINE) => ({ node, machine });
const mapsOf = (world: World, node: NodeId) => world.node(node).parts.maps;
const membersAt = (world: World, node: NodeId) => mapsOf(world, node).current.members;
const asks = (world: World, node: NodeId, type: 'LeaveReq' | 'ReturnReq'): void =>
  world.inject(at(node), at(node, 'client'), { type, ref: 1 });
/** The types of messages that a node has sent since a place in the list. */
const sentBy = (world: World, node: NodeId, from = 0): string[] =>
  world.sent.slice(from).flatMap((sent) => (sent.from.node === node ? [sent.message.type] : []));

/** The node leaves, and goes on as no member. */
function leaves(world: World, node: NodeId): void {
  asks(world, node, 'LeaveReq');
  world.until(() => [V, O, I].every((other) => !membersAt(world, other).includes(node)), 10_000);
}

/** A world whose nodes have adopted map 1, in which ireland's node is no member. */
function withoutIreland(options?: Parameters<typeof settled>[0]): World {
  const world = settled(options);
  leaves(world, I);
  return world;
}

/** Partitions with cohorts in both regions, for a home in virginia. */
function overVirginiaAndIreland(world: World): number[] {
  const cohortOn = (node: NodeId) =>
    world.topology.partitions.findIndex(
      ({ id: partition }) => world.topology.cohort(partition, 'virginia').node === node,
    );
  return [cohortOn(V), cohortOn(I)].sort((a, b) => a - b);
}

describe('PaRiS: members of a map', () => {
  it('a report of another map does not count, however late it comes (M3, M5)', () => {
    const world = withoutIreland();
    const { stabilization, stable } = world.node(V).parts;
    world.cut(V, O);
    asks(world, O, 'ReturnReq');
    // A new map begins without reports.
    stabilization.adopted();
    const missing = () => (stabilization.describe() as { missingRegions: unknown }).missingRegions;
    const report = { type: 'GossipRoot', region: 'oregon', gst: stable.value, sOld: 0, wallMs: world.now } as const;
    world.run(20);
    expect(missing()).toEqual(['oregon']);
    for (const map of [undefined, 2]) world.inject(at(V, 'stabilization'), at(O, 'stabilization'), { ...report, map });
    expect(missing()).toEqual(['oregon']);
    world.inject(at(V, 'stabilization'), at(O, 'stabilization'), { ...report, map: 1 });
    expect(missing()).toEqual([]);
  });

  it('a node that is no member receives stable times, and reports the snapshots in use there alone (M3, P9)', () => {
    const world = withoutIreland({ settings: { retentionMs: 0 } });
    const { snapshot } = world.call(I, { type: 'StartTxReq', txId: id(9), ust: 0, at: null }, 'StartTxResp');
    const from = world.sent.length;
    for (let i = 0; i < 5; i++) {
      const { ct } = new TestClient(world, V).write({ [keyIn(world, 0)]: `"${i}"` });
      world.until(() => world.node(I).parts.stable.value >= ct, 1_000);
    }
    const reports = world.sent
      .slice(from)
      .flatMap(({ from: { node }, message }) => (node === I && message.type === 'GossipUp' ? [message] : []));
    expect(new Set(reports.map(({ gst }) => gst))).toEqual(new Set([null]));
    expect(sentBy(world, I, from)).not.toContain('GossipRoot');
    for (const node of [V, O]) expect(world.node(node).parts.stable.sOld).toBeLessThanOrEqual(snapshot);
    world.call(I, { type: 'EndTxReq', txId: id(9) }, 'EndTxResp');
    world.until(() => [V, O].every((node) => world.node(node).parts.stable.sOld > snapshot), 1_000);
  });

  it('nothing is collected anew before a node that is away has reported the snapshots in use there (P9)', () => {
    const world = settled();
    world.filter = ({ from, message }) => !(from.node === I && message.type === 'GossipUp');
    leaves(world, I);
    const before = Math.max(...[V, O].map((node) => world.node(node).parts.stable.sOld));
    for (let i = 0; i < 5; i++) {
      new TestClient(world, V).write({ [keyIn(world, 0)]: `"${i}"` });
      world.run(200);
    }
    expect(world.ust()).toBeGreaterThan(before);
    for (const node of [V, O]) expect(world.node(node).parts.stable.sOld).toBeLessThanOrEqual(before);
  });

  it('a node that is away and down holds back no collection (P9)', () => {
    const world = withoutIreland();
    world.call(I, { type: 'StartTxReq', txId: id(9), ust: 0, at: null }, 'StartTxResp');
    world.run(100);
    world.crash(I);
    const { ct } = new TestClient(world, V).write({ [keyIn(world, 0)]: '"later"' });
    world.until(() => [V, O].every((node) => world.node(node).parts.stable.sOld >= ct), 2_000);
  });

  it('a sealed node takes no stable time from a client: it may belong to the next map (M2, P5)', () => {
    const world = settled();
    world.filter = ({ message }) => message.type !== 'AcceptReq';
    for (const node of [V, O, I]) world.inject(at(node), at(V), { type: 'SealReq', version: 1, ballot: 3 });
    world.run(300);
    const { stable, replicas } = world.node(V).parts;
    const before = stable.value;
    // Its own vectors have it: streams go on.
    const ust = Math.min(...replicas.map(({ replication }) => replication.vv.durableMin));
    expect(ust).toBeGreaterThan(before);
    world.ask(V, { type: 'StartTxReq', txId: id(1), ust, at: null });
    world.run(20);
    expect(stable.value).toBe(before);
  });

  it('a node seals nothing while a lost disk is rebuilt (M2, D10)', () => {
    const world = settled();
    loseDisk(world, O);
    for (const other of [V, I]) world.cut(O, other);
    world.inject(at(O), at(V), { type: 'SealReq', version: 1, ballot: 3 });
    world.run(300);
    expect(mapsOf(world, O).promised.ballot).toBe(0);
  });

  it('a voter that abstains from a version accepts no map of it (M1, D10)', () => {
    const world = settled();
    const { map } = mapsOf(world, O).at(0)!;
    const accept = (version: number) =>
      world.inject(at(O), at(V), { type: 'AcceptReq', ballot: 3, map: { ...map, version, horizon: world.ust() } });
    mapsOf(world, O).abstain(1, { write: () => 0 });
    accept(1);
    expect(mapsOf(world, O).promised.accepted).toBeUndefined();
  });

  it('a voter accepts no map that cannot follow its own (D12)', () => {
    const world = settled();
    const { map } = mapsOf(world, O).at(0)!;
    const next = { ...map, version: 1, horizon: world.ust() };
    for (const odd of [
      { ...next, members: [] },
      { ...next, replicas: [] },
      { ...next, voters: [9] },
    ]) {
      world.inject(at(O), at(V), { type: 'AcceptReq', ballot: 3, map: odd });
      expect(mapsOf(world, O).promised.accepted).toBeUndefined();
    }
    world.inject(at(O), at(V), { type: 'AcceptReq', ballot: 3, map: next });
    expect(mapsOf(world, O).promised.accepted).toEqual({ ballot: 3, map: next });
  });

  it('a node that leaves coordinates no transaction, and prepares none (M6)', () => {
    const world = settled();
    world.cut(V, O);
    asks(world, I, 'LeaveReq');
    world.until(() => mapsOf(world, I).isLeaving, 1_000);
    const request = commitOver(world, id(1), [0, 1, 2]);
    expect(world.call(I, request, 'Refused').code).toBe('NOT_READY');
    const [onI] = world.topology.partitionsOn(I);
    const cohort = { node: I, machine: `replica/${onI}` };
    const from = world.sent.length;
    world.inject(cohort, at(V, 'coordinator'), {
      type: 'PrepareReq',
      partition: onI!,
      identity: { txId: id(2), attempt: 0, home: 'ireland', map: 0, cohorts: [onI!] },
      ust: world.ust(),
      ht: world.ust(),
      sentAfter: world.ust(),
      principal: 'anonymous',
      writes: [{ key: keyIn(world, onI!), value: '1' }],
    });
    world.run(20);
    expect(sentBy(world, I, from)).toContain('PrepareRefused');
  });

  it('a commit that waits for a node that has left is refused, and its next attempt commits without it (M5, D4)', () => {
    const world = settled();
    const cohorts = overVirginiaAndIreland(world);
    // The prepare for the node never comes: the node has nothing to wait for.
    world.filter = ({ to, message }) => !(to.node === I && message.type === 'PrepareReq');
    const ref = world.ask(V, commitOver(world, id(1), cohorts));
    world.run(50);
    leaves(world, I);
    world.until(() => world.answer(V, ref) !== undefined, 2_000);
    expect(world.answer(V, ref)).toMatchObject({ type: 'Refused', code: 'TRANSACTION_ABORTED' });
    const next = { ...commitOver(world, id(1), cohorts), attemptRegions: ['virginia', 'virginia'], maps: [0, 1] };
    expect(world.call(V, next).type).toBe('CommitResp');
  });

  it('a write that is repeated in a later map with other cohorts is another attempt (M6, D4)', () => {
    const world = settled();
    const request = commitOver(world, id(1), overVirginiaAndIreland(world));
    const { ct } = world.call(V, request, 'CommitResp');
    world.run(500);
    leaves(world, I);
    const again = { ...request, attemptRegions: ['virginia', 'virginia'], maps: [0, 1] };
    expect(world.call(V, again, 'CommitResp').ct).toBe(ct);
    expect(world.call(O, { ...request, maps: [1] }, 'Refused').code).toBe('ATTEMPT_MISMATCH');
  });

  it('a request that is repeated after its cohort has left has one effect: the next cohort has its outcome (M6, D5)', () => {
    const world = settled();
    const onI = world.topology.partitions.findIndex(({ id: p }) => world.topology.cohort(p, 'ireland').node === I);
    const write = commitOver(world, id(1), [onI]);
    const request = { ...write, attemptRegions: ['ireland'], sentAfter: write.sentAfter - 1_000_000 };
    const { ct } = world.call(I, request, 'CommitResp');
    leaves(world, I);
    expect(mapsOf(world, V).current.cohort(onI, 'ireland').node).not.toBe(I);
    expect(world.call(V, { ...request, maps: [1] }, 'CommitResp').ct).toBe(ct);
  });

  it('a sender of a request under a key that is behind another sender goes on with the next attempt (D4)', () => {
    const world = settled();
    const write = commitOver(world, id(0), overVirginiaAndIreland(world));
    const request = { ...write, sentAfter: write.sentAfter - 1_000_000 };
    world.filter = ({ to, message }) => !(to.node === I && message.type === 'PrepareReq');
    const ahead = world.ask('virginia-1', { ...request, attemptRegions: ['virginia', 'virginia'] });
    world.run(100);
    expect(world.answer('virginia-1', ahead)).toBeUndefined();
    expect(world.call(O, request, 'Refused').code).toBe('TRANSACTION_ABORTED');
    world.filter = () => true;
    const again = { ...request, attemptRegions: ['virginia', 'virginia'] };
    const { ct } = world.call(O, again, 'CommitResp');
    world.until(() => world.answer('virginia-1', ahead) !== undefined, 10_000);
    expect(world.answer('virginia-1', ahead)).toMatchObject({ type: 'CommitResp', ct });
  });

  it('a request under a key that is repeated in a later map has one effect, whatever attempts its senders name (D4, M8)', () => {
    const world = settled();
    const write = commitOver(world, id(1), overVirginiaAndIreland(world));
    const request = { ...write, sentAfter: write.sentAfter - 1_000_000 };
    leaves(world, I);
    const { ct } = world.call(V, { ...request, maps: [1] }, 'CommitResp');
    asks(world, I, 'ReturnReq');
    world.until(() => [V, O, I].every((node) => membersAt(world, node).includes(I)), 20_000);
    for (const maps of [[2], [0, 2], [1, 2], [1, 1, 2]]) {
      const again = { ...request, attemptRegions: maps.map(() => 'virginia'), maps };
      expect(world.call(O, again, 'CommitResp').ct).toBe(ct);
    }
  });

  it('a request under a key that is repeated in a later map waits for the fence: what its cohort lacks is there then (M9)', () => {
    const world = withoutIreland();
    const onI = world.topology.partitions.findIndex(({ id: p }) => world.topology.cohort(p, 'ireland').node === I);
    const { node: cohort } = mapsOf(world, V).current.cohort(onI, 'ireland');
    const write = commitOver(world, id(1), [onI]);
    const request = { ...write, attemptRegions: ['ireland'], sentAfter: write.sentAfter - 1_000_000 };
    asks(world, I, 'ReturnReq');
    world.until(() => mapsOf(world, cohort).highestPromised === 2, 20_000);
    world.filter = ({ from, to, message }) => !(from.node === cohort && to.node === I && message.type === 'Replicate');
    const { ct } = world.call(cohort, { ...request, maps: [1] }, 'CommitResp');
    world.until(() => [V, O, I].every((node) => membersAt(world, node).includes(I)), 20_000);
    const ref = world.ask(V, { ...request, maps: [2] });
    world.run(500);
    expect(world.answer(V, ref)).toBeUndefined();
    world.filter = () => true;
    world.until(() => world.answer(V, ref) !== undefined, 5_000);
    expect(world.answer(V, ref)).toMatchObject({ type: 'CommitResp', ct });
  });

  it('a node that has left is not known as one that leaves any more (M6)', () => {
    const world = withoutIreland();
    for (const node of [V, O]) expect([...mapsOf(world, node).leaving]).toEqual([]);
  });

  it('a node that is far behind does not become a member before it has caught up (M5)', () => {
    const world = withoutIreland();
    for (const other of [V, O]) world.cut(I, other);
    for (let i = 0; i < 5; i++) {
      new TestClient(world, V).write({ [keyIn(world, i)]: `"${i}"` });
      world.run(1_000);
    }
    // The stream of one of its sources stays away.
    world.filter = ({ from, to }) => !(from.node === V && to.node === I && from.machine.startsWith('replica'));
    for (const other of [V, O]) world.heal(I, other);
    asks(world, I, 'ReturnReq');
    world.run(5_000);
    expect(mapsOf(world, V).newest.version).toBe(1);
    world.filter = () => true;
    world.until(() => [V, O, I].every((node) => membersAt(world, node).includes(I)), 20_000);
  });

  it('a node with an older map gets the maps that it lacks from any node that it asks (M1, M6)', () => {
    const world = withoutIreland();
    for (const message of [
      { type: 'SealReq', version: 1, ballot: 3 },
      { type: 'StillSealed', version: 1 },
      { type: 'MemberReq', version: 0, leaves: true },
    ] as const) {
      const from = world.sent.length;
      world.inject(at(O), at(V), message);
      world.run(20);
      expect(sentBy(world, O, from)).toContain('DecidedMaps');
    }
  });
});
