/** Claims about lost disks (D10), on a virtual clock. */
import { type ClusterSpec, qualify } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { THREE_COHORTS } from '@isochron/testing/world/lost-cohorts';
import { everywhere, joined, loseDisk, rebuild, recovered, versions } from '@isochron/testing/world/lost-disks';
import { PlainStore } from '@isochron/testing/world/plain-store';
import { World } from '@isochron/testing/world/world';

/** Every region has every partition. */
const EVERYWHERE = everywhere(2);
const V = 'virginia-1';
const O = 'oregon-1';
const I = 'ireland-1';

/** A commit of one key at home in virginia, in virginia's present snapshot. */
const commitOf = (world: World, key: string, txId: string) => ({
  type: 'CommitReq' as const,
  txId,
  snapshot: world.node(V).parts.stable.value,
  hwt: 0,
  attemptRegions: ['virginia'],
  principal: 'anonymous',
  writes: [{ key, value: `"${txId}"` }],
});

describe('D10: a first start', () => {
  it('a new cluster has nothing to copy: it begins when all nodes have met', () => {
    const world = new World({ empty: true });
    world.until(() => [...world.nodes.keys()].every((node) => joined(world, node)()), 100);
    const { ct } = new TestClient(world, V).write({ [keyIn(world, 0)]: '"a"' });
    world.until(() => world.ust() >= ct, 1000);
  });

  it('nothing begins while a node that may have data has not answered', () => {
    const world = new World({ empty: true, delayMs: (from, to) => (from === I || to === I ? 400 : 1) });
    world.run(300);
    expect([V, O].map((node) => joined(world, node)())).toEqual([false, false]);
    expect(world.call(V, { type: 'StartTxReq', txId: 't', ust: 0, at: null })).toMatchObject({
      type: 'Refused',
      code: 'NOT_READY',
    });
    world.until(joined(world, V), 2000);
  });
});

describe('D10: a lost disk', () => {
  it('a node with a lost disk comes back with every version of its peers, and follows them from there', () => {
    const world = new World();
    const writer = new TestClient(world, O);
    for (let i = 0; i < 20; i++)
      writer.write({ [qualify('default', `k${i}`)]: `"${i}"`, [qualify('default', `k${i % 3}`)]: '"again"' });
    world.run(200);
    loseDisk(world, V);
    writer.write({ [qualify('default', 'k1')]: '"meanwhile"' });
    world.until(recovered(world, V), 5000);
    const { ct } = writer.write({ [qualify('default', 'k2')]: '"after"' });
    world.until(() => world.ust() >= ct, 5000);
    world.run(100);
    for (const partition of world.topology.partitionsOn(V)) {
      const [other] = [O, I].filter((node) => world.topology.partitionsOn(node).includes(partition));
      expect(versions(world, V, partition)).toEqual(versions(world, other!, partition));
    }
    expect(new TestClient(world, V).write({ [keyIn(world, 0)]: '"own"' }).ct).toBeGreaterThan(ct);
  });

  it('a node with a lost disk prepares nothing and sends no version clock before it has joined; UST stands still and reads go elsewhere', () => {
    const world = new World();
    const key = keyIn(world, 0); // in virginia and oregon
    new TestClient(world, V).write({ [key]: '"a"' });
    world.run(200);
    world.cut(V, O);
    loseDisk(world, V);
    world.sent.length = 0;
    world.run(100);
    const ust = world.node(O).parts.stable.value;
    world.run(2_000);
    expect(joined(world, V)()).toBe(false);
    expect(world.node(O).parts.stable.value).toBe(ust);
    const promised = world.sent.filter(
      ({ from, message }) => from.node === V && /^(PrepareResp|Heartbeat|Replicate)$/.test(message.type),
    );
    expect(promised).toEqual([]);
    expect(new TestClient(world, I).read(new TestClient(world, I).begin(), key)).toEqual(['"a"']);
    world.heal(V, O);
    world.until(joined(world, V), 5000);
  });

  it('the version clock of a rebuilt node starts above everything that any node ever received from it', () => {
    const world = new World({ spec: EVERYWHERE });
    new TestClient(world, V).write({ [keyIn(world, 0)]: '"a"' });
    world.run(200);
    const seen = world.node(O).parts.replicas[0]!.replication.vv.applied('virginia');
    world.crash(V);
    world.node(V).skewMs = -200_000; // the new machine's clock is behind
    world.restart(V, new PlainStore());
    world.until(joined(world, V), 5000);
    expect(world.node(V).parts.replicas[0]!.replication.versionClock).toBeGreaterThanOrEqual(seen);
    world.until(recovered(world, V), 5000);
    const { ct } = new TestClient(world, V).write({ [keyIn(world, 0)]: '"b"' });
    expect(ct).toBeGreaterThan(seen);
    world.until(() => world.ust() >= ct, 5000);
  });

  it('versions of a lost disk that only some replicas have reach the others through its new log', () => {
    const world = new World({ spec: EVERYWHERE });
    const key = keyIn(world, 0);
    world.run(100);
    world.cut(V, I);
    const { ct, txId } = new TestClient(world, V).write({ [key]: '"only oregon"' });
    world.until(() => world.node(O).parts.replicas[0]!.replication.vv.durable('virginia') >= ct, 1000);
    loseDisk(world, V);
    world.run(3000);
    expect(joined(world, V)()).toBe(false); // ireland has not answered
    world.heal(V, I);
    world.until(joined(world, V), 5000);
    world.until(() => world.ust() >= ct, 5000);
    for (const node of [V, O, I])
      expect(world.node(node).store.read(0, key, ct)).toMatchObject({ ts: ct, txId, value: '"only oregon"' });
    expect(world.call(I, { type: 'TxStatusReq', txId })).toMatchObject({ status: 'committed', ts: ct });
  });

  it('a deleted key does not come back with the copy', () => {
    const world = new World({ settings: { retentionMs: 100 } });
    const key = keyIn(world, 0);
    const client = new TestClient(world, V);
    client.write({ [key]: '"a"' });
    client.write({ [key]: null });
    world.run(5_000);
    expect(world.node(O).store.chains.has(`0|${key}`)).toBe(false);
    loseDisk(world, V);
    world.until(recovered(world, V), 5000);
    world.run(1_000);
    expect(new TestClient(world, V).read(new TestClient(world, V).begin(), key)).toEqual([null]);
    expect(world.node(V).parts.replicas.find((r) => r.partition === 0)!.replication.gcFloor).toBeGreaterThan(0);
  });

  it('a crash in the middle of the copy starts it over, on an empty store', () => {
    const world = new World();
    for (let i = 0; i < 30; i++) new TestClient(world, O).write({ [qualify('default', `k${i}`)]: `"${i}"` });
    world.run(200);
    loseDisk(world, V);
    world.until(() => world.node(V).store.chains.size > 3, 5000);
    expect(joined(world, V)()).toBe(false);
    loseDisk(world, V);
    world.until(joined(world, V), 5000);
    world.run(200);
    expect(versions(world, V, 0)).toEqual(versions(world, O, 0));
  });
});

describe('D10: transactions of a lost disk', () => {
  it('transactions of a lost disk are refused with OUTCOME_LOST when they are sent again, never run again', () => {
    const world = new World({ spec: EVERYWHERE });
    const client = new TestClient(world, V);
    world.run(100);
    const tx = client.begin();
    tx.write(keyIn(world, 0), '"a"');
    const request = client.commitRequest(tx);
    loseDisk(world, V);
    world.until(recovered(world, V), 5000);
    world.run(200);
    const again = { ...request, snapshot: client.session.ust };
    expect(world.call(V, again)).toMatchObject({ type: 'Refused', code: 'OUTCOME_LOST' });
    expect(world.call(V, { type: 'TxStatusReq', txId: request.txId })).toMatchObject({ status: 'forgotten' });
  });

  it('transactions of a lost disk repeated under an Idempotency-Key are carried out once: peers have those that reached them', () => {
    const world = new World({ spec: EVERYWHERE });
    world.run(300);
    const keyed = (txId: string) => ({ ...commitOf(world, keyIn(world, 0), txId), sentAfter: 1 });
    const before = keyed('idempotency-key-1.0');
    const { ct } = world.call(V, before, 'CommitResp');
    world.until(() => world.ust() > ct, 1000);
    loseDisk(world, V);
    world.until(recovered(world, V), 5000);
    expect(world.call(V, before)).toMatchObject({ type: 'CommitResp', ct });
    const fresh = keyed('idempotency-key-2.0');
    const answer = world.call(V, fresh, 'CommitResp');
    expect(world.call(V, fresh)).toMatchObject({ type: 'CommitResp', ct: answer.ct });
    world.run(300);
    expect(versions(world, O, 0).flatMap(([, chain]) => chain.map(({ txId }) => txId))).toHaveLength(2);
  });

  it('transactions of a lost disk are refused under an Idempotency-Key where no peer can have them', () => {
    const world = new World({ spec: EVERYWHERE });
    world.run(300);
    const before = { ...commitOf(world, keyIn(world, 0), 'idempotency-key-3.0'), sentAfter: 1 };
    const { ct } = world.call(V, before, 'CommitResp');
    world.until(() => world.ust() > ct, 1000);
    for (const node of [O, I, V]) {
      loseDisk(world, node);
      world.until(recovered(world, node), 5000);
    }
    expect(world.call(V, before).type).toBe('Refused');
  });

  it('a transaction of a lost disk that other cohorts have prepared is decided at its refusal, and no longer holds stable time back', () => {
    const world = new World({ spec: THREE_COHORTS });
    world.run(100);
    const [a, b, x] = [0, 1, 2].map((p) => world.topology.replicaNode(p, 'virginia')!);
    const client = new TestClient(world, O);
    const tx = client.begin();
    for (const p of [0, 1, 2]) tx.write(keyIn(world, p), '"whole"');
    const request = { ...client.commitRequest(tx), attemptRegions: ['virginia'] };
    loseDisk(world, x!);
    world.until(recovered(world, x!), 5_000);
    world.run(200);
    const refusal = world.call(O, { ...request, snapshot: client.session.ust }, 'Refused');
    expect(refusal.code).toBe('OUTCOME_LOST');
    const { last } = world.node(a!).parts.clock;
    world.until(() => [a, b].every((node) => world.node(node!).store.prepared.size === 0), 20);
    world.until(() => world.ust() > last, 100);
  });

  it('a prepared transaction with the verdict lost is aborted and reported', () => {
    const spec: ClusterSpec = {
      regions: [
        { id: 'virginia', nodes: [{ id: V }, { id: 'virginia-2' }] },
        { id: 'oregon', nodes: [{ id: O }] },
      ],
      keyspaces: [{ name: 'default', partitions: 2, replication: 2 }],
    };
    const world = new World({ spec });
    world.run(100);
    const [a, b] = [0, 1].map((p) => world.topology.replicaNode(p, 'virginia')!);
    expect(a).not.toBe(b);
    world.filter = ({ message }) => message.type !== 'PrepareResp' && message.type !== 'ResolveReq';
    const client = new TestClient(world, O);
    const tx = client.begin();
    for (const p of [0, 1]) tx.write(keyIn(world, p), '"half"');
    const request = { ...client.commitRequest(tx), attemptRegions: ['virginia'] };
    world.ask(O, request);
    world.until(() => [a!, b!].every((node) => world.node(node).store.prepared.size === 1), 1000);
    loseDisk(world, b!);
    world.filter = ({ message }) => message.type !== 'PrepareResp' && message.type !== 'PrepareReq';
    world.until(joined(world, b!), 5000);
    world.until(() => world.node(a!).store.prepared.size === 0, 10_000);
    expect(world.node(a!).parts.losses.all).toMatchObject([{ txId: request.txId, committed: false, node: b }]);
    expect(world.call(O, { type: 'TxStatusReq', txId: request.txId })).toMatchObject({ status: 'lost' });
  });
});

describe('D10: no copy', () => {
  it('a partition without any copy stays closed, named, until an operator accepts the loss', () => {
    const spec: ClusterSpec = { ...EVERYWHERE, keyspaces: [{ name: 'default', partitions: 3, replication: 1 }] };
    const world = new World({ spec });
    new TestClient(world, V).write({ [keyIn(world, 0)]: '"only here"' });
    world.run(200);
    loseDisk(world, V);
    world.run(5_000);
    expect(joined(world, V)()).toBe(false);
    expect(rebuild(world, V).lostPartitions).toEqual(world.topology.partitionsOn(V));
    world.crash(V);
    world.restart(V, new PlainStore(), { acceptLoss: true });
    world.until(recovered(world, V), 5000);
    const { ct } = new TestClient(world, V).write({ [keyIn(world, 0)]: '"new"' });
    world.until(() => world.ust() >= ct, 5000);
  });
});

describe('D10: a damaged disk', () => {
  it('a damaged disk is given up only when peers have all of its data', () => {
    const world = new World();
    const key = keyIn(world, 0);
    world.run(100);
    world.cut(V, O);
    const { ct } = new TestClient(world, V).write({ [key]: '"acknowledged"' });
    world.node(V).parts.membership.retire('a record is damaged');
    world.run(5_000); // oregon does not have it: the node stays
    expect(world.call(V, { ...new TestClient(world, V).commitRequest(blind(world, key)), snapshot: 0 })).toMatchObject({
      code: 'NOT_READY',
    });
    world.heal(V, O);
    expect(() => world.run(10_000)).toThrow(expect.objectContaining({ code: 'REBUILD_NEEDED' }));
    expect(world.node(O).store.read(0, key, ct)).toMatchObject({ value: '"acknowledged"' });
  });
});

function blind(world: World, key: string) {
  const tx = new TestClient(world, V).begin();
  tx.write(key, '"refused"');
  return tx;
}
