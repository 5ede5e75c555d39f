/** Claims about the decision of maps, the seal, and timestamps that belong to a map (M1–M3, M5, M6). */
import type { ClusterMap, ClusterSpec, NodeId, Timestamp } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import { loseDisk, recovered } from '@isochron/testing/world/lost-disks';
import type { World } from '@isochron/testing/world/world';
import { MAPS_MACHINE } from '../kernel/maps/map-machine.js';

const [V, O, I] = ['virginia-1', 'oregon-1', 'ireland-1'];
const TWO_REGIONS: ClusterSpec = {
  regions: [V, O].map((node) => ({ id: node.slice(0, -2), nodes: [{ id: node }] })),
  keyspaces: [{ name: 'default', partitions: 4, replication: 2 }],
};
const REPORTS = ['GossipUp', 'GossipRoot', 'GossipDown'];

const at = (node: NodeId) => ({ node, machine: MAPS_MACHINE });
const mapsOf = (world: World, node: NodeId) => world.node(node).parts.maps;
const versions = (world: World): number[] => [V, O, I].map((node) => mapsOf(world, node).current.version);
const horizonOf = (world: World, version: number): Timestamp => mapsOf(world, V).at(version)!.map.horizon;

/** A decider seals these nodes, and does nothing more. */
function seal(world: World, nodes = [V, O, I], ballot = 3, decider = V): void {
  const version = mapsOf(world, decider).newest.version + 1;
  for (const node of nodes) world.inject(at(node), at(decider), { type: 'SealReq', version, ballot });
}

/** Runs until every node has adopted the version. */
const adopted = (world: World, version: number, withinMs = 10_000): void =>
  world.until(() => versions(world).every((adoptedHere) => adoptedHere === version), withinMs);

/** Runs until stable time has moved. */
function moves(world: World, withinMs = 1_000): void {
  const { ct } = new TestClient(world, V).write({ [keyIn(world, 0)]: '"later"' });
  world.until(() => world.ust() >= ct, withinMs);
}

/** The reports that left a node since a place in the list of messages. */
const reportsOf = (world: World, node: NodeId, from: number) =>
  world.sent.slice(from).filter((sent) => sent.from.node === node && REPORTS.includes(sent.message.type));

describe('PaRiS: maps', () => {
  it('a seal whose decider is gone ends with the next map, of the same members (M1, M3)', () => {
    const world = settled();
    seal(world);
    adopted(world, 1);
    const [before, map] = [mapsOf(world, V).at(0)!.map, mapsOf(world, V).at(1)!.map];
    expect(map).toEqual({ ...before, version: 1, horizon: map.horizon });
    moves(world);
  });

  it('a seal that one node alone has is ended by the voters (M1)', () => {
    const world = settled();
    seal(world, [I]);
    adopted(world, 1);
    moves(world);
  });

  it('a sealed node sends no report for stable time until it has adopted the map, also after a crash (M2)', () => {
    const world = settled();
    world.filter = ({ message }) => message.type !== 'AcceptReq';
    seal(world);
    world.run(10);
    const from = world.sent.length;
    world.run(1_000);
    world.crash(I);
    world.run(50);
    world.restart(I);
    world.run(2_000);
    // A parent repeats the time that it knows: that is no report.
    const types = [V, O, I].flatMap((node) => reportsOf(world, node, from)).map(({ message }) => message.type);
    expect(types.filter((type) => type !== 'GossipDown')).toEqual([]);
    world.filter = () => true;
    adopted(world, 1);
    moves(world);
  });

  it('no stable time of a map lies above the horizon of the next one (M3)', () => {
    const world = settled({ delayMs: () => 40 });
    let highest = 0;
    const looks = (ms: number): void => {
      for (let i = 0; i < ms; i += 5) {
        world.run(5);
        for (const node of [V, O, I])
          if (mapsOf(world, node).current.version === 0)
            highest = Math.max(highest, world.node(node).parts.stable.value);
      }
    };
    const writer = new TestClient(world, O);
    for (let i = 0; i < 10; i++) {
      writer.write({ [keyIn(world, i % 6)]: `"${i}"` });
      if (i === 5) seal(world);
      looks(100);
    }
    looks(3_000);
    expect(versions(world)).toEqual([1, 1, 1]);
    expect(highest).toBeGreaterThan(0);
    expect(highest).toBeLessThanOrEqual(horizonOf(world, 1));
  });

  it('the horizon is the lowest durable minimum of the members at their seals (M3)', () => {
    const world = settled();
    const sealed = new Map<NodeId, Timestamp>();
    world.filter = ({ from, message }) => {
      if (message.type === 'Sealed') sealed.set(from.node, message.minimum!);
      return true;
    };
    seal(world);
    adopted(world, 1);
    // The decider's own seal does not cross a link.
    expect(sealed.size).toBeGreaterThanOrEqual(2);
    expect(horizonOf(world, 1)).toBeLessThanOrEqual(Math.min(...sealed.values()));
  });

  it('a member adopts a map once its durable minimum is at least the horizon (M5)', () => {
    const world = settled();
    seal(world, [V, O, I], 3);
    const decide = (map: ClusterMap) => world.inject(at(I), at(V), { type: 'DecidedMaps', maps: [map] });
    const { map } = mapsOf(world, V).at(0)!;
    const horizon = world.node(V).parts.clock.last + 4096 * 300;
    decide({ ...map, version: 1, horizon });
    world.run(100);
    expect(mapsOf(world, I).current.version).toBe(0);
    expect(mapsOf(world, I).newest.version).toBe(1);
    world.until(() => mapsOf(world, I).current.version === 1, 1_000);
    for (const replica of world.node(I).parts.replicas)
      expect(replica.replication.vv.durableMin).toBeGreaterThanOrEqual(horizon);
  });

  it('a decider that finds an accepted map proposes that map (M1)', () => {
    const world = settled();
    seal(world, [V, O, I], 3);
    world.run(5);
    const { map } = mapsOf(world, V).at(0)!;
    // Its horizon shows that it is the one that was accepted.
    const accepted = { ...map, version: 1, horizon: world.ust() };
    world.inject(at(O), at(V), { type: 'AcceptReq', ballot: 3, map: accepted });
    adopted(world, 1);
    expect(mapsOf(world, V).at(1)!.map).toEqual(accepted);
  });

  it('a node that was away gets the maps that it lacks when its link opens (M1)', () => {
    const world = settled();
    seal(world);
    world.run(5);
    for (const other of [V, O]) world.cut(I, other);
    world.run(5_000);
    // Without its seal there is no map.
    expect(versions(world)).toEqual([0, 0, 0]);
    for (const other of [V, O]) world.heal(I, other);
    adopted(world, 1);
    for (const other of [V, O]) world.cut(I, other);
    seal(world, [V, O, I], 300);
    world.crash(I);
    world.restart(I);
    for (const other of [V, O]) world.heal(I, other);
    adopted(world, 2);
    moves(world);
  });

  it('maps and promises outlive a crash of every node (M1, M2)', () => {
    const world = settled();
    for (let version = 1; version <= 3; version++) {
      seal(world, [V, O, I], 1_000 * version);
      world.run(20);
      for (const node of [V, O, I]) world.crash(node);
      for (const node of [V, O, I]) world.restart(node);
      adopted(world, version);
      moves(world);
    }
    expect(
      mapsOf(world, O)
        .after(0)
        .map(({ version }) => version),
    ).toEqual([1, 2, 3]);
  });

  it('a node whose disk was lost seals, and does not vote for the map that was under way (M1)', () => {
    const world = settled();
    moves(world);
    world.filter = ({ message }) => message.type !== 'AcceptReq';
    seal(world);
    world.run(100);
    loseDisk(world, O);
    const from = world.sent.length;
    world.until(() => world.node(O).parts.membership.joined && world.node(O).parts.membership.settled);
    world.run(4_000);
    const sealed = world.sent
      .slice(from)
      .flatMap(({ from: { node }, message }) => (message.type === 'Sealed' && node === O ? [message.votes] : []));
    expect(new Set(sealed)).toEqual(new Set([false]));
    world.filter = () => true;
    adopted(world, 1);
    world.until(recovered(world, O));
    // It votes for the next one.
    world.crash(I);
    world.restart(I);
    seal(world, [V, O, I], 1_000);
    adopted(world, 2);
    moves(world);
  });

  it('of two voters, one that abstains after a lost disk does not keep the other from the next map (M1)', () => {
    const world = settled({ spec: TWO_REGIONS });
    expect(mapsOf(world, V).current.voters).toEqual([V, O]);
    moves(world);
    world.filter = ({ message }) => message.type !== 'AcceptReq';
    seal(world, [V, O]);
    world.run(100);
    loseDisk(world, O);
    world.until(() => mapsOf(world, O).abstains(1), 10_000);
    world.filter = () => true;
    world.until(() => [V, O].every((node) => mapsOf(world, node).current.version === 1), 20_000);
    moves(world);
  });

  it('only voters of the present map seal and decide (M1, D12)', () => {
    const world = settled();
    const stranger = { node: 'nowhere-1', machine: MAPS_MACHINE };
    world.inject(at(V), stranger, { type: 'SealReq', version: 1, ballot: 9 });
    world.inject(at(V), stranger, { type: 'DecidedMaps', maps: [] });
    world.inject(at(V), at(O), { type: 'SealReq', version: 2, ballot: 9 });
    expect(mapsOf(world, V).isSealed).toBe(false);
  });

  it('a decided map that cannot follow the present one is ignored (D12)', () => {
    const world = settled();
    const { map } = mapsOf(world, V).at(0)!;
    const next = { ...map, version: 1 };
    for (const odd of [
      { ...next, version: 2 },
      { ...next, members: [] },
      { ...next, members: [7] },
      { ...next, voters: [] },
      { ...next, replicas: map.replicas.slice(1) },
      { ...next, nodes: map.nodes.slice(1) },
    ])
      world.inject(at(V), at(O), { type: 'DecidedMaps', maps: [odd] });
    expect(mapsOf(world, V).newest.version).toBe(0);
  });

  it('a new prepare of an older map is refused durably, and the next attempt commits (M6, D4)', () => {
    const world = settled();
    seal(world);
    adopted(world, 1);
    const request = commitOver(world, id(0), [0, 1]);
    const refused = world.call(V, request, 'Refused');
    expect(refused.code).toBe('TRANSACTION_ABORTED');
    expect(world.call(V, request, 'Refused').code).toBe('TRANSACTION_ABORTED');
    const again = { ...request, attemptRegions: ['virginia', 'virginia'], maps: [0, 1] };
    expect(world.call(V, again).type).toBe('CommitResp');
  });

  it('a commit of an older map that was prepared keeps its outcome (M6, D4)', () => {
    const world = settled();
    const request = commitOver(world, id(1), [0, 1, 3]);
    const { ct } = world.call(V, request, 'CommitResp');
    seal(world);
    adopted(world, 1);
    expect(world.call(O, request, 'CommitResp').ct).toBe(ct);
  });

  it('a write that is repeated in a later map, with the same cohorts, is the same attempt (M6, D4)', () => {
    const world = settled();
    const request = commitOver(world, id(4), [0, 1, 3]);
    const { ct } = world.call(V, request, 'CommitResp');
    seal(world);
    adopted(world, 1);
    expect(world.call(O, { ...request, maps: [1] }, 'CommitResp').ct).toBe(ct);
  });

  it('a coordinator does not take attempts of a map that it has not adopted (M6)', () => {
    const world = settled();
    const request = { ...commitOver(world, id(2), [0]), maps: [1] };
    expect(world.call(V, request, 'Refused').code).toBe('NOT_READY');
    expect(world.call(V, { ...request, maps: [0, 0] }, 'Refused').code).toBe('INVALID_REQUEST');
  });

  it('a replica prepares nothing of a map that it has not adopted, and answers no question about it (M6)', () => {
    const world = settled();
    const partition = world.topology.partitionsOn(O)[0]!;
    const identity = { txId: id(3), attempt: 0, home: 'oregon', map: 1, cohorts: [partition] };
    const to = { node: O, machine: `replica/${partition}` };
    const from = { node: V, machine: 'coordinator' };
    const times = { ust: 0, ht: 0, sentAfter: 0 };
    world.inject(to, from, {
      type: 'PrepareReq',
      partition,
      identity,
      ...times,
      principal: 'anonymous',
      writes: [{ key: keyIn(world, partition), value: '1' }],
    });
    world.inject(to, from, { type: 'ResolveReq', partition, identity, sentAfter: 0 });
    world.run(100);
    expect(world.sent.filter(({ message }) => 'txId' in message && message.txId === id(3))).toEqual([]);
  });

  it('a replica serves no snapshot of a map that it has not adopted (M6)', () => {
    const world = settled();
    const partition = world.topology.partitionsOn(O)[0]!;
    const from = world.sent.length;
    world.inject(
      { node: O, machine: `replica/${partition}` },
      { node: V, machine: 'coordinator' },
      {
        type: 'ReadSliceReq',
        ref: 4711,
        partition,
        snapshot: world.ust(),
        keys: [keyIn(world, partition)],
        map: 1,
      },
    );
    world.run(10);
    const answers = world.sent
      .slice(from)
      .flatMap(({ message }) => ('ref' in message && message.ref === 4711 ? [message] : []));
    expect(answers).toMatchObject([{ type: 'Refused', code: 'SNAPSHOT_UNAVAILABLE' }]);
  });
});
