/** Claims about stabilisation, frames and invalid messages of peers. */
import { type ClusterSpec, packWall } from '@isochron/core';
import { sample } from '@isochron/testing/samples';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { THREE_REGIONS, World } from '@isochron/testing/world/world';
import type { TransactionMessage } from '../kernel/transactions/messages.js';

const TWO_NODES_EACH: ClusterSpec = {
  regions: ['virginia', 'oregon', 'ireland'].map((id) => ({
    id,
    nodes: [{ id: `${id}-1` }, { id: `${id}-2` }, { id: `${id}-3` }],
  })),
  keyspaces: [{ name: 'default', partitions: 12, replication: 2 }],
};

describe('PaRiS: stabilisation', () => {
  it('a root reports nothing until every child has reported since its own start (P13)', () => {
    const world = new World({ spec: TWO_NODES_EACH });
    world.run(200);
    world.crash('oregon-1');
    world.cut('oregon-1', 'oregon-3');
    world.restart('oregon-1');
    world.sent.length = 0;
    world.run(300);
    const spoke = () =>
      world.sent.some(({ from, message }) => from.node === 'oregon-1' && message.type === 'GossipRoot');
    expect(spoke()).toBe(false);
    world.heal('oregon-1', 'oregon-3');
    world.run(100);
    expect(spoke()).toBe(true);
  });

  it('every node names the writes that stable time waits for, also where it lacks none of them', () => {
    const world = new World({ spec: TWO_NODES_EACH });
    world.run(300);
    const heldBackBy = () => [...world.nodes.values()].map(({ parts }) => parts.stabilization.heldBackBy);
    expect(heldBackBy().filter((by) => by !== undefined)).toEqual([]);
    const { id: partition } = world.topology.partitions.find(
      ({ regions }) => regions.includes('oregon') && regions.includes('ireland'),
    )!;
    const [from, to] = ['oregon', 'ireland'].map((region) => world.topology.replicaNode(partition, region)!);
    const stream = ['Replicate', 'Heartbeat', 'Heartbeats'];
    world.filter = (one) => !(one.from.node === from && one.to.node === to && stream.includes(one.message.type));
    world.run(3_000);
    const named = heldBackBy();
    expect(new Set(named.map((by) => JSON.stringify(by))).size).toBe(1);
    expect(named[0]?.region).toBe('oregon');
    expect(world.topology.replicaNode(named[0]!.partition!, 'oregon')).toBe(from);
    world.filter = () => true;
    world.run(1_000);
    expect(heldBackBy().filter((by) => by !== undefined)).toEqual([]);
  });

  it('a region that stops to report is named by the others', () => {
    const world = new World({ spec: TWO_NODES_EACH });
    world.run(300);
    world.filter = ({ message }) => message.type !== 'GossipRoot' || message.region !== 'oregon';
    world.run(3_000);
    for (const node of ['virginia-2', 'ireland-3'])
      expect(world.node(node).parts.stabilization.heldBackBy).toEqual({ region: 'oregon' });
  });

  it('no report is sent for a region whose root is cut off: UST stands still, and never passes the root (P13)', () => {
    const world = new World({
      spec: { ...TWO_NODES_EACH, keyspaces: [{ name: 'default', partitions: 6, replication: 1 }] },
    });
    world.run(200);
    world.cut('oregon-1', 'oregon-2');
    world.cut('oregon-1', 'oregon-3');
    // Prepared on the root, decided late: its version clock stands still while those of the others go on.
    const root = world.node('oregon-1').parts.replicas[0]!;
    const key = keyIn(world, root.partition);
    const other = keyIn(world, world.node('virginia-1').parts.replicas[0]!.partition);
    world.filter = ({ message }) => message.type !== 'PrepareResp' && message.type !== 'ResolveReq';
    const client = new TestClient(world, 'virginia-1');
    const tx = client.begin();
    for (const k of [key, other]) tx.write(k, '"x"');
    world.ask('virginia-1', client.commitRequest(tx));
    for (let i = 0; i < 100; i++) {
      world.run(10);
      for (const { parts } of world.nodes.values())
        expect(parts.stable.value).toBeLessThanOrEqual(root.replication.vv.durableMin);
    }
    world.filter = () => true;
    const frozen = world.ust();
    world.heal('oregon-1', 'oregon-2');
    world.heal('oregon-1', 'oregon-3');
    world.until(() => world.ust() > frozen + 4096 * 900, 10_000);
  });

  it('UST stands still while a root is away, and goes on when it is back: the cluster file sets the membership, not liveness (P13)', () => {
    const world = new World({ spec: TWO_NODES_EACH });
    world.run(200);
    world.crash('oregon-1');
    const frozen = world.ust();
    world.run(1_000);
    expect(world.ust() - frozen).toBeLessThan(4096 * 60);
    world.restart('oregon-1');
    world.until(() => world.ust() > frozen + 4096 * 900);
  });

  it('a node that receives from its parent alone follows a clock that was ahead, also while UST stands still (T2)', () => {
    const world = new World({ spec: TWO_NODES_EACH });
    world.run(200);
    // The wall clocks are right again, all hybrid clocks are ahead of them, and stand still.
    world.node('oregon-1').skewMs = 60_000;
    world.run(100);
    world.crash('oregon-1');
    world.node('oregon-1').skewMs = 0;
    world.restart('oregon-1');
    world.run(5_000);
    // A write of a root: from here on only roots receive its clock.
    for (let i = 0; i < 5; i++) {
      const { ct } = new TestClient(world, 'virginia-1').write({ [keyIn(world, 0)]: `"${i}"` });
      expect(ct).toBeGreaterThan(packWall(world.now + 30_000));
      world.until(() => world.ust() >= ct, 200);
    }
  });

  it('a parent sends the stable time to its children in every round, also while it stands still (T2)', () => {
    const world = new World({ spec: TWO_NODES_EACH });
    world.run(200);
    for (const region of ['oregon', 'ireland'])
      for (const i of [1, 2, 3]) for (const j of [1, 2, 3]) world.cut(`virginia-${i}`, `${region}-${j}`);
    world.run(1_000);
    const before = world.ust();
    world.sent.length = 0;
    world.run(1_000);
    expect(world.ust()).toBe(before);
    const down = world.sent.filter(({ from, message }) => from.node === 'virginia-1' && message.type === 'GossipDown');
    expect(new Set(down.map(({ to }) => to.node))).toEqual(new Set(['virginia-2', 'virginia-3']));
    expect(down.length).toBeGreaterThanOrEqual(6);
  });

  it('no node collects above the stable time on its disk: it begins nothing below a floor after a crash (P9)', () => {
    const world = new World({ spec: TWO_NODES_EACH, settings: { retentionMs: 0 } });
    const client = new TestClient(world, 'oregon-1');
    for (let round = 0; round < 10; round++) {
      for (let i = 0; i < 12; i++) client.write({ [keyIn(world, i)]: `"${round}"` });
      world.run(430);
      const replicas = [...world.nodes.values()].flatMap(({ parts }) => parts.replicas);
      const floor = Math.max(...replicas.map(({ replication }) => replication.gcFloor));
      expect(floor > 0 || round < 3).toBe(true);
      for (const { store } of world.nodes.values()) expect(store.meta.get('ust')).toBeGreaterThanOrEqual(floor);
    }
  });

  it('a root is a node with replicas, where its region has one: no other node is missed (P13)', () => {
    const spec: ClusterSpec = {
      regions: [
        { id: 'virginia', nodes: [{ id: 'virginia-1' }] },
        { id: 'oregon', nodes: [1, 2, 3].map((n) => ({ id: `oregon-${n}` })) },
      ],
      keyspaces: [{ name: 'default', partitions: 1, replication: 2 }],
    };
    const world = new World({ spec });
    const holder = world.topology.replicaNode(0, 'oregon')!;
    for (const n of [1, 2, 3])
      expect(world.node(`oregon-${n}`).parts.stabilization.isRoot).toBe(`oregon-${n}` === holder);
  });

  it('a node without replicas coordinates, and does not hold UST back or up (P13)', () => {
    const spec: ClusterSpec = {
      regions: [...THREE_REGIONS.regions, { id: 'mumbai', nodes: [{ id: 'mumbai-1' }] }],
      keyspaces: [{ name: 'default', partitions: 3, regions: ['virginia', 'oregon'] }],
    };
    const world = new World({ spec });
    world.run(200);
    const client = new TestClient(world, 'mumbai-1');
    const keys = [0, 1, 2].map((partition) => keyIn(world, partition));
    const { ct } = client.write(Object.fromEntries(keys.map((key) => [key, '1'])));
    world.until(() => world.ust() >= ct, 1_000);
    expect(new TestClient(world, 'mumbai-1').readOnce(...keys)).toEqual(['1', '1', '1']);
  });

  it('stabilisation and heartbeats of a round leave in one frame (P12)', () => {
    const world = new World();
    world.run(2_000);
    world.frames.length = 0;
    world.run(300);
    const withGossip = world.frames.filter((frame) => frame.some(({ message }) => message.type === 'GossipRoot'));
    expect(withGossip.length).toBeGreaterThan(10);
    // Heartbeats are promises: a round that met an unfinished batch sends them a little later, with their own frame.
    const shared = withGossip.filter((frame) => frame.some(({ message }) => message.type === 'Heartbeat'));
    expect(shared.length / withGossip.length).toBeGreaterThan(0.7);
  });
});

describe('PaRiS: one phase', () => {
  it('a write of one partition needs one durable batch before its answer (P11)', () => {
    const world = new World({ syncMs: 20 });
    world.run(100);
    const key = keyIn(world, 0);
    // Just after the periodic writes of clock and UST.
    const before = () => world.batches.get('virginia-1') ?? 0;
    const idle = before();
    world.until(() => before() > idle);
    world.run(21);
    const start = { batches: before(), at: world.now };
    const { ct } = new TestClient(world, 'virginia-1').write({ [key]: '1' });
    expect(ct).toBeGreaterThan(0);
    expect(world.now - start.at).toBeLessThan(2 * 20);
    // The write is decided, and not applied yet.
    const { store } = world.node('virginia-1');
    expect([...store.prepared.values()]).toMatchObject([{ partition: 0, record: { pt: ct, ct } }]);
  });
});

describe('PaRiS: invalid messages of peers', () => {
  const nonsense: TransactionMessage[] = [
    { type: 'CommitTx', partition: 0, txId: 'unknown', attempt: 0, ct: 5 },
    { type: 'AbortTx', partition: 0, txId: 'unknown', attempt: 0 },
    { type: 'ResolveResp', txId: 'unknown', attempt: 0, partition: 3, state: 'committed', ts: 9 },
    { type: 'ResolveResp', txId: 'unknown', attempt: 0, partition: 3, state: 'prepared', ts: 9 },
    { type: 'ResolveResp', txId: 'unknown', attempt: 0, partition: 3, state: 'lost', ts: 0 },
    { type: 'PrepareResp', txId: 'unknown', attempt: 0, partition: 3, pt: 9 },
    sample('Replicate', { source: 'atlantis', from: 0, to: 9, groups: [] }),
    sample('Heartbeat', { source: 'ireland', from: 0, to: 9, verified: true }),
    { type: 'ReplayLog', region: 'atlantis', after: 0, upTo: 9 },
    sample('ResyncReq', { region: 'atlantis', from: 0, clock: 0 }),
    { type: 'GossipRoot', region: 'atlantis', gst: 9e15, sOld: 0, wallMs: 0 },
    { type: 'ReadSliceResp', ref: 77, partition: 0, versions: [] },
    {
      type: 'PrepareReq',
      partition: 0,
      identity: { txId: 'x', attempt: 0, home: 'atlantis', map: 0, cohorts: [0, 999] },
      ust: 0,
      ht: 0,
      sentAfter: 0,
      principal: '',
      writes: [],
    },
    {
      type: 'ResolveReq',
      partition: 0,
      identity: { txId: 'x', attempt: 0, home: 'oregon', map: 0, cohorts: [999] },
      sentAfter: 0,
    },
    // Requests and responses of a node that has lost its disk (D10).
    { type: 'ResyncRefused', partition: 0, source: 'atlantis', truncatedUpTo: 9e15 },
    { type: 'ResyncRefused', partition: 0, source: 'oregon', truncatedUpTo: 9e15 },
    { type: 'OutcomeResp', ref: 77, partition: 0, state: 'lost', ts: 0, attempt: 0 },
    { type: 'JoinReq' },
    {
      type: 'JoinResp',
      joined: false,
      retiring: true,
      setAside: true,
      ust: 9e15,
      clocks: [{ partition: 999, clock: 9e15 }],
    },
    sample('CopyReq', { partition: 999, start: '', source: 'atlantis', clock: 9e15 }),
    {
      type: 'ReadCopy',
      node: 'atlantis-1',
      request: sample('CopyReq', { start: '', source: null, clock: 0 }),
      vector: [{ region: 'atlantis', ts: 9e15 }],
    },
    {
      type: 'CopyResp',
      ref: 1,
      part: 0,
      parts: 1,
      versions: [{ key: 'default/k', version: { ts: 9e15, txId: 'unknown', region: 'oregon', value: null } }],
      next: null,
      vector: [{ region: 'virginia', ts: 9e15 }],
      gcFloor: 9e15,
    },
  ];

  it("a peer's invalid message is counted and changes nothing (D12)", () => {
    const world = new World();
    world.run(100);
    const virginia = world.node('virginia-1');
    for (const machine of ['replica/0', 'coordinator', 'stabilization', 'rebuild', 'client', 'nowhere']) {
      for (const message of nonsense) {
        world.inject({ node: 'virginia-1', machine }, { node: 'oregon-1', machine: 'replica/0' }, message);
      }
    }
    world.run(3_000);
    expect([virginia.store.prepared.size, virginia.store.outcomes.size, virginia.store.chains.size]).toEqual([0, 0, 0]);
    expect(virginia.parts.replicas[0]!.cohort.counters.ignored).toBeGreaterThan(0);
    expect(virginia.parts.rebuild.describe()).toMatchObject({ joined: true, retiring: null, incarnation: 0 });
    expect(virginia.parts.losses.all).toEqual([]);
    expect([virginia.parts.stable.gcFloor, virginia.parts.replicas[0]!.replication.gcFloor]).toEqual([0, 0]);
    expect(world.ust()).toBeLessThan(virginia.parts.clock.ceiling);
    const { ct } = new TestClient(world, 'virginia-1').write({ [keyIn(world, 0)]: '1' });
    world.until(() => world.ust() >= ct);
  });

  it("a disk is given up only on the report of the region's own replica, and only where it was requested (D12)", () => {
    const world = new World();
    const { ct } = new TestClient(world, 'virginia-1').write({ [keyIn(world, 0)]: '1' });
    world.run(500);
    const { clock, replicas } = world.node('virginia-1').parts;
    const own = replicas.find(({ partition }) => partition === 0)!;
    expect(own.replication.vv.has('ireland')).toBe(false);
    const refused: TransactionMessage = { type: 'ResyncRefused', partition: 0, source: 'oregon', truncatedUpTo: 8e15 };
    const rolledBack = sample('ResyncReq', { from: 0, clock: ct, group: ct });
    const messages = [refused, rolledBack, { ...rolledBack, clock: clock.last, group: clock.last }];
    const to = { node: 'virginia-1', machine: 'replica/0' };
    for (const message of messages) {
      // Ireland does not have the partition.
      for (const from of ['ireland-1', 'atlantis-1']) world.inject(to, { node: from, machine: 'replica/0' }, message);
    }
    world.inject(to, { node: 'oregon-1', machine: 'replica/0' }, refused); // nothing was requested
    world.run(2_000);
    expect(own.replication.counters.resyncs).toBe(1); // oregon's own, at the start
  });

  it('a copy is sent to nodes of the cluster that have the partition, and to no other node (D12)', () => {
    const world = new World();
    new TestClient(world, 'virginia-1').write({ [keyIn(world, 0)]: '1' });
    world.run(500);
    world.frames.length = 0;
    const to = { node: 'virginia-1', machine: 'replica/0' };
    const request = sample('CopyReq', { start: '', source: null, clock: 0 });
    for (const node of ['ireland-1', 'atlantis-1']) {
      world.inject(to, { node, machine: 'rebuild' }, request);
      world.inject(to, { node, machine: 'rebuild' }, { type: 'ReadCopy', node, request, vector: [] });
    }
    world.run(100);
    expect(world.frames.flat().filter(({ message }) => message.type === 'CopyResp')).toEqual([]);
    world.inject(to, { node: 'oregon-1', machine: 'rebuild' }, request);
    world.run(100);
    expect(world.frames.flat().filter(({ message }) => message.type === 'CopyResp')).toHaveLength(1);
  });

  it('a commit below the proposal is ignored: the prepare stays for the resolvers (P6)', () => {
    const world = new World();
    world.run(100);
    world.filter = ({ message }) => message.type !== 'CommitTx';
    const [a, b] = [keyIn(world, 0), keyIn(world, 4)];
    const { ct, txId } = new TestClient(world, 'virginia-1').write({ [a]: '1', [b]: '1' });
    const remote = world.topology.cohort(4, 'virginia');
    const to = { node: remote.node, machine: 'replica/4' };
    world.inject(
      to,
      { node: 'virginia-1', machine: 'coordinator' },
      { type: 'CommitTx', partition: 4, txId, attempt: 0, ct: 1 },
    );
    world.until(() => world.ust() >= ct);
    expect(new TestClient(world, 'oregon-1').readOnce(a, b)).toEqual(['1', '1']);
  });
});
