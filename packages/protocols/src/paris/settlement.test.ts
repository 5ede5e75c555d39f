/**
 * Claims about transactions of which a lost disk has taken a part (D10): all or nothing of them is left, and they are
 * reported.
 */

import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { THREE_COHORTS, without } from '@isochron/testing/world/lost-cohorts';
import { joined, loseDisk, recovered } from '@isochron/testing/world/lost-disks';
import { PlainStore } from '@isochron/testing/world/plain-store';
import { World } from '@isochron/testing/world/world';
import type { TransactionMessage } from '../kernel/transactions/messages.js';
import type { Envelope } from '../machine.js';

const V = 'virginia-1';
const O = 'oregon-1';
const I = 'ireland-1';
const ALL = [V, O, I];

const PARTITIONS = [0, 1, 2, 3, 4, 5];

/** Virginia's replication messages are lost in transit. */
const silent = ({ message, from }: Envelope<TransactionMessage>): boolean =>
  from.node !== V || !['Replicate', 'Heartbeat'].includes(message.type);

/**
 * A transaction on all partitions, committed at home in virginia, which has replicated nothing of it when it loses its
 * disk.
 * @param filter the messages that pass from the commit to the loss
 * @param attemptRegions the home regions of its attempts; the last one commits
 */
function torn(
  filter: (envelope: Envelope<TransactionMessage>) => boolean = silent,
  partitions = PARTITIONS,
  attemptRegions = ['virginia'],
) {
  const world = new World({});
  world.run(300);
  new TestClient(world, O).write(Object.fromEntries(PARTITIONS.map((p) => [keyIn(world, p), '"before"'])));
  world.run(300);
  world.filter = filter;
  const client = new TestClient(world, V);
  const tx = client.begin();
  for (const p of partitions) tx.write(keyIn(world, p), '"torn"');
  const request = { ...client.commitRequest(tx), snapshot: client.session.ust, attemptRegions };
  const { ct } = world.call(V, request, 'CommitResp');
  world.run(200);
  loseDisk(world, V);
  return { world, request, ct };
}

/** The same commit again: a later attempt that avoids the node with the lost disk. */
const elsewhere = (world: World, request: ReturnType<TestClient['commitRequest']>) => ({
  ...request,
  snapshot: world.ust(),
  attemptRegions: ['virginia', 'oregon'],
  avoids: [[], ['virginia']],
});

const keysOf = (world: World): string[] => PARTITIONS.map((p) => keyIn(world, p));
const lossesOf = (world: World, node: string) => world.node(node).parts.losses.all;
const settled = (world: World) => () => joined(world, V)() && world.node(V).parts.membership.settled;
const statusOf = (world: World, node: string, txId: string): string =>
  world.call(node, { type: 'TxStatusReq', txId }, 'TxStatusResp').status;
/** Whether any replica has a version of the transaction. */
const leftOn = (world: World, txId: string): string[] =>
  ALL.filter((node) => [...world.node(node).store.chains.values()].flat().some((version) => version.txId === txId));

describe('D10: a transaction of which a lost disk took a part', () => {
  it('a partly lost transaction is taken back everywhere: readers in every region see the versions before it', () => {
    const { world, request } = torn();
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    world.run(500);
    expect(leftOn(world, request.txId)).toEqual([]);
    for (const node of ALL)
      expect(new TestClient(world, node).readOnce(...keysOf(world))).toEqual(PARTITIONS.map(() => '"before"'));
  });

  it('a partly lost transaction is reported on every node, with its keys and the node that lost it, through a restart of all', () => {
    const { world, request, ct } = torn();
    world.filter = () => true;
    world.until(settled(world), 20_000);
    for (const node of ALL) {
      world.crash(node);
      world.restart(node);
    }
    for (const node of ALL) {
      const [loss, ...others] = lossesOf(world, node);
      expect(others).toEqual([]);
      expect(loss).toMatchObject({ txId: request.txId, ts: ct, node: V, committed: true, takenBack: true });
      expect([...loss!.partitions, ...loss!.keys.map((key) => world.topology.partitionOf(key))].sort()).toEqual(
        PARTITIONS,
      );
    }
  });

  it('a partly lost transaction is reported by a node that has lost its disk since, too', () => {
    const { world, request, ct } = torn();
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    world.until(() => world.ust() > ct, 5_000);
    loseDisk(world, O);
    world.until(() => joined(world, O)() && world.node(O).parts.membership.settled, 20_000);
    expect(lossesOf(world, O)).toMatchObject([{ txId: request.txId, ts: ct, node: V, acknowledged: false }]);
    world.crash(O);
    world.restart(O);
    expect(lossesOf(world, O)).toHaveLength(1);
  });

  it('a partly lost transaction is called lost by every node from then on, and never committed', () => {
    const { world, request } = torn();
    world.filter = () => true;
    world.until(joined(world, V), 20_000);
    while (!settled(world)()) {
      expect(['pending', 'unknown', 'lost']).toContain(statusOf(world, O, request.txId));
      world.run(20);
    }
    world.until(recovered(world, V), 20_000);
    for (const node of ALL) expect(statusOf(world, node, request.txId)).toBe('lost');
  });

  it('a transaction whose later attempt commits after a lost disk took the first one is committed, and no loss', () => {
    const { world, request } = torn();
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    for (const node of ALL) expect(lossesOf(world, node)).toHaveLength(1);
    const again = elsewhere(world, request);
    const { ct } = world.call(O, again, 'CommitResp');
    world.until(() => world.ust() > ct, 5_000);
    world.run(5_000);
    for (const node of ALL) {
      expect([node, statusOf(world, node, request.txId), lossesOf(world, node)]).toEqual([node, 'committed', []]);
      expect(new TestClient(world, node).readOnce(...keysOf(world))).toEqual(PARTITIONS.map(() => '"torn"'));
      world.crash(node);
      world.restart(node);
      expect(lossesOf(world, node)).toEqual([]);
    }
  });

  it('a partly lost transaction whose later attempt is prepared is pending, not lost', () => {
    const { world, request } = torn();
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    const again = elsewhere(world, request);
    world.filter = ({ message }) => message.type !== 'PrepareResp';
    world.ask(O, again);
    world.until(() => world.node(O).store.prepared.size > 0, 2_000);
    expect(statusOf(world, O, request.txId)).toBe('pending');
  });

  it('a node that cannot ask every replica does not call a partly lost transaction lost: one may have committed it', () => {
    const { world, request } = torn();
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    const again = elsewhere(world, request);
    world.call(O, again, 'CommitResp');
    world.crash(O);
    expect(['pending', 'unknown']).toContain(statusOf(world, I, request.txId));
  });

  it('a partly lost transaction is taken back where its only survivors are slices of the same node that were replicated', () => {
    const passes = (envelope: Envelope<TransactionMessage>): boolean => silent(envelope) || envelope.to.node === O;
    const { world, request } = torn(passes, new World({}).topology.partitionsOn(V));
    expect(leftOn(world, request.txId)).toEqual([O]);
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    world.run(500);
    expect(leftOn(world, request.txId)).toEqual([]);
    expect(statusOf(world, I, request.txId)).toBe('lost');
  });

  it('a partly lost transaction is taken back where it was only received, and the cohort there has lost its disk, too', () => {
    const world = new World({ spec: THREE_COHORTS });
    world.run(100);
    const [b, x] = [1, 2].map((p) => world.topology.replicaNode(p, 'virginia')!) as [string, string];
    const isSilent = without('Replicate', 'Heartbeat');
    world.filter = (envelope) => envelope.from.node !== x || isSilent(envelope);
    const client = new TestClient(world, O);
    const tx = client.begin();
    for (const p of [0, 1, 2]) tx.write(keyIn(world, p), '"torn"');
    const request = { ...client.commitRequest(tx), attemptRegions: ['virginia'] };
    world.call(O, request, 'CommitResp');
    world.run(200);
    const left = () =>
      world.topology.nodes.filter((node) =>
        [...world.node(node).store.chains.values()].flat().some(({ txId }) => txId === request.txId),
      );
    expect(left().length).toBeGreaterThan(3);
    for (const node of [b, x]) loseDisk(world, node);
    world.filter = () => true;
    for (const node of [b, x]) world.until(recovered(world, node), 20_000);
    world.run(500);
    expect(left()).toEqual([]);
  });

  it('a partly lost transaction of a later attempt is taken back with the slices that came back with the copy', () => {
    const passes = (envelope: Envelope<TransactionMessage>): boolean => silent(envelope) || envelope.to.node === O;
    const { world, request } = torn(passes, PARTITIONS, ['virginia', 'virginia']);
    expect(leftOn(world, request.txId)).toEqual([O, I]);
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    world.run(500);
    expect(leftOn(world, request.txId)).toEqual([]);
    for (const node of ALL)
      expect(lossesOf(world, node)).toMatchObject([{ txId: request.txId, attempt: 1, committed: true }]);
  });

  it('a partly lost transaction is reported as committed where the copied slices alone show it, and survivors have prepared it', () => {
    const passes = (envelope: Envelope<TransactionMessage>): boolean =>
      envelope.message.type !== 'CommitTx' && (silent(envelope) || envelope.to.node === O);
    const { world, request, ct } = torn(passes, PARTITIONS, ['virginia', 'virginia']);
    expect(leftOn(world, request.txId)).toEqual([O]);
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    world.run(500);
    expect(leftOn(world, request.txId)).toEqual([]);
    for (const node of ALL)
      expect(lossesOf(world, node)).toMatchObject([{ txId: request.txId, attempt: 1, committed: true, ts: ct }]);
    expect(world.node(I).parts.replicas.every(({ undecided }) => !undecided)).toBe(true);
  });

  it('a partly lost transaction holds stable time below it until every node has stored the verdict', () => {
    const { world, request, ct } = torn();
    const verdict = ({ message, to }: Envelope<TransactionMessage>) => message.type !== 'TakeBackReq' || to.node !== I;
    world.filter = verdict;
    world.until(() => joined(world, V)() && lossesOf(world, O).length > 0, 20_000);
    world.run(3_000);
    for (const node of ALL) expect(world.node(node).parts.stable.value).toBeLessThan(ct);
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    expect(leftOn(world, request.txId)).toEqual([]);
  });

  it('a partly lost transaction is settled although the node crashes in the middle of the settlement', () => {
    const { world, request } = torn();
    world.filter = without('TakeBackResp');
    world.until(() => lossesOf(world, O).length > 0, 20_000);
    world.crash(V);
    world.filter = () => true;
    world.restart(V);
    world.until(recovered(world, V), 20_000);
    world.run(500);
    expect(leftOn(world, request.txId)).toEqual([]);
    for (const node of ALL) expect(lossesOf(world, node)).toHaveLength(1);
  });

  it('a settlement has the same result when the node loses its disk once more in the middle of it', () => {
    const { world, request } = torn();
    // Oregon has taken back its slices, ireland has not.
    world.filter = ({ message, to }) => message.type !== 'TakeBackReq' || to.node !== I;
    world.until(() => lossesOf(world, O).length > 0, 20_000);
    loseDisk(world, V);
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    world.run(500);
    expect(leftOn(world, request.txId)).toEqual([]);
    for (const node of ALL) expect(lossesOf(world, node)).toHaveLength(1);
  });

  it('a partly lost transaction is not brought back by a replication that was in transit', () => {
    const held: Envelope<TransactionMessage>[] = [];
    const { world, request, ct } = torn((envelope) => {
      // Oregon's replication to ireland is late.
      if (envelope.message.type === 'Replicate' && envelope.from.node === O && envelope.to.node === I)
        held.push(envelope);
      return silent(envelope) && !(held.at(-1) === envelope);
    });
    world.filter = () => true;
    world.until(settled(world), 20_000);
    for (const { to, from, message } of held) world.inject(to, from, message);
    world.run(500);
    expect(held.some(({ message }) => message.type === 'Replicate' && message.groups.some((g) => g.ct === ct))).toBe(
      true,
    );
    expect(leftOn(world, request.txId)).toEqual([]);
  });

  it('a transaction whose slices came back with the copy is no loss: nothing is taken back', () => {
    const { world, request, ct } = torn(() => true);
    world.until(recovered(world, V), 20_000);
    world.run(500);
    for (const node of ALL) expect(lossesOf(world, node)).toEqual([]);
    expect(world.call(O, request)).toMatchObject({ type: 'CommitResp', ct });
    for (const node of ALL)
      expect(new TestClient(world, node).readOnce(...keysOf(world))).toEqual(PARTITIONS.map(() => '"torn"'));
  });

  it('a prepared slice waits for the verdict: a late commit message decides nothing', () => {
    const { world, request } = torn((envelope) => without('CommitTx', 'ResolveReq')(envelope) && silent(envelope));
    world.filter = without('TakeBackReq', 'ResolveReq');
    const suspended = () =>
      world.sent.some(({ message }) => message.type === 'SuspectsResp' && message.suspects.length > 0);
    world.until(suspended, 20_000);
    const { store } = world.node(O);
    const before = store.prepared.size;
    expect(before).toBeGreaterThan(0);
    for (const { partition } of store.prepared.values()) {
      world.inject(
        { node: O, machine: `replica/${partition}` },
        { node: V, machine: 'coordinator' },
        { type: 'CommitTx', partition, txId: request.txId, attempt: 0, ct: world.node(O).parts.clock.last + 5 },
      );
    }
    world.run(100);
    expect(store.prepared.size).toBe(before);
    world.filter = () => true;
    world.until(recovered(world, V), 20_000);
    expect([...store.outcomes.values()].map(({ status }) => status)).toContain('aborted');
    expect(lossesOf(world, I)).toMatchObject([{ txId: request.txId, committed: false }]);
  });

  it('a settlement leaves no prepare of a slice that was committed and not written yet', () => {
    const world = new World({ spec: THREE_COHORTS });
    world.run(100);
    const [a, x] = [0, 2].map((p) => world.topology.replicaNode(p, 'virginia')!) as [string, string];
    const ask = (...partitions: number[]): number => {
      const client = new TestClient(world, O);
      const tx = client.begin();
      for (const p of partitions) tx.write(keyIn(world, p), '"torn"');
      return world.ask(O, { ...client.commitRequest(tx), attemptRegions: ['virginia'] });
    };
    // The undecided transaction at a holds back later commits there.
    world.filter = (envelope) => envelope.to.node !== x || envelope.message.type !== 'PrepareReq';
    ask(0, 2);
    world.run(20);
    world.filter = (envelope) =>
      without('ResolveReq')(envelope) && (envelope.from.node !== x || without('Replicate', 'Heartbeat')(envelope));
    const ref = ask(0, 1, 2);
    world.until(() => world.answer(O, ref)?.type === 'CommitResp', 1000);
    world.run(50);
    expect(world.node(a).store.prepared.size).toBe(2);
    loseDisk(world, x);
    world.filter = () => true;
    world.until(recovered(world, x), 20_000);
    world.run(5000);
    expect(lossesOf(world, O)).toContainEqual(expect.objectContaining({ committed: true, takenBack: true }));
    expect(world.node(a).store.prepared.size).toBe(0);
  });

  it('a lost disk is settled although other nodes report a transaction that two disks were lost with', () => {
    const world = new World({ spec: THREE_COHORTS });
    world.run(100);
    const [a, b, x] = [0, 1, 2].map((p) => world.topology.replicaNode(p, 'virginia')!) as [string, string, string];
    world.filter = (envelope) => envelope.from.node === O || without('Replicate', 'Heartbeat')(envelope);
    const client = new TestClient(world, O);
    const tx = client.begin();
    for (const p of [0, 1, 2]) tx.write(keyIn(world, p), '"torn"');
    world.call(O, { ...client.commitRequest(tx), attemptRegions: ['virginia'] }, 'CommitResp');
    world.run(50);
    // Both have collected before either has a verdict.
    world.filter = without('TakeBackReq');
    for (const node of [b, x]) world.crash(node);
    world.run(50);
    for (const node of [b, x]) world.restart(node, new PlainStore());
    world.run(5_000);
    world.filter = () => true;
    for (const node of [b, x]) world.until(recovered(world, node), 20_000);
    expect(lossesOf(world, a)).toMatchObject([{ node: b, partitions: [1, 2] }]);
    loseDisk(world, a);
    world.until(recovered(world, a), 20_000);
    expect(lossesOf(world, a)).toMatchObject([{ node: b, partitions: [1, 2] }]);
  });

  it('a partly lost transaction is taken back by a node that has prepared a later attempt of it meanwhile', () => {
    const { world, request } = torn();
    world.filter = ({ message, to }) => message.type !== 'TakeBackReq' || to.node !== I;
    world.until(() => joined(world, V)() && lossesOf(world, O).length > 0, 20_000);
    const verdict = world.filter;
    // Ireland still answers that it has committed the first attempt.
    world.filter = (envelope) =>
      verdict(envelope) && (envelope.from.node !== I || without('ResolveResp', 'PrepareResp')(envelope));
    world.ask(O, elsewhere(world, request));
    world.until(() => world.node(I).store.prepared.size > 0, 2_000);
    expect(leftOn(world, request.txId)).toContain(I);
    world.filter = without('PrepareResp', 'ResolveResp', 'CommitTx');
    world.until(() => lossesOf(world, I).length > 0, 5_000);
    world.run(100);
    expect(leftOn(world, request.txId)).toEqual([]);
  });
});
