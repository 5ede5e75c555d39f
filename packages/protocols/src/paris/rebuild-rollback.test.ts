/** Claims about disks that were rolled back (D10), on a virtual clock. */
import { type ClusterSpec, IsochronError } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { backup, everywhere, joined, loseDisk, runRebuilding, versions } from '@isochron/testing/world/lost-disks';
import { PlainStore } from '@isochron/testing/world/plain-store';
import { World } from '@isochron/testing/world/world';

const V = 'virginia-1';
const O = 'oregon-1';
const I = 'ireland-1';

/** One partition, in both regions. */
const twoRegions = {
  regions: everywhere(1).regions.slice(0, 2),
  keyspaces: [{ name: 'default', partitions: 1, replication: 2 }],
};

/** Ireland comes first, so that a copier takes it among equals. */
const fourRegions = (spec: ClusterSpec): ClusterSpec => ({
  ...spec,
  regions: ['ireland', 'virginia', 'oregon', 'tokyo'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
});

describe('D10: a disk that was rolled back', () => {
  const noticed = (world: World): void => {
    expect(() => world.run(5_000)).toThrow(expect.objectContaining({ code: 'REBUILD_NEEDED' }));
    expect(world.failure).toBeInstanceOf(IsochronError);
  };

  it('a rolled-back disk is detected when a peer has received a group from it that it does not have', () => {
    const world = new World();
    const client = new TestClient(world, V);
    client.write({ [keyIn(world, 0)]: '"a"' });
    world.run(100);
    const old = backup(world.node(V).store);
    client.write({ [keyIn(world, 0)]: '"b"' });
    world.run(100);
    world.crash(V);
    world.restart(V, old);
    noticed(world);
  });

  it('a rolled-back disk is detected when a peer has received a version clock from it above its ceiling', () => {
    const world = new World();
    world.run(100);
    const old = backup(world.node(V).store);
    world.run(10_000);
    world.crash(V);
    world.restart(V, old);
    noticed(world);
  });

  it('a rolled-back disk is detected when it lacks groups that its peers no longer have in their logs', () => {
    const world = new World();
    const client = new TestClient(world, O);
    const key = keyIn(world, 0); // in virginia and oregon
    client.write({ [key]: '"a"' });
    world.run(100);
    const old = backup(world.node(V).store);
    client.write({ [key]: '"b"' });
    world.run(3_000);
    world.crash(V);
    // Only the version vector reveals it: its ceiling and clock are as they were.
    for (const name of ['ceiling', 'ust']) old.meta.delete(name);
    old.meta.set('ceiling', world.node(V).store.meta.get('ceiling')!);
    world.filter = ({ message }) => message.type !== 'ResyncReq' || message.region === 'virginia';
    world.restart(V, old);
    noticed(world);
  });

  it('a disk as it was before a crash is not rolled back: restarts of every node in turn rebuild nothing', () => {
    const world = new World();
    for (let i = 0; i < 12; i++) {
      const node = [V, O, I][i % 3]!;
      new TestClient(world, node).write({ [keyIn(world, i % 6)]: `"${i}"` });
      world.run(37 * (i % 4));
      world.crash(node);
      world.run(400);
      world.restart(node);
      world.run(700);
    }
    expect([V, O, I].map((node) => joined(world, node)())).toEqual([true, true, true]);
  });

  it('a rolled-back disk is detected although it has a commit before the lost one that was not applied yet', () => {
    const world = new World({ settings: { applyIntervalMs: 100, verifyTimeoutMs: 2_000 } });
    const key = keyIn(world, 0);
    const client = new TestClient(world, V);
    const { replication } = world.node(V).parts.replicas.find(({ partition }) => partition === 0)!;
    world.run(1_000);
    const kept = client.write({ [key]: '"kept"' }).ct;
    expect(replication.versionClock).toBeLessThan(kept);
    const old = backup(world.node(V).store);
    expect([...old.prepared.values()]).toMatchObject([{ partition: 0, record: { ct: kept } }]);
    const { ct } = client.write({ [key]: '"lost"' });
    world.until(() => world.node(O).store.read(0, key, ct)?.ts === ct, 1_000);
    world.cut(V, O);
    world.crash(V);
    world.restart(V, old);
    world.run(3_000);
    const again = world.node(V).parts.replicas.find(({ partition }) => partition === 0)!;
    expect(again.replication.versionClock).toBeGreaterThan(kept);
    world.heal(V, O);
    noticed(world);
  });

  it('a rolled-back disk is detected although the peer that has received the lost group was restarted too', () => {
    const world = new World();
    const client = new TestClient(world, V);
    client.write({ [keyIn(world, 0)]: '"a"' });
    world.run(100);
    const old = backup(world.node(V).store);
    const { ct } = client.write({ [keyIn(world, 0)]: '"b"' });
    world.until(() => world.node(O).store.read(0, keyIn(world, 0), ct)?.ts === ct, 1000);
    for (const node of [V, O]) world.crash(node);
    world.restart(O);
    world.restart(V, old);
    noticed(world);
  });

  it.each([
    ['at once', false],
    ['after another crash', true],
  ])(
    'a rolled-back disk is detected although the peer with the lost group has it from a copy alone, %s',
    (_when, crashes) => {
      const world = new World({ spec: twoRegions });
      const client = new TestClient(world, V);
      const key = keyIn(world, 0);
      client.write({ [key]: '"a"' });
      world.run(100);
      const old = backup(world.node(V).store);
      const { ct } = client.write({ [key]: '"b"' });
      world.until(() => world.node(O).store.read(0, key, ct)?.ts === ct, 1_000);
      loseDisk(world, O);
      // Nothing comes from the source itself: only the copy shows its progress.
      world.filter = ({ message }) => message.type !== 'Replicate' && message.type !== 'Heartbeat';
      world.until(joined(world, O), 4_000);
      world.run(100);
      expect(world.node(O).store.read(0, key, ct)?.ts).toBe(ct);
      if (crashes) {
        world.crash(O);
        world.restart(O);
      }
      world.crash(V);
      world.restart(V, old);
      noticed(world);
    },
  );

  it('a rolled-back disk is detected when another cohort has a commit below what it has proposed since', () => {
    const world = new World({ settings: { verifyTimeoutMs: 2_000 } });
    world.run(100);
    const { topology } = world;
    const elsewhere = topology.partitions.find(({ id }) => topology.cohort(id, 'virginia').region !== 'virginia')!.id;
    const [near, far] = [keyIn(world, 0), keyIn(world, elsewhere)];
    const client = new TestClient(world, V);
    const tx = client.begin();
    for (const key of [near, far]) tx.write(key, '"x"');
    const request = { ...client.commitRequest(tx), snapshot: client.session.ust };
    const other = topology.cohort(elsewhere, 'virginia').region;
    const old = backup(world.node(V).store);
    const { ct } = world.call(V, request, 'CommitResp');
    world.until(
      () => world.node(`${other}-1`).parts.replicas.some(({ replication }) => replication.lastLogged === ct),
      1000,
    );
    // Its own part of the commit has reached no node, and no node sends it the other one.
    for (const region of ['oregon', 'ireland']) world.cut(V, `${region}-1`);
    world.crash(V);
    world.restart(V, old);
    world.run(3_000);
    world.ask(V, request);
    world.filter = ({ message }) => message.type !== 'ResyncReq' && message.type !== 'PrepareReq';
    for (const region of ['oregon', 'ireland']) world.heal(V, `${region}-1`);
    noticed(world);
  });

  it('a node on a rolled-back disk decides nothing before its peers have had time to report', () => {
    const world = new World();
    const key = keyIn(world, 0); // in virginia and oregon
    const client = new TestClient(world, V);
    client.write({ [key]: '"a"' });
    world.run(100);
    const old = backup(world.node(V).store);
    const tx = client.begin();
    tx.write(key, '"b"');
    const request = { ...client.commitRequest(tx), snapshot: client.session.ust };
    world.call(V, request, 'CommitResp');
    world.run(100);
    world.cut(V, O);
    world.crash(V);
    world.sent.length = 0;
    world.restart(V, old);
    const clock = world.node(V).parts.replicas[0]!.replication.versionClock;
    const ref = world.ask(V, request);
    const status = world.ask(I, { type: 'TxStatusReq', txId: request.txId });
    world.run(1_500);
    expect([world.answer(V, ref), world.node(V).parts.replicas[0]!.replication.versionClock]).toEqual([
      undefined,
      clock,
    ]);
    expect(world.answer(I, status)).not.toMatchObject({ status: 'aborted' });
    expect(world.sent.filter(({ from, message }) => from.node === V && message.type === 'ResolveResp')).toEqual([]);
    world.heal(V, O);
    noticed(world);
    expect(world.answer(V, ref)).toBeUndefined();
  });

  it('a node on a rolled-back disk asks about none of its prepares before its peers have reported', () => {
    const world = new World();
    world.run(100);
    const { topology } = world;
    const elsewhere = topology.partitions.find(({ id }) => topology.cohort(id, 'virginia').region !== 'virginia')!.id;
    const client = new TestClient(world, V);
    const tx = client.begin();
    for (const key of [keyIn(world, 0), keyIn(world, elsewhere)]) tx.write(key, '"x"');
    world.filter = ({ message }) => message.type !== 'PrepareResp';
    const ref = world.ask(V, { ...client.commitRequest(tx), snapshot: client.session.ust });
    world.run(20);
    const old = backup(world.node(V).store);
    world.filter = () => true;
    world.until(() => world.answer(V, ref) !== undefined, 3_000);
    world.run(100);
    world.cut(V, O);
    world.crash(V);
    world.sent.length = 0;
    world.restart(V, old);
    world.run(10_000);
    expect(world.sent.filter(({ from, message }) => from.node === V && message.type === 'ResolveReq')).toEqual([]);
    world.heal(V, O);
    noticed(world);
  });

  describe('while a peer is away', () => {
    /**
     * Virginia's group is in oregon and not in ireland; virginia comes back without it, and oregon cannot report that.
     */
    const unnoticed = (world = new World({ spec: everywhere(1) })) => {
      const key = keyIn(world, 0);
      const other = `${key}-2`;
      const client = new TestClient(world, V);
      client.write({ [other]: '"a"' });
      world.run(100);
      const old = backup(world.node(V).store);
      for (const { id } of world.topology.regions.map((region) => ({ id: `${region}-1` })))
        if (id !== V && id !== O) world.cut(V, id);
      const { ct } = client.write({ [key]: '"b"' });
      world.until(() => world.node(O).store.read(0, key, ct)?.ts === ct, 1_000);
      world.cut(V, O);
      world.crash(V);
      world.restart(V, old);
      world.run(3_000);
      return { world, key, other, ct };
    };
    const has = (world: World, node: string, key: string, ct: number) =>
      world.node(node).store.read(0, key, ct)?.ts === ct;

    it('while a peer is away, a rolled-back node goes on unverified, and nothing that it does then is stable', () => {
      const { world, key, other, ct } = unnoticed();
      world.heal(V, I);
      const later = new TestClient(world, V).write({ [other]: '"c"' }).ct;
      world.until(() => has(world, I, other, later), 2_000);
      // Everything arrives again but oregon's request, which reports the rollback to virginia.
      world.filter = ({ message }) => message.type !== 'ResyncReq' || message.region !== 'oregon';
      world.heal(V, O);
      world.run(2_000);
      // Ireland has the later group, and not the lost one, although its version clock of virginia covers it.
      expect(has(world, I, key, ct)).toBe(false);
      const known = [V, O, I].map((node) => world.node(node).parts.stable.value);
      expect(Math.max(...known)).toBeLessThan(ct);
    });

    it('when the peer is back, its report of a rollback brings every lost group to all replicas, also below their version clocks', () => {
      const { world, key, other, ct } = unnoticed();
      world.heal(V, I);
      const later = new TestClient(world, V).write({ [other]: '"c"' }).ct;
      world.until(() => has(world, I, other, later), 2_000);
      world.heal(V, O);
      expect(runRebuilding(world, 5_000)).toEqual([V]);
      world.until(() => world.ust() > later, 5_000);
      for (const node of [V, O, I])
        expect([has(world, node, key, ct), has(world, node, other, later)]).toEqual([true, true]);
      for (const node of [O, I]) expect(versions(world, node, 0)).toEqual(versions(world, V, 0));
    });

    it('when the peer is back, nodes that have copied the disk, or have a range with a gap, receive the range again as well', () => {
      for (const copier of [I, 'tokyo-1']) {
        const spec = everywhere(1);
        const world = new World({
          spec: { ...fourRegions(spec), keyspaces: [{ name: 'default', partitions: 1, replication: 4 }] },
        });
        const { key, other, ct } = unnoticed(world);
        world.heal(V, I);
        const later = new TestClient(world, V).write({ [other]: '"c"' }).ct;
        world.until(() => has(world, I, other, later), 2_000);
        world.heal(V, 'tokyo-1');
        world.run(100);
        world.crash(copier);
        world.restart(copier, new PlainStore());
        world.until(joined(world, copier), 10_000);
        world.run(500);
        world.heal(V, O);
        expect(runRebuilding(world, 5_000)).toEqual([V]);
        world.until(() => world.ust() > later, 10_000);
        const nodes = [V, O, I, 'tokyo-1'];
        expect(nodes.map((node) => has(world, node, key, ct))).toEqual(nodes.map(() => true));
      }
    });

    it('when the peer is back, a node that has a range with a gap still has its limit after a crash', () => {
      const { world, key, other, ct } = unnoticed();
      world.heal(V, I);
      const later = new TestClient(world, V).write({ [other]: '"c"' }).ct;
      world.until(() => has(world, I, other, later), 2_000);
      world.run(50);
      world.crash(I);
      world.restart(I);
      world.run(500);
      world.heal(V, O);
      expect(runRebuilding(world, 5_000)).toEqual([V]);
      world.until(() => world.ust() > later, 5_000);
      expect([has(world, I, key, ct), has(world, I, other, later)]).toEqual([true, true]);
    });

    it('when the peer is back, the rollback is found although the node has crashed again and its version clock is above its loss', () => {
      const { world, key, other, ct } = unnoticed();
      world.heal(V, I);
      const later = new TestClient(world, V).write({ [other]: '"c"' }).ct;
      world.until(() => has(world, I, other, later), 2_000);
      world.crash(V);
      world.restart(V);
      world.run(3_000);
      world.heal(V, O);
      expect(runRebuilding(world, 5_000)).toEqual([V]);
      world.until(() => world.ust() > later, 5_000);
      for (const node of [V, O, I])
        expect([has(world, node, key, ct), has(world, node, other, later)]).toEqual([true, true]);
    });

    it('peers learn at once that every peer has verified a disk, also while its version clock stands still', () => {
      const world = new World({ spec: everywhere(1) });
      world.run(200);
      // All hybrid clocks are ahead of the wall clocks.
      world.node(I).skewMs = 60_000;
      world.run(100);
      world.crash(I);
      world.node(I).skewMs = 0;
      world.restart(I);
      world.run(500);
      world.cut(V, O);
      world.crash(V);
      world.restart(V);
      world.run(3_000);
      expect(world.node(I).store.meta.get('limits/0')).toMatchObject({ virginia: expect.any(Number) });
      world.heal(V, O);
      world.run(1_000);
      expect(world.node(I).store.meta.get('limits/0')).toEqual({});
    });

    it('a disk with the limit of a stream that was lifted since and whose log is truncated is copied again', () => {
      const world = new World({ spec: everywhere(1) });
      const client = new TestClient(world, V);
      const key = keyIn(world, 0);
      client.write({ [key]: '"a"' });
      world.cut(V, O);
      world.crash(V);
      world.restart(V);
      world.run(3_000);
      const { ct } = client.write({ [key]: '"b"' });
      world.until(() => has(world, I, key, ct), 500);
      world.run(500);
      // It has all groups of the stream, within its ceiling.
      const old = backup(world.node(I).store);
      expect(old.meta.get('limits/0')).toMatchObject({ virginia: expect.any(Number) });
      world.heal(V, O);
      world.until(() => world.node(V).store.log(0, 0, ct).groups.length === 0, 1_000);
      world.crash(I);
      world.restart(I, old);
      expect(runRebuilding(world, 5_000)).toEqual([I]);
      const later = client.write({ [key]: '"c"' }).ct;
      world.until(() => world.ust() > later, 5_000);
    });

    it('an intact disk is verified when the peer is back, and delays nothing', () => {
      const world = new World({ spec: everywhere(1) });
      const client = new TestClient(world, V);
      client.write({ [keyIn(world, 0)]: '"a"' });
      world.cut(V, O);
      world.crash(V);
      world.restart(V);
      world.run(3_000);
      expect(world.node(V).store.meta.get('evidence/0')).toMatchObject({ '0.clock': expect.any(Number) });
      const { ct } = client.write({ [keyIn(world, 0)]: '"b"' });
      world.heal(V, O);
      world.until(() => world.ust() >= ct, 2_000);
      expect(world.node(V).store.meta.get('evidence/0')).toEqual({});
      world.crash(V);
      world.restart(V);
      expect(runRebuilding(world, 3_000)).toEqual([]);
    });
  });
});
