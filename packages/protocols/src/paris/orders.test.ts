/** Claims about orders of an operator: nodes are suspended at once, kept away, and let back (M13). */
import type { NodeId } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { settled } from '@isochron/testing/world/commits';
import type { World } from '@isochron/testing/world/world';
import { MAPS_MACHINE } from '../kernel/maps/map-machine.js';
import type { OrderReq } from '../kernel/maps/messages.js';

const [V, O, I] = ['virginia-1', 'oregon-1', 'ireland-1'];
const at = (node: NodeId) => ({ node, machine: MAPS_MACHINE });
const mapsOf = (world: World, node: NodeId) => world.node(node).parts.maps;
const regionsOf = (...ids: string[]) => ids.map((region) => ({ id: region, nodes: [{ id: `${region}-1` }] }));
const THREE = regionsOf('virginia', 'oregon', 'ireland');
/** A keyspace that Ireland alone has. */
const PINNED = {
  regions: THREE,
  keyspaces: [
    { name: 'default', partitions: 3, replication: 2 },
    { name: 'irish', partitions: 1, regions: ['ireland'] },
  ],
};

/** Two nodes a region: the second node is no voter. */
const SIX = {
  regions: ['virginia', 'oregon', 'ireland'].map((id) => ({ id, nodes: [{ id: `${id}-1` }, { id: `${id}-2` }] })),
  keyspaces: [{ name: 'default', partitions: 6, replication: 2 }],
};

let refs = 5_000;
/** An operator orders something at a node; returns the request's number. */
function orders(world: World, node: NodeId, action: OrderReq['action'], ...nodes: NodeId[]): number {
  const ref = ++refs;
  world.inject(at(node), { node, machine: 'client' }, { type: 'OrderReq', ref, action, nodes });
  return ref;
}

/** The answer to an order. */
function answerOf(world: World, node: NodeId, ref: number): object {
  world.until(() => world.answer(node, ref) !== undefined, 15_000);
  const { type, ref: _ref, ...answer } = world.answer(node, ref) as { type: string; ref: number };
  expect(type).toBe('OrderResp');
  return answer;
}

const DONE = { nodes: [] };
/** An operator orders something, which a map carries out. */
function ordered(world: World, node: NodeId, action: OrderReq['action'], ...nodes: NodeId[]): void {
  expect(answerOf(world, node, orders(world, node, action, ...nodes))).toEqual(DONE);
}

/** The drivers notice the nodes from which they receive nothing. */
function silent(world: World, nodes: readonly NodeId[], at_: readonly NodeId[] = [V, O]): void {
  for (const node of at_) world.inject(at(node), at(node), { type: 'Silent', nodes });
}

const isMember = (world: World, node: NodeId) => [V, O].every((one) => mapsOf(world, one).current.isMember(node));

function moves(world: World, from: NodeId): void {
  const { ct } = new TestClient(world, from).write({ [keyIn(world, 0)]: '"new"' });
  world.until(() => [V, O].every((node) => world.node(node).parts.stable.value >= ct), 2_000);
}

describe('PaRiS: orders of an operator', () => {
  it('a node that is dead is suspended at once, also where no node is suspended by itself (M13, M4)', () => {
    const world = settled();
    world.crash(I);
    silent(world, [I]);
    const { ct } = new TestClient(world, V).write({ [keyIn(world, 0)]: '"waits"' });
    world.run(1_000);
    expect(world.node(O).parts.stable.value).toBeLessThan(ct);
    ordered(world, V, 'suspend', I);
    expect(mapsOf(world, V).current.map).toMatchObject({ version: 1, suspends: [2], isOrdered: true });
    expect(mapsOf(world, V).isSuspended(I)).toBe(true);
    moves(world, V);
  });

  it('a node that answers is suspended at once, and is a member again soon (M13)', () => {
    const world = settled();
    ordered(world, O, 'suspend', I);
    expect(mapsOf(world, O).current.isMember(I)).toBe(false);
    world.until(() => isMember(world, I), 10_000);
    expect(mapsOf(world, O).current.map.isOrdered).toBeUndefined();
    moves(world, V);
  });

  it('a node that is no voter takes orders, too, and asks voters until one decides (M13)', () => {
    const world = settled({ spec: SIX });
    const asked = new Set<NodeId>();
    world.filter = ({ to, message }) => {
      if (message.type === 'ChangeReq') asked.add(to.node);
      return message.type !== 'ChangeReq' || to.node !== V;
    };
    const began = world.now;
    ordered(world, 'virginia-2', 'hold', I);
    expect(world.now - began).toBeLessThan(3_000);
    expect([mapsOf(world, V).current.held, asked]).toEqual([[I], new Set([V, O])]);
  });

  it('a held node stays away, also after it and all others have started again, until an operator lets it return', () => {
    const world = settled();
    ordered(world, V, 'hold', I);
    expect(mapsOf(world, V).current.map.suspends).toEqual([2]);
    world.until(() => mapsOf(world, I).current.version === 1, 1_000);
    const from = world.sent.length;
    world.run(5_000);
    expect(world.sent.slice(from).filter(({ message }) => message.type === 'MemberReq')).toEqual([]);
    expect(isMember(world, I)).toBe(false);
    for (const node of [V, O, I]) world.crash(node);
    for (const node of [V, O, I]) world.restart(node);
    world.run(10_000);
    expect([V, O, I].map((node) => mapsOf(world, node).current.held)).toEqual([[I], [I], [I]]);
    expect(isMember(world, I)).toBe(false);
    moves(world, V);
    ordered(world, O, 'return', I);
    world.until(() => isMember(world, I), 10_000);
    expect(mapsOf(world, V).current.held).toEqual([]);
    moves(world, I);
  });

  it('a node that has left in order can be held, and comes back once an operator lets it return (M13)', () => {
    const world = settled();
    world.inject(at(I), { node: I, machine: 'client' }, { type: 'LeaveReq', ref: 1 });
    world.until(() => world.answer(I, 1) !== undefined, 10_000);
    ordered(world, V, 'hold', I);
    expect(mapsOf(world, V).isSuspended(I)).toBe(false);
    world.run(2_000);
    ordered(world, V, 'return', I);
    world.until(() => isMember(world, I), 10_000);
  });

  it('a suspended node is held before its return, and maps that change something else keep it away (M13)', () => {
    const world = settled();
    world.crash(I);
    silent(world, [I]);
    ordered(world, V, 'suspend', I);
    ordered(world, V, 'hold', I);
    world.restart(I);
    silent(world, []);
    world.inject(at(V), at(V), { type: 'ProposeMap' });
    world.until(() => mapsOf(world, O).current.version === 3, 2_000);
    world.run(5_000);
    expect([isMember(world, I), mapsOf(world, V).current.held]).toEqual([false, [I]]);
  });

  it('a held node that asks for a map with itself gets none: its disk may be an old one (M13)', () => {
    const world = settled();
    ordered(world, V, 'hold', I);
    world.inject(at(V), at(I), { type: 'MemberReq', version: 1, leaves: false });
    world.run(2_000);
    expect(mapsOf(world, V).newest.version).toBe(1);
  });

  it('a map in which a held node is a member is ignored (M13, D12)', () => {
    const world = settled();
    const { map } = mapsOf(world, V).at(0)!;
    for (const held of [[2], [], [7]])
      world.inject(at(V), at(O), { type: 'DecidedMaps', maps: [{ ...map, version: 1, held }] });
    expect(mapsOf(world, V).newest.version).toBe(0);
  });

  it('several nodes are suspended by one map: none of them can seal (M13, M3)', () => {
    const world = settled({ spec: SIX });
    const region = ['ireland-1', 'ireland-2'];
    for (const node of region) world.crash(node);
    silent(world, region, ['virginia-1', 'virginia-2', 'oregon-1', 'oregon-2']);
    const alone = orders(world, V, 'suspend', 'ireland-1');
    expect(answerOf(world, V, alone)).toEqual({ why: 'silent', nodes: ['ireland-2'] });
    ordered(world, V, 'suspend', ...region);
    expect(mapsOf(world, V).current.map.suspends).toEqual([4, 5]);
  });

  it('two operators at once: both orders take effect, or the later one is refused by the map of the first (M13)', () => {
    const world = settled();
    const [first, second] = [orders(world, V, 'hold', I), orders(world, O, 'suspend', I)];
    expect(answerOf(world, V, first)).toEqual(DONE);
    expect([DONE, { why: 'away', nodes: [I] }]).toContainEqual(answerOf(world, O, second));
    const [held, other] = [orders(world, V, 'return', I), orders(world, O, 'suspend', O)];
    expect(answerOf(world, V, held)).toEqual(DONE);
    answerOf(world, O, other);
    // Never two of three at once.
    for (let version = 1; version <= mapsOf(world, V).newest.version; version++)
      expect(mapsOf(world, V).at(version)!.members.length).toBeGreaterThanOrEqual(2);
  });

  it('two operators at one node: the second order is refused while the first one is carried out (M13)', () => {
    const world = settled();
    world.filter = ({ message }) => message.type !== 'SealReq';
    const first = orders(world, V, 'hold', I);
    expect(answerOf(world, V, orders(world, V, 'hold', O))).toEqual({ why: 'another-order', nodes: [] });
    world.filter = () => true;
    expect(answerOf(world, V, first)).toEqual(DONE);
  });

  it('an order that no map carries out in time is given up, and the node takes others (M13)', () => {
    const world = settled();
    world.filter = ({ message }) => message.type !== 'SealReq';
    expect(answerOf(world, V, orders(world, V, 'hold', I))).toEqual({ why: 'late', nodes: [] });
    world.filter = () => true;
    ordered(world, V, 'hold', I);
  });

  it.each<[OrderReq['action'], NodeId[], string, NodeId[]]>([
    ['suspend', ['nowhere-1', I], 'unknown-node', ['nowhere-1']],
    ['return', [I], 'not-held', [I]],
    ['suspend', [O, I], 'no-majority', [O, I]],
    ['hold', [O, I], 'no-majority', [O, I]],
  ])('an order that no map can carry out is refused: %s %j: %s (M13)', (action, nodes, why, reason) => {
    const world = settled();
    expect(answerOf(world, V, orders(world, V, action, ...nodes))).toEqual({ why, nodes: reason });
    world.run(1_000);
    expect(mapsOf(world, V).newest.version).toBe(0);
  });

  it('a node that is away is not suspended again, and a held one is not held again (M13)', () => {
    const world = settled();
    ordered(world, V, 'hold', I);
    expect(answerOf(world, V, orders(world, V, 'suspend', I))).toEqual({ why: 'away', nodes: [I] });
    expect(answerOf(world, V, orders(world, V, 'hold', I))).toEqual({ why: 'held', nodes: [I] });
  });

  it('of two nodes none is suspended, and a node that reaches no other suspends none (M13)', () => {
    const two = { regions: THREE.slice(0, 2), keyspaces: [{ name: 'default', partitions: 2, replication: 2 }] };
    const pair = settled({ spec: two });
    expect(answerOf(pair, V, orders(pair, V, 'suspend', O))).toEqual({ why: 'no-majority', nodes: [O] });
    const world = settled();
    silent(world, [O, I], [V]);
    expect(answerOf(world, V, orders(world, V, 'suspend', I))).toEqual({ why: 'no-majority', nodes: [O, I] });
  });

  it('a node that answers is not suspended where it has the only replica of a partition; a dead one is (M13)', () => {
    const world = settled({ spec: PINNED });
    expect(answerOf(world, V, orders(world, V, 'suspend', I))).toEqual({ why: 'only-replica', nodes: [I] });
    world.crash(I);
    silent(world, [I]);
    ordered(world, V, 'suspend', I);
    moves(world, V);
  });

  it("an order comes from the node's own driver alone, and a voter judges what others ask of it (M13, D12)", () => {
    const world = settled();
    world.inject(at(V), at(O), { type: 'OrderReq', ref: 1, action: 'hold', nodes: [I] });
    for (const nodes of [[O, I], ['nowhere-1']])
      world.inject(at(V), at(O), { type: 'ChangeReq', version: 0, action: 'suspend', nodes });
    world.run(3_000);
    expect(mapsOf(world, V).newest.version).toBe(0);
  });

  it('a member that dies while another map is decided is suspended, too (M1, M3)', () => {
    const world = settled({ settings: { suspendAfterMs: 400 } });
    // Virginia decides a map with the same members, and Oregon dies before it has sealed.
    world.filter = ({ to, message }) => !(to.node === O && message.type === 'SealReq');
    world.inject(at(V), at(V), { type: 'ProposeMap' });
    world.run(20);
    world.crash(O);
    world.filter = () => true;
    for (const node of [V, I]) world.inject(at(node), at(node), { type: 'Silent', nodes: [O] });
    world.until(() => !mapsOf(world, V).current.isMember(O), 10_000);
    expect(mapsOf(world, V).current.members).toEqual([V, I]);
  });
});
