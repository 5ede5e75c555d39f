/** Claims about writes that are committed again long after their first timestamp (F9). */
import { type Content, type NodeId, type StoredVersion, Update } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import { loseDisk, recovered } from '@isochron/testing/world/lost-disks';
import type { World } from '@isochron/testing/world/world';
import type { ChangedTx } from '../kernel/feeds/messages.js';
import { MAPS_MACHINE } from '../kernel/maps/map-machine.js';
import type { CommitResp } from '../kernel/transactions/messages.js';

const [V, O, I] = ['virginia-1', 'oregon-1', 'ireland-1'];
const NODES: readonly NodeId[] = [V, O, I];
const SETTINGS = { suspendAfterMs: 400 };
const at = (node: NodeId) => ({ node, machine: MAPS_MACHINE });
const isMember = (world: World, of: NodeId) => (node: NodeId) => world.node(node).parts.maps.current.isMember(of);
const silent = (world: World, nodes: readonly NodeId[]) => {
  for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes });
};
const update = (...operations: object[]) => new Update(JSON.stringify(operations));

/** A partition whose cohort for Ireland is its own node, and that another node holds, too. */
const partitionOf = (world: World) =>
  world.topology.partitions.findIndex(({ id: p }) => world.topology.cohort(p, 'ireland').node === I);
const replicasOf = (world: World, partition: number) =>
  NODES.filter((node) => world.topology.partitionsOn(node).includes(partition));

/** Ireland's node dies with writes that it alone has acknowledged. Returns the timestamp of the first. */
function dies(world: World, txId: string, value: Content, ...others: readonly [string, Content][]): number {
  const partition = partitionOf(world);
  world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
  const [{ ct }] = [[txId, value] as const, ...others].map(([id, content]) => {
    const writes = [{ key: keyIn(world, partition), value: content }];
    const commit = { ...commitOver(world, id, [partition]), writes, attemptRegions: ['ireland'] };
    return world.call(I, commit, 'CommitResp');
  }) as [CommitResp];
  world.run(50);
  world.crash(I);
  silent(world, [I]);
  world.until(() => [V, O].every((node) => !isMember(world, I)(node)), 5_000);
  world.filter = () => true;
  return ct;
}

/** The version of a transaction at each replica. */
const versionsBy = (world: World, txId: string): StoredVersion[] =>
  NODES.flatMap((node) =>
    [...world.node(node).store.chains.values()].flatMap((chain) => chain.filter((version) => version.txId === txId)),
  );

/** Ireland's node comes back, and commits again. Returns the versions of a transaction at all replicas. */
function returns(world: World, txId: string): StoredVersion[] {
  world.restart(I);
  silent(world, []);
  const expected = replicasOf(world, partitionOf(world)).length;
  world.until(() => NODES.every(isMember(world, I)) && versionsBy(world, txId).length === expected, 30_000);
  const [{ ts } = { ts: 0 }] = versionsBy(world, txId);
  world.until(() => NODES.every((node) => world.node(node).parts.stable.value >= ts), 5_000);
  return versionsBy(world, txId);
}

/** The document of the key at the stable snapshot of each replica. */
const documents = (world: World) =>
  replicasOf(world, partitionOf(world)).map((node) => {
    const { store, parts } = world.node(node);
    const partition = partitionOf(world);
    return store.read(partition, keyIn(world, partition), parts.stable.value)?.value;
  });

const writes = (world: World, value: Content) =>
  new TestClient(world, V).write({ [keyIn(world, partitionOf(world))]: value });

let refs = 7_000_000;

/** The change feed of a node between two timestamps. */
function feedOf(world: World, after: number, upTo: number): readonly ChangedTx[] {
  const [ref, name] = [++refs, { node: V, machine: 'client' }];
  const request = { type: 'ChangesReq', ref, prefix: '', after, waitMs: 0, limitBytes: 10_000 } as const;
  world.inject({ node: V, machine: 'feeds' }, name, request);
  world.until(() => world.answer(V, ref) !== undefined, 10_000);
  const answer = world.answer(V, ref)!;
  if (answer.type !== 'ChangesResp' || answer.to < upTo) throw new Error(JSON.stringify(answer));
  return answer.transactions;
}

describe('PaRiS: late writes', () => {
  it('a put that a returned node commits again yields to what was written meanwhile, at every replica (F9)', () => {
    const world = settled({ settings: SETTINGS });
    const first = dies(world, id(1), '"draft"');
    writes(world, '"published"');
    const again = returns(world, id(1));
    expect(again.map(({ at }) => at)).toEqual([first, first]);
    expect(again[0]!.ts).toBeGreaterThan(first);
    expect(documents(world)).toEqual(['"published"', '"published"']);
  });

  it('a late put takes effect where the document was changed at no later time (F9)', () => {
    const world = settled({ settings: SETTINGS });
    writes(world, '"old"');
    world.run(200);
    dies(world, id(1), '"draft"');
    returns(world, id(1));
    expect(documents(world)).toEqual(['"draft"', '"draft"']);
  });

  it('a put that is committed again in a keyspace with late: order replaces what was written meanwhile (F9)', () => {
    const world = settled({ settings: SETTINGS, lateInOrder: ['default'] });
    dies(world, id(1), '"draft"');
    writes(world, '"published"');
    expect(returns(world, id(1)).map(({ at }) => at)).toEqual([undefined, undefined]);
    expect(documents(world)).toEqual(['"draft"', '"draft"']);
  });

  it('writes that are committed again keep their order, however long after their first timestamps each of them is (F9)', () => {
    const world = settled({ settings: SETTINGS });
    const [first, second] = [dies(world, id(1), '"draft"', [id(2), '"corrected"']), id(2)];
    const again = returns(world, second);
    expect(again.every(({ at, ts }) => at! > first && at! < ts)).toBe(true);
    expect(versionsBy(world, id(1)).map(({ at }) => at)).toEqual([first, first]);
    expect(documents(world)).toEqual(['"corrected"', '"corrected"']);
  });

  it('a late update applies at its new timestamp, and a late claim loses to a claim decided meanwhile (F7, F9)', () => {
    const claims = (value: string) => update({ op: 'init', value });
    const world = settled({ settings: SETTINGS });
    dies(world, id(1), claims('ireland'));
    const winner = writes(world, claims('virginia'));
    const [{ ts }] = returns(world, id(1)) as [StoredVersion];
    expect(documents(world)).toEqual(['"virginia"', '"virginia"']);
    const [node] = replicasOf(world, partitionOf(world));
    const shown = world.node(node!).store.read(partitionOf(world), keyIn(world, partitionOf(world)), ts);
    expect(shown).toMatchObject({ ts, txId: id(1), origin: { txId: winner.txId } });

    const other = settled({ settings: SETTINGS });
    writes(other, '[]');
    other.run(200);
    dies(other, id(1), update({ op: 'append', path: '', items: ['late'] }));
    writes(other, update({ op: 'append', path: '', items: ['meanwhile'] }));
    returns(other, id(1));
    expect(documents(other)).toEqual(['["meanwhile","late"]', '["meanwhile","late"]']);
  });

  it('a put that its session commits again is judged by the first timestamp that the session names (F9, M10)', () => {
    const world = settled({ settings: SETTINGS });
    const partition = partitionOf(world);
    const first = dies(world, id(1), '"draft"');
    writes(world, '"published"');
    world.run(1_000);
    const sent = [{ key: keyIn(world, partition), value: '"draft"' }];
    const again = { ...commitOver(world, id(1), [partition]), writes: sent, sentAfter: first - 1, snapshot: first - 1 };
    const request = { ...again, attemptRegions: ['ireland', 'ireland'], maps: [0, 1], first };
    const { ct } = world.call(V, request, 'CommitResp');
    world.until(() => [V, O].every((node) => world.node(node).parts.stable.value >= ct), 5_000);
    expect(versionsBy(world, id(1)).find(({ ts }) => ts === ct)).toMatchObject({ at: first });
    const { store } = world.node([V, O].find((node) => replicasOf(world, partition).includes(node))!);
    expect(store.read(partition, keyIn(world, partition), ct)?.value).toBe('"published"');
  });

  it('a replica that lost its disk judges late writes as before, by the times in its copy (F9, D10b)', () => {
    const world = settled({ settings: SETTINGS });
    const first = dies(world, id(1), '"draft"');
    returns(world, id(1));
    const [node] = replicasOf(world, partitionOf(world)) as [NodeId];
    loseDisk(world, node);
    world.until(recovered(world, node), 30_000);
    expect(versionsBy(world, id(1)).map(({ at }) => at)).toEqual([first, first]);
    expect(documents(world)).toEqual(['"draft"', '"draft"']);
  });

  it('the change feed leaves out a late write without effect (F9, CF1)', () => {
    const world = settled({ settings: { ...SETTINGS, retentionMs: 100, maxTransactionMs: 100 } });
    const after = world.node(V).parts.stable.value;
    dies(world, id(1), '"draft"');
    const { ct } = writes(world, '"published"');
    const [{ ts }] = returns(world, id(1)) as [StoredVersion];
    expect(feedOf(world, after, ts).map((one) => one.ct)).toEqual([ct]);
    const isCollected = (node: NodeId) =>
      world.node(node).parts.replicas.some(({ replication }) => replication.gcFloor > ts);
    world.until(() => replicasOf(world, partitionOf(world)).every(isCollected), 5_000);
    expect(feedOf(world, after, ts).map((one) => one.ct)).toEqual([ct]);
  });

  it('a reader begins anew where no version shows any more which late writes have an effect (F9, CF1)', () => {
    const world = settled({ settings: { ...SETTINGS, retentionMs: 100, maxTransactionMs: 100 } });
    const after = world.node(V).parts.stable.value;
    dies(world, id(1), '"draft"');
    writes(world, '"published"');
    const [late] = returns(world, id(1)) as [StoredVersion];
    const { ct } = writes(world, '"revised"');
    const isCollected = (node: NodeId) =>
      world.node(node).parts.replicas.some(({ replication }) => replication.gcFloor > ct);
    world.until(() => replicasOf(world, partitionOf(world)).every(isCollected), 5_000);
    expect(() => feedOf(world, after, ct)).toThrow('CHANGES_GONE');
    expect(feedOf(world, late.ts, ct).map((one) => one.ct)).toEqual([ct]);
  });
});
