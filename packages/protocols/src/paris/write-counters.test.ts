/** Claims about commits of queues, whose counters outlive their outcomes (OF1–OF3). */
import { counterKey, type PartitionId, type Timestamp } from '@isochron/core';
import { keyIn } from '@isochron/testing/world/clients';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import { loseDisk, recovered } from '@isochron/testing/world/lost-disks';
import { cohortOn, deferredAt, I, mapsOf, O, SETTINGS, suspends, V } from '@isochron/testing/world/suspensions';
import type { World } from '@isochron/testing/world/world';
import { FEEDS_MACHINE } from '../kernel/feeds/messages.js';

const QUEUE = 'q'.repeat(22);
const SHORT = { outcomeRetentionMs: 1_000 };
const counted = (world: World, n: number, partitions: number[], value = String(n)) => ({
  ...commitOver(world, id(n), partitions, value),
  queue: { id: QUEUE, n },
});

const chain = (world: World, node: string, partition: PartitionId, key: string) =>
  world.node(node).store.chains.get(`${partition}|${key}`) ?? [];
const counterChain = (world: World, node: string, partition: PartitionId) =>
  chain(world, node, partition, counterKey(partition, 'anonymous', QUEUE));
const timestamps = (world: World, node: string, partition: PartitionId) =>
  chain(world, node, partition, keyIn(world, partition)).map(({ ts }) => ts);

const cohortOf = ({ topology }: World, partition: PartitionId) => topology.cohort(partition, 'virginia').node;

/** Commits over Virginia and Ireland; the node of Ireland dies, and a map defers the commit. */
function deferredCommit(world: World) {
  const partitions = [cohortOn(world, V), cohortOn(world, I)].sort((a, b) => a - b);
  world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
  const request = counted(world, 1, partitions);
  const { ct } = world.call(V, request, 'CommitResp');
  world.run(50);
  world.crash(I);
  suspends(world);
  world.until(() => world.node(V).parts.stable.value > ct, 2_000);
  return { request, partitions, ct };
}

/** Runs until all replicas have dropped the outcomes up to a timestamp. */
const dropsOutcomes = (world: World, ct: Timestamp) =>
  world.until(
    () => [V, O, I].every((node) => world.node(node).parts.replicas.every(({ droppedUpTo }) => droppedUpTo > ct)),
    150_000,
  );

describe('PaRiS: write counters (OF1, OF2)', () => {
  it('a counted commit writes its counter in each partition, in the same version of the cluster (OF1)', () => {
    const world = settled();
    const { ct } = world.call(V, counted(world, 1, [0, 1]), 'CommitResp');
    world.until(() => world.ust() >= ct);
    for (const partition of [0, 1])
      for (const region of world.topology.partitions[partition]!.regions) {
        const node = world.topology.replicaNode(partition, region)!;
        const [version] = counterChain(world, node, partition);
        expect(version).toMatchObject({ ts: ct, txId: id(1), value: `{"n":1,"tx":"${id(1)}"}` });
      }
  });

  it('a counted commit of one partition, and one of one node, stays in one phase (OF1, P11)', () => {
    const world = settled();
    world.call(V, counted(world, 1, [0]), 'CommitResp');
    world.call(V, counted(world, 2, [0, 3]), 'CommitResp');
    expect(world.node(V).parts.coordinator.commits.onePhase.counters.onePhaseCommits).toBe(1);
    world.run(100);
    expect(counterChain(world, V, 0)).toHaveLength(2);
    expect(counterChain(world, V, 3)).toHaveLength(1);
  });

  it('no client writes a counter, and no feed shows one (OF1)', () => {
    const world = settled();
    const from = world.ust();
    const { ct } = world.call(V, counted(world, 1, [0]), 'CommitResp');
    const forged = { ...commitOver(world, id(2), []), writes: [{ key: counterKey(0, 'ann', QUEUE), value: '{}' }] };
    expect(world.call(V, forged, 'Refused').code).toBe('KEYSPACE_UNKNOWN');
    world.until(() => world.ust() >= ct);
    const request = { type: 'ChangesReq', ref: 900, prefix: '', after: from, waitMs: 5_000, limitBytes: 1e6 } as const;
    world.inject({ node: V, machine: FEEDS_MACHINE }, { node: V, machine: 'client' }, request);
    world.until(() => world.answer(V, 900) !== undefined);
    const answer = world.answer(V, 900);
    const transactions = answer?.type === 'ChangesResp' ? answer.transactions : [];
    expect(transactions.flatMap(({ writes }) => writes.map(({ key }) => key))).toEqual([keyIn(world, 0)]);
    expect([world.topology.hasKeyspace('~'), world.topology.keyspaces]).toEqual([false, ['default']]);
  });

  it('a commit whose outcome was dropped is answered with its timestamp, and not made again (OF2)', () => {
    // Of one partition, of one node, of several nodes.
    for (const over of [[0], [0, 3], [0, 1, 2]]) {
      const world = settled({ settings: SHORT });
      const commit = counted(world, 1, over);
      const { ct } = world.call(V, commit, 'CommitResp');
      dropsOutcomes(world, ct);
      for (const node of [V, O, I])
        expect(world.call(node, commit, 'CommitResp')).toMatchObject({ ct, upTo: undefined });
      world.run(2_000);
      for (const partition of over) expect(timestamps(world, cohortOf(world, partition), partition)).toEqual([ct]);
    }
  });

  it('a commit that no cohort has is made, after outcomes of its time were dropped (OF2)', () => {
    const world = settled({ settings: SHORT });
    world.call(V, counted(world, 1, [0, 1]), 'CommitResp');
    const commit = counted(world, 2, [0, 1]);
    dropsOutcomes(world, commit.sentAfter + 1);
    const { ct } = world.call(V, commit, 'CommitResp');
    world.run(1_000);
    expect(world.call(V, commit, 'CommitResp').ct).toBe(ct);
    expect(counterChain(world, V, 0).map(({ value }) => JSON.parse(String(value)).n)).toContain(2);
  });

  it('a later number shows an earlier commit: its timestamp lies at or below that of the answer (OF2)', () => {
    const world = settled({ settings: SHORT });
    const first = counted(world, 1, [0, 1]);
    const { ct } = world.call(V, first, 'CommitResp');
    const later = world.call(V, { ...counted(world, 2, [0]), hwt: ct }, 'CommitResp');
    dropsOutcomes(world, later.ct);
    const again = world.call(O, first, 'CommitResp');
    expect(again.ct).toBeGreaterThanOrEqual(ct);
    expect(again.ct).toBeLessThan(later.ct);
    if (again.upTo !== true) expect(again.ct).toBe(ct);
    const alone = world.call(O, { ...counted(world, 1, [0]), txId: id(9) }, 'CommitResp');
    expect(alone).toMatchObject({ ct: later.ct - 1, upTo: true });
  });

  it('an undecided commit of a later number shows that an earlier one is decided (OF2)', () => {
    const world = settled({ settings: SHORT });
    const first = counted(world, 1, [0]);
    const { ct } = world.call(V, first, 'CommitResp');
    dropsOutcomes(world, ct);
    world.filter = ({ message, to }) =>
      message.type !== 'CommitTx' && !(to.node === O && message.type === 'PrepareReq');
    world.ask(V, counted(world, 2, [0, cohortOn(world, O)]));
    world.run(100);
    expect(world.call(V, first, 'CommitResp')).toMatchObject({ upTo: true });
  });

  it('another commit with the same number is refused with TX_ID_REUSED: the store of the client was copied (OF2)', () => {
    const world = settled();
    world.call(V, counted(world, 1, [0]), 'CommitResp');
    // Before its versions are on the disk, and after that.
    for (const ms of [0, 1_000]) {
      world.run(ms);
      const copy = { ...counted(world, 1, [0]), txId: id(2 + ms) };
      expect(world.call(V, copy, 'Refused').code).toBe('TX_ID_REUSED');
    }
  });

  it('an earlier attempt whose outcome was dropped is found by its counter, by the next attempt (OF2, D4)', () => {
    const world = settled({ settings: SHORT });
    const commit = counted(world, 1, [0, 1]);
    const { ct } = world.call(V, commit, 'CommitResp');
    dropsOutcomes(world, ct);
    const next = { ...commit, attemptRegions: ['virginia', 'oregon'] };
    expect(world.call(O, next, 'CommitResp').ct).toBe(ct);
    expect(timestamps(world, V, 0)).toEqual([ct]);
  });

  it('an earlier attempt that no cohort has gets its tombstone, whatever outcomes were dropped (OF2, D4)', () => {
    const world = settled({ settings: SHORT });
    const commit = counted(world, 1, [0]);
    dropsOutcomes(world, commit.sentAfter + 1);
    const next = { ...commit, attemptRegions: ['virginia', 'oregon'] };
    const { ct } = world.call(O, next, 'CommitResp');
    expect(world.call(V, next, 'CommitResp').ct).toBe(ct);
    expect(world.call(V, commit, 'Refused').code).toBe('TRANSACTION_ABORTED');
    world.until(() => world.ust() >= ct);
    expect(timestamps(world, V, 0)).toEqual([ct]);
  });

  it('a cohort that has lost its disk finds a counted commit in its copy, and makes another one (OF2, D10)', () => {
    const world = settled();
    const commit = counted(world, 1, [0]);
    const { ct } = world.call(V, commit, 'CommitResp');
    world.until(() => world.ust() >= ct);
    const other = counted(world, 2, [0]);
    loseDisk(world, V);
    world.until(recovered(world, V), 20_000);
    expect(world.call(V, commit, 'CommitResp').ct).toBe(ct);
    const { ct: second } = world.call(V, other, 'CommitResp');
    expect(timestamps(world, V, 0)).toEqual([ct]);
    world.run(200);
    expect(timestamps(world, V, 0).sort()).toEqual([ct, second]);
  });

  it('a lost disk is settled where it took a part of a counted commit, whose next attempt commits (OF2, D10)', () => {
    const world = settled();
    const partitions = [cohortOn(world, V), cohortOn(world, O)].sort((a, b) => a - b);
    world.filter = ({ message }) => message.type !== 'CommitTx' && message.type !== 'PrepareResp';
    const commit = counted(world, 1, partitions);
    world.ask(V, commit);
    world.run(100);
    loseDisk(world, O);
    world.filter = () => true;
    world.until(recovered(world, O), 20_000);
    const next = { ...commit, attemptRegions: ['virginia', 'virginia'] };
    const { ct } = world.call(V, next, 'CommitResp');
    world.until(() => world.ust() >= ct);
    for (const partition of partitions) expect(timestamps(world, cohortOf(world, partition), partition)).toEqual([ct]);
  });

  it('a deferred commit is committed again with its counter, and found by it later (OF2, M8)', () => {
    const world = settled({ settings: { ...SETTINGS, ...SHORT } });
    const { request, partitions, ct } = deferredCommit(world);
    expect(deferredAt(world, V)).toEqual([id(1)]);
    const { version } = mapsOf(world, V).current;
    const again = { ...request, attemptRegions: ['virginia', 'virginia'], maps: [0, version] };
    const second = world.call(V, again, 'CommitResp');
    expect(second.ct).toBeGreaterThan(ct);
    world.until(() => world.node(V).parts.stable.value > second.ct, 5_000);
    const [partition] = partitions;
    expect(counterChain(world, V, partition!).map(({ ts }) => ts)).toEqual([second.ct]);
    expect(world.call(O, again, 'CommitResp').ct).toBe(second.ct);
  });
});

/** The question about the end of a commit. */
const settling = (world: World, { txId, queue, sentAfter, attemptRegions }: ReturnType<typeof counted>) => ({
  type: 'SettleCommitReq' as const,
  txId,
  queue,
  sentAfter,
  attemptRegions,
  principal: 'anonymous',
  keys: [keyIn(world, 0), keyIn(world, 1)],
});

describe('PaRiS: settled commits (OF3)', () => {
  it('a commit that has taken effect is settled at its timestamp, whether outcomes are kept or dropped (OF3)', () => {
    for (const settings of [{}, SHORT]) {
      const world = settled({ settings });
      const commit = counted(world, 1, [0, 1]);
      const { ct } = world.call(V, commit, 'CommitResp');
      if (settings === SHORT) dropsOutcomes(world, ct);
      for (const node of [V, O, I])
        expect(world.call(node, settling(world, commit), 'SettleCommitResp')).toMatchObject({ ct, upTo: undefined });
    }
  });

  it('a commit that is settled as aborted never commits, whether outcomes of its time are kept or dropped (OF3)', () => {
    for (const settings of [{}, SHORT]) {
      const world = settled({ settings });
      const commit = { ...counted(world, 1, [0, 1]), attemptRegions: ['virginia', 'oregon'] };
      if (settings === SHORT) dropsOutcomes(world, commit.sentAfter + 1);
      expect(world.call(I, settling(world, commit), 'SettleCommitResp').ct).toBeNull();
      for (const node of [V, O]) {
        world.crash(node);
        world.restart(node);
      }
      world.run(200);
      expect(world.call(V, commit, 'Refused').code).toBe('TRANSACTION_ABORTED');
      expect(world.call(V, { ...commit, attemptRegions: ['virginia'] }, 'Refused').code).toBe('TRANSACTION_ABORTED');
      expect(timestamps(world, V, 0)).toEqual([]);
    }
  });

  it('while a cohort of a prepared attempt does not answer, its end is OUTCOME_PENDING (OF3)', () => {
    const world = settled({ settings: { commitTimeoutMs: 1_000 } });
    const [here, there] = [cohortOn(world, V), cohortOn(world, O)];
    const commit = counted(world, 1, [here, there]);
    world.filter = ({ message }) => message.type !== 'CommitTx' && message.type !== 'PrepareResp';
    world.ask(V, commit);
    world.run(100);
    world.crash(O);
    const keys = [here, there].map((partition) => keyIn(world, partition));
    const request = { ...settling(world, commit), keys };
    expect(world.call(I, request, 'Refused').code).toBe('OUTCOME_PENDING');
    world.filter = () => true;
    world.restart(O);
    world.run(5_000);
    expect(world.call(I, request, 'SettleCommitResp').ct).not.toBeNull();
  });

  it('only answers of the cohorts that were asked settle a commit (OF3, D12)', () => {
    const world = settled();
    const commit = counted(world, 1, [0]);
    const { ct } = world.call(V, commit, 'CommitResp');
    world.filter = ({ message }) => message.type !== 'ResolveResp';
    const ref = world.ask(O, { ...settling(world, commit), keys: [keyIn(world, 0)] });
    const forged = { type: 'ResolveResp', txId: id(1), attempt: 0, partition: 0, state: 'aborted', ts: 0 } as const;
    world.inject({ node: O, machine: 'coordinator' }, { node: I, machine: 'replica/0' }, forged);
    world.run(100);
    expect(world.answer(O, ref)).toBeUndefined();
    world.filter = () => true;
    world.until(() => world.answer(O, ref) !== undefined);
    expect(world.answer(O, ref)).toMatchObject({ type: 'SettleCommitResp', ct });
  });

  it('a deferred transaction is not settled before it is committed again (OF3, M7)', () => {
    const world = settled({ settings: SETTINGS });
    const { request, partitions } = deferredCommit(world);
    const keys = partitions.map((partition) => keyIn(world, partition));
    expect(world.call(V, { ...settling(world, request), keys }, 'Refused').code).toBe('OUTCOME_PENDING');
    const { version } = mapsOf(world, V).current;
    const again = { ...request, attemptRegions: ['virginia', 'virginia'], maps: [0, version] };
    const second = world.call(V, again, 'CommitResp');
    const settle = { ...settling(world, again), keys, maps: [0, version] };
    expect(world.call(V, { type: 'TxStatusReq', txId: id(1) }, 'TxStatusResp')).toMatchObject({ ts: second.ct });
    expect(world.call(V, settle, 'Refused').code).toBe('OUTCOME_PENDING');
  });
});
