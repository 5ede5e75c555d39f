/** Claims about transactions whose cohorts are all on the coordinator's node (P11). */
import { type DurableRecord, packWall, type TxId } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import type { World } from '@isochron/testing/world/world';

const V = 'virginia-1';
const HERE = [0, 3];

/** The records that a node's disk takes from now on. */
function recordsOf(world: World, node: string): DurableRecord[] {
  const { store } = world.node(node);
  const records: DurableRecord[] = [];
  const apply = store.apply.bind(store);
  store.apply = (record) => {
    records.push(record);
    apply(record);
  };
  return records;
}

/** The partitions whose cohort has committed the transaction, and at which timestamps. */
const committed = (world: World, txId: TxId, partitions = HERE) =>
  partitions.flatMap((partition) => {
    const end = world.node(V).store.end(partition, txId);
    return end?.status === 'committed' ? [end.ts] : [];
  });

/** Whether a record holds a slice until the decision. */
const isPrepare = (record: DurableRecord): boolean =>
  record.kind === 'prepared' && record.record !== null && record.record.ct === undefined;

describe('PaRiS: one phase on one node (P11)', () => {
  it('a transaction whose cohorts are all on the coordinator’s node is written once, without prepares', () => {
    const world = settled({ syncMs: 20 });
    const records = recordsOf(world, V);
    const { ct } = world.call(V, commitOver(world, id(0), HERE), 'CommitResp');
    world.run(100);
    const own = records.filter((record) => JSON.stringify(record).includes(id(0)));
    expect(own.map(({ kind }) => kind)).toEqual(['prepared', 'prepared', 'applied', 'applied']);
    expect(own.flatMap((record) => (record.kind === 'prepared' ? record.record?.ct : []))).toEqual([ct, ct]);
    expect(committed(world, id(0))).toEqual([ct, ct]);
  });

  it('a transaction with a cohort on another node is prepared', () => {
    const world = settled();
    const records = recordsOf(world, V);
    world.call(V, commitOver(world, id(0), [0, 1, 3]), 'CommitResp');
    expect(records.filter(isPrepare)).toHaveLength(2);
  });

  it('a transaction of one node that is coordinated elsewhere is prepared', () => {
    const world = settled();
    const records = recordsOf(world, V);
    world.call('oregon-1', commitOver(world, id(0), HERE), 'CommitResp');
    expect(records.some(isPrepare)).toBe(true);
  });

  it('a crash at any moment leaves all slices of a one-phase commit or none, and all of an answered one', () => {
    let [whole, none] = [0, 0];
    for (let afterMs = 0; afterMs < 45; afterMs++) {
      const world = settled({ syncMs: 20 });
      const ref = world.ask(V, commitOver(world, id(0), HERE));
      world.run(afterMs);
      const answer = world.answer(V, ref);
      world.crash(V);
      world.restart(V);
      const slices = committed(world, id(0));
      expect([0, HERE.length]).toContain(slices.length);
      if (answer?.type === 'CommitResp') expect(slices).toEqual([answer.ct, answer.ct]);
      if (slices.length > 0) whole++;
      else none++;
    }
    expect([whole > 0, none > 0]).toEqual([true, true]);
  });

  it('a one-phase commit is answered when its batch is on disk, not before', () => {
    const world = settled();
    world.diskMs.set(V, Number.POSITIVE_INFINITY);
    const ref = world.ask(V, commitOver(world, id(0), HERE));
    world.run(200);
    expect([world.answer(V, ref), committed(world, id(0))]).toEqual([undefined, []]);
    world.diskMs.set(V, 1);
    world.run(20);
    const answer = world.answer(V, ref);
    expect(answer?.type).toBe('CommitResp');
    expect(committed(world, id(0))).toHaveLength(2);
  });

  it('a one-phase commit whose batch does not end is OUTCOME_PENDING, and a retry finds it', () => {
    const world = settled();
    world.diskMs.set(V, Number.POSITIVE_INFINITY);
    const ref = world.ask(V, commitOver(world, id(0), HERE));
    world.run(world.settings.commitTimeoutMs + 200);
    expect(world.answer(V, ref)).toMatchObject({ type: 'Refused', code: 'OUTCOME_PENDING' });
    world.diskMs.set(V, 1);
    world.run(20);
    const { ct } = world.call(V, commitOver(world, id(0), HERE), 'CommitResp');
    expect(committed(world, id(0))).toEqual([ct, ct]);
  });

  it('a retry of a one-phase commit finds it at each cohort: before it is on disk, after, elsewhere, after a crash', () => {
    const world = settled({ syncMs: 20 });
    const commit = commitOver(world, id(0), HERE);
    const refs = [world.ask(V, commit), world.ask(V, commit)];
    world.run(5);
    refs.push(world.ask(V, commit));
    world.run(200);
    const answers = refs.map((ref) => world.answer(V, ref));
    const { ct } = world.call(V, commit, 'CommitResp');
    for (const answer of answers) expect(answer).toMatchObject({ type: 'CommitResp', ct });
    expect(world.call('ireland-1', commit, 'CommitResp').ct).toBe(ct);
    world.crash(V);
    world.restart(V);
    world.run(100);
    expect(world.call(V, commit, 'CommitResp').ct).toBe(ct);
    const key = keyIn(world, 0);
    world.until(() => world.ust() >= ct);
    expect(world.node('oregon-1').store.chains.get(`0|${key}`)).toHaveLength(1);
  });

  it('the timestamp of a one-phase commit lies above snapshot, hwt, sentAfter and every published version clock', () => {
    const world = settled();
    for (const [field, at] of [
      ['hwt', packWall(world.now + 1_000)],
      ['sentAfter', packWall(world.now + 2_000)],
    ] as const) {
      const { ct } = world.call(V, { ...commitOver(world, id(at), HERE), [field]: at }, 'CommitResp');
      expect(ct).toBeGreaterThan(at);
    }
    for (let i = 0; i < 20; i++) {
      world.until(() => (world.now - 5) % 5 === 0);
      const clocks = world.node(V).parts.replicas.map(({ replication }) => replication.versionClock);
      const { ct } = world.call(V, commitOver(world, id(i), HERE), 'CommitResp');
      expect(ct).toBeGreaterThan(Math.max(...clocks));
    }
  });

  it('an attempt that one cohort has durably aborted commits at none in one phase', () => {
    const world = settled();
    const commit = commitOver(world, id(0), HERE);
    const identity = { txId: id(0), attempt: 0, home: 'virginia', map: 0, cohorts: HERE };
    world.inject(
      { node: V, machine: 'replica/3' },
      { node: 'oregon-1', machine: 'coordinator' },
      { type: 'ResolveReq', partition: 3, identity, sentAfter: commit.sentAfter },
    );
    expect(world.call(V, commit, 'Refused').code).toBe('TRANSACTION_ABORTED');
    world.run(100);
    expect(HERE.map((partition) => world.node(V).store.outcome(partition, id(0))?.status)).toEqual([
      'aborted',
      'aborted',
    ]);
  });

  it('a commit that another coordinator has prepared is not committed a second time in one phase', () => {
    const world = settled();
    const commit = commitOver(world, id(0), HERE);
    world.filter = ({ message }) => message.type !== 'PrepareResp';
    world.ask('oregon-1', commit);
    world.until(() => world.node(V).store.prepared.size === HERE.length);
    const pts = [...world.node(V).store.prepared.values()].map(({ record }) => record.pt);
    expect(world.call(V, commit, 'CommitResp').ct).toBe(Math.max(...pts));
  });

  it('readers see all of a one-phase commit or none of it (Prop. 4)', () => {
    const world = settled();
    const [a, b] = HERE.map((partition) => keyIn(world, partition)) as [string, string];
    for (let i = 1; i < 30; i++) {
      world.ask(V, commitOver(world, id(i), HERE, String(i)));
      for (const node of world.topology.nodes) {
        const [one, other] = new TestClient(world, node).readOnce(a, b);
        expect(one).toBe(other);
      }
      world.run(3);
    }
  });

  it('the log entries of a one-phase commit name its other partitions on the node (D10)', () => {
    const world = settled();
    const records = recordsOf(world, V);
    world.call(V, commitOver(world, id(0), HERE), 'CommitResp');
    world.run(100);
    const siblings = records.flatMap((record) =>
      record.kind === 'applied' ? [[record.partition, record.tx.siblings]] : [],
    );
    expect(siblings).toEqual([
      [0, [3]],
      [3, [0]],
    ]);
  });
});
