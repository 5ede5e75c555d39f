/** Claims about what a returned node owes, and other senders of the same transactions (M8, M11, M12). */
import type { NodeId } from '@isochron/core';
import { keyIn } from '@isochron/testing/world/clients';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import { everywhere, loseDisk, runRebuilding } from '@isochron/testing/world/lost-disks';
import { at, cohortOn, deferredAt, I, mapsOf, O, suspends, V } from '@isochron/testing/world/suspensions';
import type { World } from '@isochron/testing/world/world';

const NODES: readonly NodeId[] = [V, O, I];
const isMember = (world: World, of: NodeId) => (node: NodeId) => world.node(node).parts.maps.current.isMember(of);
const silent = (world: World, nodes: readonly NodeId[]) => {
  for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes });
};

/** A partition that Ireland's node commits alone, and commits again with Virginia's. */
const partitionOf = ({ topology }: World) =>
  topology.partitions.findIndex(
    ({ id: p }) => topology.cohort(p, 'ireland').node === I && topology.cohort(p, 'virginia').node === V,
  );

describe('PaRiS: a returned node', () => {
  it('what follows a transaction that waits for a node waits with that, also where it needs that node in no other way (M11)', () => {
    const world = settled({ settings: { suspendAfterMs: 400 } });
    const [ofV, ofO, ofI] = [cohortOn(world, V), cohortOn(world, O), cohortOn(world, I)];
    const inOrder = (partitions: number[]) => partitions.sort((a, b) => a - b);
    world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
    const { ct } = world.call(V, commitOver(world, id(1), inOrder([ofV, ofO, ofI])), 'CommitResp');
    const behind = [{ node: world.topology.numberOf(V), ct }];
    world.call(V, { ...commitOver(world, id(2), inOrder([ofV, ofI])), behind }, 'CommitResp');
    world.run(50);
    world.crash(I);
    suspends(world);
    world.filter = ({ message }) => message.type !== 'DeferredReq';
    world.restart(I);
    silent(world, []);
    world.until(() => [V, O, I].every((node) => mapsOf(world, node).current.isMember(I)), 20_000);
    world.inject(at(O), { node: O, machine: 'client' }, { type: 'LeaveReq', ref: 4711 });
    world.until(() => [V, I].every((node) => !mapsOf(world, node).current.isMember(O)), 10_000);
    world.filter = () => true;
    world.run(2_000);
    expect(deferredAt(world, I)).toEqual([id(1), id(2)]);
    world.inject(at(O), { node: O, machine: 'client' }, { type: 'ReturnReq', ref: 4712 });
    world.until(() => [V, O, I].every((node) => deferredAt(world, node).length === 0), 20_000);
    const [first, second] = [1, 2].map((n) => world.call(V, { type: 'TxStatusReq', txId: id(n) }, 'TxStatusResp').ts!);
    expect(second).toBeGreaterThan(first!);
  });

  it('a returned node does not commit a third time what was committed again and forgotten since its questions (M8, D5)', () => {
    const world = settled({ settings: { suspendAfterMs: 400, outcomeRetentionMs: 30_000 } });
    const partition = partitionOf(world);
    const request = { ...commitOver(world, id(1), [partition]), attemptRegions: ['ireland'] };
    world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
    world.call(I, request, 'CommitResp');
    world.run(50);
    world.crash(I);
    silent(world, [I]);
    world.until(() => [V, O].every((node) => !isMember(world, I)(node)), 5_000);
    world.restart(I);
    silent(world, []);
    let heldBack = 0;
    world.filter = ({ from, message }) => {
      const isHeld = from.node === I && message.type === 'PrepareReq';
      if (isHeld) heldBack++;
      return !isHeld;
    };
    world.until(() => heldBack > 0, 20_000);
    const version = world.node(V).parts.maps.current.version;
    const again = { ...request, attemptRegions: ['ireland', 'virginia'], maps: [0, version] };
    const { ct } = world.call(V, again, 'CommitResp');
    const isForgotten = () => world.node(V).parts.replicas.every(({ droppedUpTo }) => droppedUpTo > ct);
    world.until(isForgotten, 150_000);
    world.filter = () => true;
    world.until(() => world.node(I).parts.returning?.owes === false, 20_000);
    world.run(1_000);
    const name = `${partition}|${keyIn(world, partition)}`;
    const chains = NODES.map((node) => world.node(node).store.chains.get(name) ?? []);
    expect(new Set(chains.flatMap((chain) => chain.map(({ ts }) => ts)))).toEqual(new Set([ct]));
  });

  it('a node that returns receives again what came unverified up to the horizon, and adopts the map then (M5, D10)', () => {
    const world = settled({ spec: everywhere(1), settings: { suspendAfterMs: 400 } });
    // Oregon's disk is not verified by Virginia: its clock counts in Ireland as far as it went before.
    world.cut(V, O);
    world.crash(O);
    world.restart(O);
    world.run(3_000);
    // Oregon's stream reaches Ireland for longer than that of Ireland reaches Virginia: beyond the horizon.
    world.cut(V, I);
    world.run(300);
    world.call(O, { ...commitOver(world, id(1), [0]), attemptRegions: ['oregon'] }, 'CommitResp');
    world.run(100);
    world.cut(O, I);
    world.crash(I);
    world.heal(V, O);
    silent(world, [I]);
    world.until(() => [V, O].every((node) => !isMember(world, I)(node)), 5_000);
    const { horizon } = world.node(V).parts.maps.current.map;
    world.restart(I);
    const { replication } = world.node(I).parts.replicas[0]!;
    expect(replication.vv.applied('oregon')).toBeGreaterThan(horizon);
    expect(replication.stableMin).toBeLessThan(horizon);
    for (const other of [V, O]) world.heal(I, other);
    silent(world, []);
    world.until(() => NODES.every(isMember(world, I)), 20_000);
  });

  it('a returned node does not commit again what comes to it in the new log of a lost disk (M8, D10)', () => {
    const world = settled({ spec: everywhere(1), settings: { suspendAfterMs: 400 } });
    world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
    const request = { ...commitOver(world, id(1), [0]), attemptRegions: ['ireland'] };
    world.call(I, request, 'CommitResp');
    for (const other of [V, O]) world.cut(I, other);
    silent(world, [I]);
    world.until(() => [V, O].every((node) => !isMember(world, I)(node)), 5_000);
    // Its session commits it again, and then the disk of the cohort is lost.
    const again = { ...request, attemptRegions: ['ireland', 'virginia'], maps: [0, 1] };
    const { ct } = world.call(V, again, 'CommitResp');
    world.until(() => world.node(O).parts.stable.value >= ct, 2_000);
    loseDisk(world, V);
    world.filter = () => true;
    for (const other of [V, O]) world.heal(I, other);
    silent(world, []);
    expect(runRebuilding(world, 10_000)).toEqual([]);
    expect(NODES.map((node) => world.node(node).parts.returning?.owes)).toEqual([false, false, false]);
    const chains = NODES.map((node) => world.node(node).store.chains.get(`0|${keyIn(world, 0)}`) ?? []);
    expect(chains.map((chain) => chain.map(({ ts }) => ts))).toEqual([[ct], [ct], [ct]]);
  });

  it('what follows nothing is committed again at the same time: many transactions take a few round trips (M11)', () => {
    const [count, delayMs] = [100, 40];
    const world = settled({ settings: { suspendAfterMs: 400 }, delayMs: () => delayMs });
    const partition = partitionOf(world);
    world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
    const keys = Array.from({ length: 10 * count }, (_, n) => `default/${n}`);
    const ofPartition = keys.filter((key) => world.topology.partitionOf(key) === partition).slice(0, count);
    for (const [n, key] of ofPartition.entries()) {
      const request = { ...commitOver(world, id(n), [partition]), writes: [{ key, value: '1' }] };
      world.call(I, { ...request, attemptRegions: ['ireland'] }, 'CommitResp');
    }
    world.crash(I);
    silent(world, [I]);
    world.until(() => [V, O].every((node) => !isMember(world, I)(node)), 5_000);
    world.filter = () => true;
    world.restart(I);
    silent(world, []);
    const recommitted = () => [...world.node(V).store.chains.values()].filter((chain) => chain.length > 0).length;
    world.until(() => recommitted() > 0, 20_000);
    const began = world.now;
    world.until(() => recommitted() === count, 2 * delayMs * count);
    expect(world.now - began).toBeLessThan((2 * delayMs * count) / 4);
  });
});
