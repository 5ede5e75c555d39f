/** Claims about stabilisation (section III-C, Algorithm 4 lines 29–31) and about the checks of received times. */
import type { Timestamp } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import type { World } from '@isochron/testing/world/world';
import { assigned, everywhereOn, snapshotOf, times, wrenWorld } from '@isochron/testing/world/wren-world';
import type { TransactionMessage } from '../kernel/transactions/messages.js';

/** The lowest entry of the region's replicas: of its own versions, or of other regions'. */
function installed(world: World, region: string, own: boolean): Timestamp {
  const { topology } = world;
  const entries = topology.nodesOf(region).flatMap((node) =>
    world.node(node).parts.replicas.flatMap(({ replication: { vv } }) => {
      const sources = topology.regions.filter((source) => (source === region) === own);
      return sources.map((source) => vv.durable(source));
    }),
  );
  return Math.min(...entries);
}

describe('Wren: stabilisation (BiST)', () => {
  it('LST is the minimum over the local entries of the region, RST over the remote ones, and neither exceeds it (Alg. 4 lines 30–31)', () => {
    const world = wrenWorld(everywhereOn(3, 2, 4), { delayMs: (a, b) => (a[0] === b[0] ? 1 : 30), syncMs: 5 });
    const clients = [...world.nodes.keys()].map((node) => new TestClient(world, node));
    let followed = 0;
    for (let i = 0; i < 80; i++) {
      clients[i % 6]!.write({ [keyIn(world, i % 4)]: String(i), [keyIn(world, (i + 1) % 4)]: String(i) });
      for (const node of world.nodes.keys()) {
        const region = world.topology.regionOf(node);
        const { lst, rst } = times(world, node);
        expect(lst).toBeLessThanOrEqual(installed(world, region, true));
        expect(rst).toBeLessThanOrEqual(installed(world, region, false));
        if (lst > 0 && installed(world, region, true) - lst < 30 * 4096) followed++;
      }
    }
    expect(followed).toBeGreaterThan(400);
  });

  it('LST and RST never fall at a node that runs, and never exceed what its replicas have on disk, through crashes of every node', () => {
    const world = wrenWorld(everywhereOn(2, 2, 4), { delayMs: (a, b) => (a[0] === b[0] ? 1 : 20), syncMs: 3 });
    const nodes = [...world.nodes.keys()];
    const seen = new Map<string, { incarnation: number; lst: Timestamp; rst: Timestamp }>();
    const look = () => {
      for (const { id, incarnation, up, parts } of world.nodes.values()) {
        if (!up) continue;
        const now = times(world, id);
        const before = seen.get(id);
        if (before?.incarnation === incarnation) {
          expect(now.lst).toBeGreaterThanOrEqual(before.lst);
          expect(now.rst).toBeGreaterThanOrEqual(before.rst);
        }
        seen.set(id, { incarnation, ...now });
        const [local = 0, remote = 0] = parts.coordinator.state.regional.own();
        expect([now.lst <= local, now.rst <= remote]).toEqual([true, true]);
      }
    };
    for (const node of nodes) {
      const other = nodes.find((id) => id !== node && world.topology.regionOf(id) === world.topology.regionOf(node))!;
      const writer = new TestClient(world, other);
      const key = [0, 1, 2, 3].map((p) => keyIn(world, p)).find((k) => hosts(world, other, k))!;
      writer.write({ [key]: node });
      world.crash(node);
      for (let i = 0; i < 20; i++, look()) world.run(7);
      world.restart(node);
      for (let i = 0; i < 60; i++, look()) world.run(7);
      writer.write({ [key]: `${node} again` });
    }
    const { lst, rst } = times(world, nodes[0]!);
    world.until(() => times(world, nodes[0]!).lst > lst && times(world, nodes[0]!).rst > rst);
  });

  it('"updates originating in a DC become visible in that DC without waiting for the receipt of remote items"', () => {
    const world = wrenWorld(everywhereOn(3, 1, 2));
    world.cut('virginia-1', 'oregon-1');
    world.cut('virginia-1', 'ireland-1');
    const { rst } = times(world, 'virginia-1');
    for (let i = 0; i < 10; i++) {
      const key = keyIn(world, i % 2);
      const { ct } = new TestClient(world, 'virginia-1').write({ [key]: String(i) });
      world.until(() => times(world, 'virginia-1').lst >= ct, 100);
      expect(new TestClient(world, 'virginia-1').readOnce(key)).toEqual([String(i)]);
    }
    expect(times(world, 'virginia-1').rst).toBe(rst);
  });

  it('a remote update is hidden until every partition has received that far from every remote region', () => {
    const world = wrenWorld(everywhereOn(4, 2, 2));
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    // One partition receives nothing from one region.
    world.cut('virginia-2', 'ireland-2');
    const { ct } = new TestClient(world, 'oregon-1').write({ [x]: '1', [y]: '1' });
    world.run(300);
    for (const node of ['virginia-1', 'virginia-2']) {
      expect(world.node(node).parts.replicas[0]!.replication.vv.durable('oregon')).toBeGreaterThan(ct);
      expect(new TestClient(world, node).readOnce(x, y)).toEqual([null, null]);
    }
    expect(new TestClient(world, 'mumbai-1').readOnce(x, y)).toEqual(['1', '1']);
    world.heal('virginia-2', 'ireland-2');
    world.until(() => times(world, 'virginia-1').rst > ct);
    expect(new TestClient(world, 'virginia-1').readOnce(x, y)).toEqual(['1', '1']);
  });

  it('stabilisation carries two timestamps, whatever the number of regions', () => {
    for (const regions of [2, 5]) {
      const world = wrenWorld(everywhereOn(regions, 2, 2));
      const gossip = world.sent.flatMap(({ message }) =>
        message.type === 'GossipUp' || message.type === 'GossipDown' ? [message.regional?.length] : [],
      );
      expect(gossip.length).toBeGreaterThan(0);
      expect(new Set(gossip)).toEqual(new Set([2]));
      // Roots of other regions receive only UST's minimum.
      expect(world.sent.some(({ message }) => message.type === 'GossipRoot' && message.regional !== undefined)).toBe(
        false,
      );
    }
  });
});

describe('Wren: received times', () => {
  it('times that a session claims raise those of a node only as far as its own replicas (P5)', () => {
    const world = wrenWorld(everywhereOn(2, 2, 2), { settings: { snapshotWaitMs: 200 } });
    world.filter = ({ message }) => message.type !== 'GossipDown';
    world.run(100);
    const { parts } = world.node('virginia-2');
    const own = parts.coordinator.state.regional.own();
    const claim = world.node('virginia-2').parts.clock.last + 4096 * 100_000;
    const ask = (ust: Timestamp, rt: Timestamp) =>
      world.ask('virginia-2', { type: 'ReadReq', txId: null, at: null, keys: [], ust, deps: [rt, 1, 0] });
    ask(claim, claim - 1);
    expect(times(world, 'virginia-2')).toEqual({ lst: own[0], rst: own[1] });
    // Without a replica that confirms them, they raise nothing.
    const bare = wrenWorld(everywhereOn(2, 4, 2));
    const before = times(bare, 'virginia-4');
    const ust = before.lst + 4096 * 100;
    bare.ask('virginia-4', { type: 'ReadReq', txId: null, at: null, keys: [], ust, deps: [ust - 1, 1, 0] });
    expect(times(bare, 'virginia-4')).toEqual(before);
    // Other sessions go on reading.
    expect(assigned(world, 'virginia-2').lt).toBe(own[0]);
  });

  it('a claim above LST is answered by no replica that is behind it: the replica requests the missing versions', () => {
    const world = wrenWorld(everywhereOn(2, 2, 2), { settings: { readDeadlineMs: 300 } });
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    world.filter = ({ message, to }) => !(message.type === 'CommitTx' && to.node === 'virginia-2');
    const { ct } = new TestClient(world, 'virginia-1').write({ [x]: '1', [y]: '1' });
    world.run(100);
    const own = world.node('virginia-1').parts.coordinator.state.regional.own();
    expect(own[0]).toBeGreaterThan(ct);
    const read = (key: string) =>
      world.call('virginia-1', { type: 'ReadReq', txId: null, at: null, keys: [key], ust: ct, deps: [0, 1, 0] });
    const [here, there] = world.topology.replicaNode(0, 'virginia') === 'virginia-1' ? [x, y] : [y, x];
    expect(read(here)).toMatchObject({ type: 'ReadResp', versions: [{ value: '1' }] });
    expect(read(there)).toMatchObject({ type: 'Refused', code: 'SNAPSHOT_UNAVAILABLE' });
    world.filter = () => true;
    world.until(() => times(world, 'virginia-1').lst >= own[0]! && times(world, 'virginia-2').lst >= ct);
    expect(read(there)).toMatchObject({ type: 'ReadResp', versions: [{ value: '1' }] });
  });

  it('a claim with the place of another region, or without a place, raises nothing', () => {
    const world = wrenWorld(everywhereOn(2, 2, 2));
    world.filter = ({ message }) => message.type !== 'GossipDown';
    world.run(100);
    const before = times(world, 'virginia-2');
    const ust = world.node('virginia-2').parts.clock.last;
    for (const place of [0, 2]) {
      world.ask('virginia-2', { type: 'ReadReq', txId: null, at: null, keys: [], ust, deps: [ust, place, 0] });
    }
    expect(times(world, 'virginia-2')).toEqual(before);
  });

  it('a snapshot that this node cannot confirm waits within a bound, and is then refused (P5)', () => {
    const world = wrenWorld(everywhereOn(2, 1, 1), { settings: { snapshotWaitMs: 200 } });
    const ust = world.node('virginia-1').parts.clock.last + 4096 * 60_000;
    const start = world.now;
    const answer = world.call(
      'virginia-1',
      { type: 'StartTxReq', txId: 'session-0123456789.1', at: null, ust, deps: [0, 1, 0] },
      'Refused',
    );
    expect(answer.code).toBe('SNAPSHOT_UNAVAILABLE');
    expect(world.now - start).toBeLessThan(300);
    const far = { ...snapshotOf(ust, 0, 0), type: 'ReadReq' as const, txId: null, ust: 0, keys: [keyIn(world, 0)] };
    expect(world.call('virginia-1', far, 'Refused').code).toBe('SNAPSHOT_UNAVAILABLE');
  });

  it("a client's times in the future are refused, those of its writes too (T1)", () => {
    const world = wrenWorld(everywhereOn(2, 1, 1), { settings: { maxClockDriftMs: 10_000 } });
    const ahead = world.node('virginia-1').parts.clock.last + 4096 * 6_000;
    const request = { type: 'ReadReq' as const, txId: null, at: null, keys: [] };
    const claims = [
      { ust: ahead, deps: [0, 1, 0] },
      { ust: 0, deps: [ahead, 1, 0] },
      { ust: 0, deps: [0, 1, ahead] },
    ];
    for (const claim of claims) {
      expect(world.call('virginia-1', { ...request, ...claim }, 'Refused').code).toBe('TIMESTAMP_IN_FUTURE');
    }
  });

  it('an invalid snapshot from a client is refused, and one from a peer changes nothing (D12)', () => {
    const world = wrenWorld(everywhereOn(2, 2, 2));
    const key = keyIn(world, 0);
    const request = { type: 'ReadReq' as const, txId: null, ust: 0, keys: [key] };
    for (const deps of [[1, 9, 0], [1], [1, 2, 3, 4]]) {
      expect(world.call('virginia-1', { ...request, at: 5, deps }, 'Refused').code).toBe('INVALID_REQUEST');
    }
    const from = { node: 'virginia-1', machine: 'coordinator' };
    const { machine, node } = { machine: 'replica/0', node: 'virginia-1' };
    const now = world.node(node).parts.clock.last;
    const slices: TransactionMessage[] = [[now, 9, 0], [now, 0, 0], [], [now]].map((deps, i) => {
      return { type: 'ReadSliceReq', ref: 900 + i, partition: 0, snapshot: now, keys: [key], deps };
    });
    for (const message of slices) world.inject({ node, machine }, from, message);
    const lie = now + 4096 * 1_000_000;
    const gossip: TransactionMessage = { type: 'GossipDown', ust: 0, sOld: 0, wallMs: world.now, regional: [lie, lie] };
    for (const target of ['virginia-1', 'virginia-2']) {
      world.inject({ node: target, machine: 'stabilization' }, { node: 'oregon-1', machine: 'stabilization' }, gossip);
    }
    world.run(50);
    for (const target of ['virginia-1', 'virginia-2']) {
      expect(times(world, target).lst).toBeLessThanOrEqual(installed(world, 'virginia', true));
      expect(new TestClient(world, target).readOnce(key)).toEqual([null]);
    }
  });
});

const hosts = (world: World, node: string, key: string): boolean =>
  world.topology.partitionsOn(node).includes(world.topology.partitionOf(key));
