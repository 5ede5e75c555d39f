/** Claims about the moment in which a map defers what needs a suspended node (M4, M6). */
import { keyIn } from '@isochron/testing/world/clients';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import { everywhere, versions } from '@isochron/testing/world/lost-disks';
import { at, cohortOn, deferredAt, I, mapsOf, O, SETTINGS, suspends, V } from '@isochron/testing/world/suspensions';

describe('PaRiS: the cut of a map', () => {
  it('a slice whose decision a crash has lost is deferred, also if its proposal lies below the horizon (M4)', () => {
    const world = settled({ settings: SETTINGS, skewMs: (node) => (node === I ? 300 : 0) });
    const partitions = [cohortOn(world, V), cohortOn(world, I)].sort((a, b) => a - b);
    // The decision lies above the proposal of the second transaction, which is never decided.
    world.filter = ({ to, message }) =>
      to.node !== I || message.type !== 'PrepareReq' || message.identity.txId !== id(2);
    for (const n of [1, 2]) world.ask(V, commitOver(world, id(n), partitions));
    world.run(100);
    // Ireland's node confirms the disk, and no more.
    world.filter = ({ from, message }) => from.node !== I || message.type === 'ResyncReq';
    world.crash(V);
    world.restart(V);
    world.run(100);
    const { prepared } = world.node(V).parts.replicas.find(({ partition }) => partition === cohortOn(world, V))!
      .cohort.slices;
    const [proposal] = [...prepared.values()].map(({ record }) => record.pt);
    suspends(world);
    expect(mapsOf(world, V).current.map.horizon).toBeGreaterThanOrEqual(proposal!);
    expect(deferredAt(world, V)).toEqual([id(1), id(2)]);
  });

  it('nothing above the horizon is read while the data have what the map defers (M4, M6)', () => {
    const world = settled({ settings: SETTINGS });
    const alone = cohortOn(world, I, 'ireland');
    const key = keyIn(world, alone);
    world.filter = ({ from, to }) => from.node === to.node || (from.node !== I && to.node !== I);
    world.call(I, { ...commitOver(world, id(1), [alone]), attemptRegions: ['ireland'] }, 'CommitResp');
    suspends(world);
    world.filter = ({ to, message }) => to.node !== I || message.type !== 'DecidedMaps';
    world.run(1_000);
    world.diskMs.set(I, Number.POSITIVE_INFINITY);
    world.filter = () => true;
    world.until(() => mapsOf(world, I).current.version === 1, 5_000);
    const snapshot = Math.min(...[V, I].map((node) => world.node(node).parts.replicas[0]!.replication.vv.durableMin));
    const read = (): unknown => {
      const [to, from] = [
        { node: I, machine: `replica/${alone}` },
        { node: V, machine: 'coordinator' },
      ];
      world.inject(to, from, { type: 'ReadSliceReq', ref: 1, partition: alone, snapshot, keys: [key], map: 1 });
      world.run(20);
      return world.sent.findLast((one) => one.from.machine === to.machine && one.to.node === V)?.message;
    };
    expect(read()).toMatchObject({ type: 'Refused', code: 'SNAPSHOT_UNAVAILABLE' });
    world.diskMs.delete(I);
    world.run(100);
    expect(read()).toMatchObject({ type: 'ReadSliceResp', versions: [null] });
  });

  it('the outcome of a commit stays while a node with an undecided slice of the commit is suspended (M7, D5)', () => {
    const keyspaces = [{ name: 'default', partitions: 3, replication: 1 }];
    const settings = { ...SETTINGS, outcomeRetentionMs: 1_000 };
    const world = settled({ spec: { ...everywhere(3), keyspaces }, settings });
    const partitions = [cohortOn(world, V), cohortOn(world, I)].sort((a, b) => a - b);
    world.filter = ({ to, message }) => to.node !== I || message.type !== 'CommitTx';
    const { ct } = world.call(V, commitOver(world, id(1), partitions), 'CommitResp');
    world.run(100);
    world.crash(I);
    suspends(world);
    expect(mapsOf(world, V).current.map.horizon).toBeGreaterThan(ct);
    world.run(130_000);
    world.restart(I);
    for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes: [] });
    world.until(() => mapsOf(world, I).current.isMember(I), 20_000);
    world.run(5_000);
    expect(versions(world, I, cohortOn(world, I))).toMatchObject([[expect.anything(), [{ ts: ct }]]]);
  });
});
