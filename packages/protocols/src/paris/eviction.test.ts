/** Claims about nodes that an operator evicts: no node waits for these, and nothing of them comes back (M14). */
import type { NodeId } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import { everywhere, loseDisk, versions } from '@isochron/testing/world/lost-disks';
import { at, cohortOn, deferredAt, I, mapsOf, O, SETTINGS, suspends, V } from '@isochron/testing/world/suspensions';
import type { World } from '@isochron/testing/world/world';
import type { OrderReq } from '../kernel/maps/messages.js';

/** Every partition has a replica in each region. */
const THRICE = everywhere(3);

let refs = 9_000;
/** An operator orders something at a node; returns the answer. */
function answerOf(world: World, node: NodeId, action: OrderReq['action'], ...nodes: NodeId[]): object {
  const ref = ++refs;
  world.inject(at(node), { node, machine: 'client' }, { type: 'OrderReq', ref, action, nodes });
  world.until(() => world.answer(node, ref) !== undefined, 15_000);
  const { type: _type, ref: _ref, ...answer } = world.answer(node, ref) as { type: string; ref: number };
  return answer;
}

const DONE = { nodes: [] };

/** The node of Ireland is dead, suspended and evicted. */
function evicts(world: World): void {
  expect(answerOf(world, V, 'evict', I)).toEqual(DONE);
  world.until(() => [V, O].every((node) => mapsOf(world, node).current.evicted.includes(I)), 5_000);
}

/** A new write becomes stable at both other nodes. */
function moves(world: World, withinMs = 2_000): void {
  const { ct } = new TestClient(world, V).write({ [keyIn(world, cohortOn(world, V))]: '"moves"' });
  world.until(() => [V, O].every((node) => world.node(node).parts.stable.value >= ct), withinMs);
}

const lossesAt = (world: World, node: NodeId) => world.node(node).parts.losses.all;

/** The timestamps of a transaction's versions on a node. */
const writtenAt = (world: World, node: NodeId, partition: number, txId: string) =>
  versions(world, node, partition).flatMap(([, chain]) => chain.filter((one) => one.txId === txId).map(({ ts }) => ts));

/** Ireland's node has died, and is suspended. */
function dies(world: World): void {
  world.run(50);
  world.crash(I);
  suspends(world);
}

/** The code with which a node ends; undefined while it runs. */
function codeOf(run: () => void): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

describe('PaRiS: an evicted node', () => {
  it('what the others have whole is committed again after an eviction, once, and is a loss where a part is gone (M14)', () => {
    const world = settled({ settings: SETTINGS });
    const [ofV, ofI] = [cohortOn(world, V), cohortOn(world, I)];
    world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
    const torn = world.call(V, commitOver(world, id(1), [ofV, ofI].sort()), 'CommitResp');
    // Follows a write on the node that is evicted, and has all of its slices elsewhere.
    const behind = [{ node: world.topology.numberOf(I), ct: torn.ct }];
    const { ct } = world.call(V, { ...commitOver(world, id(2), [ofV]), hwt: torn.ct, behind }, 'CommitResp');
    dies(world);
    world.filter = () => true;
    world.run(5_000);
    expect(deferredAt(world, V)).toEqual([id(1), id(2)]);
    evicts(world);
    world.until(() => writtenAt(world, V, ofV, id(2)).length === 1, 10_000);
    expect(writtenAt(world, V, ofV, id(2))[0]).toBeGreaterThan(ct);
    world.until(() => deferredAt(world, V).length === 0, 60_000);
    expect(writtenAt(world, V, ofV, id(2))).toHaveLength(1);
    expect(writtenAt(world, V, ofV, id(1))).toEqual([]);
    expect(lossesAt(world, V)).toEqual([
      expect.objectContaining({ txId: id(1), committed: true, takenBack: true, node: I, partitions: [ofI] }),
    ]);
    expect(world.node(V).parts.returning?.owes).toBe(false);
    moves(world);
  });

  it('what the others had received of an evicted node is committed again, too, or reported as a loss (M14)', () => {
    const world = settled({ settings: SETTINGS });
    const alone = cohortOn(world, I, 'ireland');
    const peer = [V, O].find((node) => world.topology.partitionsOn(node).includes(alone))!;
    const apart = world.topology.partitionsOn(I).find((p) => !world.topology.partitionsOn(peer).includes(p))!;
    // One member receives nothing more: so the horizon lies below what the other has received.
    world.filter = ({ from, to }) => !(from.node === I && to.node !== peer && to.node !== I);
    world.call(I, { ...commitOver(world, id(1), [alone]), attemptRegions: ['ireland'] }, 'CommitResp');
    const ref = world.ask(I, {
      ...commitOver(
        world,
        id(2),
        [alone, apart].sort((a, b) => a - b),
      ),
      attemptRegions: ['ireland'],
    });
    world.until(() => writtenAt(world, peer, alone, id(2)).length === 1, 2_000);
    expect(world.answer(I, ref)).toMatchObject({ type: 'CommitResp' });
    dies(world);
    world.filter = () => true;
    world.run(5_000);
    expect(writtenAt(world, peer, alone, id(1))).toEqual([]);
    world.crash(peer);
    world.restart(peer);
    world.run(5_000);
    world.inject(at(peer), at(peer), { type: 'Silent', nodes: [I] });
    evicts(world);
    world.until(() => writtenAt(world, peer, alone, id(1)).length === 1, 10_000);
    world.until(() => lossesAt(world, peer).length === 1, 10_000);
    expect(lossesAt(world, peer)).toEqual([expect.objectContaining({ txId: id(2), committed: true, node: I })]);
    world.run(30_000);
    const kept = [V, O].flatMap((node) => [...world.node(node).store.prepared.keys()]);
    expect(kept).toEqual([]);
    moves(world);
  });

  it('a vote that an evicted node may have decided is reported, as a transaction that may have been acknowledged (M14)', () => {
    const world = settled({ settings: SETTINGS });
    const partitions = [cohortOn(world, V), cohortOn(world, I)].sort((a, b) => a - b);
    const lost = ['CommitTx', 'ResolveReq', 'Replicate'];
    world.filter = ({ from, message }) => !(from.node === I && lost.includes(message.type));
    world.call(I, commitOver(world, id(1), partitions), 'CommitResp');
    dies(world);
    world.filter = () => true;
    evicts(world);
    world.until(() => lossesAt(world, V).length === 1, 10_000);
    expect(lossesAt(world, V)[0]).toMatchObject({ txId: id(1), committed: false, node: I });
    expect(deferredAt(world, V)).toEqual([]);
  });

  it('an evicted node does not run again, on its own disk or an empty one, once a map that names it has come (M14)', () => {
    const world = settled({ settings: SETTINGS });
    dies(world);
    evicts(world);
    world.restart(I);
    expect(codeOf(() => world.run(5_000))).toBe('NODE_EVICTED');
    world.failure = undefined;
    world.crash(I);
    // Its maps are on its disk.
    expect(codeOf(() => world.restart(I))).toBe('NODE_EVICTED');
    world.failure = undefined;
    expect(codeOf(() => loseDisk(world, I)) ?? codeOf(() => world.run(5_000))).toBe('NODE_EVICTED');
    world.failure = undefined;
    world.crash(I);
    moves(world);
  });

  it('a suspended or held node that does not answer is evicted; a member, and a node that answers, are not (M14)', () => {
    const world = settled();
    expect(answerOf(world, V, 'evict', I)).toEqual({ why: 'member', nodes: [I] });
    expect(answerOf(world, V, 'hold', I)).toEqual(DONE);
    expect(answerOf(world, V, 'evict', I)).toEqual({ why: 'answers', nodes: [I] });
    world.crash(I);
    for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes: [I] });
    evicts(world);
    expect(mapsOf(world, V).current.map).toMatchObject({ evicted: [2], voters: [0, 1], isOrdered: true });
    expect(mapsOf(world, V).current.held).toEqual([]);
    for (const action of ['evict', 'suspend', 'hold', 'return'] as const)
      expect(answerOf(world, O, action, I)).toEqual({ why: 'evicted', nodes: [I] });
    // Every later map keeps that.
    world.inject(at(V), at(V), { type: 'ProposeMap' });
    world.until(() => mapsOf(world, O).current.version === 3, 2_000);
    expect(mapsOf(world, O).current.evicted).toEqual([I]);
    moves(world);
  });

  it('an evicted node that asks for a map with itself gets none, and a map that has it again is ignored (M14, D12)', () => {
    const world = settled({ settings: SETTINGS });
    dies(world);
    evicts(world);
    const { version, map } = mapsOf(world, V).current;
    world.inject(at(V), at(I), { type: 'MemberReq', version, leaves: false });
    const next = { ...map, version: version + 1 };
    const forged = [
      { evicted: undefined },
      { evicted: [] },
      { evicted: [1, 2] },
      { members: [0, 1, 2] },
      { voters: [0, 1, 2] },
    ];
    for (const change of forged)
      world.inject(at(V), at(O), { type: 'DecidedMaps', maps: [{ ...next, suspends: [], ...change }] });
    world.run(2_000);
    expect(mapsOf(world, V).newest.version).toBe(version);
  });

  it('a member that starts again after an eviction waits for no report of the evicted node about its disk (M14, D10i)', () => {
    const world = settled({ spec: THRICE, settings: SETTINGS });
    dies(world);
    evicts(world);
    world.crash(V);
    world.run(100);
    world.restart(V);
    world.run(10_000);
    moves(world);
    expect(world.node(V).parts.verification.status(world.now).missing).toEqual([]);
  });

  it('logs are truncated after an eviction: the evicted node asks for nothing any more (M14, D5)', () => {
    const world = settled({ spec: THRICE, settings: { ...SETTINGS, changeRetentionMs: 1_000 } });
    dies(world);
    const { ct } = new TestClient(world, V).write({ [keyIn(world, cohortOn(world, V))]: '1' });
    world.run(20_000);
    const confirmed = () => Number(world.node(V).store.meta.get(`logConfirmedUpTo/${cohortOn(world, V)}`) ?? 0);
    expect(confirmed()).toBeLessThan(ct);
    evicts(world);
    world.until(() => confirmed() >= ct, 20_000);
  });

  it('a member that loses its disk while another node is dead goes on once that node is evicted (M14, D10)', () => {
    const world = settled({ spec: THRICE, settings: SETTINGS });
    const { ct } = new TestClient(world, V).write({ [keyIn(world, 0)]: '"kept"' });
    world.until(() => world.ust() >= ct, 2_000);
    dies(world);
    loseDisk(world, O);
    world.run(30_000);
    expect(world.node(O).parts.membership.joined).toBe(false);
    // The disk is filled meanwhile, and the operator repeats the order.
    const answers: object[] = [];
    for (let tries = 0; tries < 5 && mapsOf(world, V).newest.evicted === undefined; tries++)
      answers.push(answerOf(world, V, 'evict', I));
    expect(answers.at(-1)).toEqual(DONE);
    expect(world.node(O).parts.membership.settled).toBe(true);
    moves(world, 10_000);
    expect(versions(world, O, 0).flatMap(([, chain]) => chain.map(({ value }) => value))).toContain('"kept"');
  });
});
