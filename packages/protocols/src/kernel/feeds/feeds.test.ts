import type { ClusterSpec, NodeId, PartitionId, Timestamp } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { everywhere, joined, loseDisk, recovered } from '@isochron/testing/world/lost-disks';
import { World } from '@isochron/testing/world/world';
import type { ChangesReq, ChangesResp } from './messages.js';

const [V, O, I] = ['virginia-1', 'oregon-1', 'ireland-1'];

/** Each partition in two of three regions. */
const PARTIAL: ClusterSpec = {
  regions: ['virginia', 'oregon', 'ireland'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
  keyspaces: [{ name: 'default', partitions: 3, replication: 2 }],
};

let refs = 1_000_000;

/** A request's answer. */
function ask(world: World, node: NodeId, request: Partial<ChangesReq>): ChangesResp {
  const ref = refs++;
  const whole = {
    type: 'ChangesReq',
    ref,
    prefix: '',
    after: null,
    waitMs: 1000,
    limitBytes: 1e6,
    ...request,
  } as const;
  world.inject({ node, machine: 'feeds' }, { node, machine: 'client' }, whole);
  world.until(() => world.answer(node, ref) !== undefined, 10_000);
  const answer = world.answer(node, ref)!;
  if (answer.type !== 'ChangesResp') throw new Error(JSON.stringify(answer));
  return answer;
}

/** The present end of the feed. */
const start = (world: World, node: NodeId): Timestamp => ask(world, node, { after: null }).to;

/** All transactions after a timestamp, each as its writes, until some number has come. */
function follow(world: World, node: NodeId, after: Timestamp, count: number, request: Partial<ChangesReq> = {}) {
  const seen: { txId: string; ct: Timestamp; writes: string[] }[] = [];
  let at = after;
  for (let rounds = 0; seen.length < count && rounds < 100; rounds++) {
    const { from, to, transactions } = ask(world, node, { ...request, after: at });
    expect(from).toBe(at);
    for (const { txId, ct, writes } of transactions) {
      expect(ct > at && ct <= to).toBe(true);
      seen.push({ txId, ct, writes: writes.map(({ key, value }) => `${key}=${String(value)}`) });
    }
    at = to;
  }
  return { seen, at };
}

const key = (world: World, partition: PartitionId): string => keyIn(world, partition);

describe('the change feed', () => {
  it('a feed gives each transaction once, whole and in order, wherever it was written and read (CF1)', () => {
    const world = new World({ spec: PARTIAL });
    world.run(200);
    const from = start(world, V);
    const clients = [V, O, I].map((node) => new TestClient(world, node));
    for (let i = 0; i < 12; i++)
      clients[i % 3]!.write({ [key(world, i % 3)]: `"${i}"`, [key(world, (i + 1) % 3)]: `"${i}"` });
    for (const node of [V, O, I]) {
      const { seen } = follow(world, node, from, 12);
      expect(seen.map(({ writes }) => writes.length)).toEqual(Array(12).fill(2));
      expect(new Set(seen.map(({ txId }) => txId)).size).toBe(12);
      expect(seen.map(({ ct }) => ct)).toEqual(seen.map(({ ct }) => ct).sort((a, b) => a - b));
    }
  });

  it('nothing at or below the end of a message is committed later: a feed never passes UST (CF1)', () => {
    const world = new World({ spec: everywhere(2) });
    world.run(200);
    world.cut(V, I);
    world.cut(O, I);
    const stands = world.ust();
    const from = start(world, V);
    new TestClient(world, V).write({ [key(world, 0)]: '1', [key(world, 1)]: '1' });
    const { to, transactions } = ask(world, V, { after: from, waitMs: 500 });
    expect(transactions).toEqual([]);
    expect(to).toBeLessThanOrEqual(Math.max(stands, world.ust()));
    world.heal(V, I);
    world.heal(O, I);
    expect(follow(world, V, to, 1).seen).toHaveLength(1);
  });

  it('a cursor of one region goes on in every other one (CF2)', () => {
    const world = new World({ spec: PARTIAL });
    world.run(200);
    let at = start(world, V);
    const client = new TestClient(world, V);
    const seen: string[] = [];
    for (let i = 0; i < 9; i++) {
      client.write({ [key(world, i % 3)]: `${i}` });
      const node = [V, O, I][i % 3]!;
      const page = follow(world, node, at, 1);
      seen.push(...page.seen.flatMap(({ writes }) => writes.map((write) => write.split('=')[1]!)));
      at = page.at;
    }
    expect(seen).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8']);
  });

  it('a scope is a keyspace, a key prefix or everything (CF3)', () => {
    const world = new World({ spec: PARTIAL });
    world.run(200);
    const from = start(world, O);
    const client = new TestClient(world, V);
    client.write({ 'default/a/1': '1', 'default/b/1': '2' });
    client.write({ 'default/b/2': '3' });
    const writesOf = (prefix: string, count: number) =>
      follow(world, O, from, count, { prefix }).seen.map((tx) => tx.writes);
    expect(writesOf('', 2)).toHaveLength(2);
    expect(writesOf('default/', 2)).toHaveLength(2);
    expect(writesOf('default/a', 1)).toEqual([['default/a/1=1']]);
    expect(() => ask(world, O, { prefix: 'other/', after: from })).toThrow('KEYSPACE_UNKNOWN');
  });

  it('a cursor below the retention is refused, and one above it goes on (CF2)', () => {
    const world = new World({ spec: PARTIAL, settings: { changeRetentionMs: 2_000 } });
    world.run(200);
    const from = start(world, V);
    const client = new TestClient(world, V);
    for (let i = 0; i < 10; i++) {
      client.write({ [key(world, i % 3)]: `${i}` });
      world.run(700);
    }
    expect(() => ask(world, V, { after: from })).toThrow('CHANGES_GONE');
    const late = start(world, V);
    client.write({ [key(world, 0)]: '"late"' });
    expect(follow(world, O, late, 1).seen).toHaveLength(1);
  });

  it('readers at the end of a partition share one request to its replica (CF5)', () => {
    const world = new World({ spec: PARTIAL });
    world.run(200);
    const from = start(world, V);
    const remote = world.topology.partitions.find(({ regions }) => !regions.includes('virginia'))!.id;
    const asked: string[] = [];
    world.filter = ({ message }) => {
      if (message.type === 'ChangesPageReq') asked.push(`${message.partition}`);
      return true;
    };
    for (let i = 0; i < 20; i++) {
      const request = {
        type: 'ChangesReq',
        ref: refs++,
        prefix: '',
        after: from,
        waitMs: 400,
        limitBytes: 1e6,
      } as const;
      world.inject({ node: V, machine: 'feeds' }, { node: V, machine: 'client' }, request);
    }
    world.run(100);
    const first = asked.length;
    expect(asked.every((partition) => partition === `${remote}`)).toBe(true);
    expect(first).toBeLessThan(20);
  });

  it('a partition held elsewhere is read from another replica when one does not answer (CF5)', () => {
    const world = new World({ spec: PARTIAL });
    world.run(200);
    const remote = world.topology.partitions.find(({ regions }) => !regions.includes('virginia'))!.id;
    const from = start(world, V);
    new TestClient(world, O).write({ [key(world, remote)]: '1' });
    world.run(500);
    const [preferred] = world.topology.preferredRegions(remote, 'virginia');
    world.cut(V, `${preferred}-1`);
    expect(follow(world, V, from, 1).seen).toHaveLength(1);
  });

  it('an answer ends with the group that reaches its limit, and the next one goes on behind it (CF6)', () => {
    const world = new World({ spec: PARTIAL });
    world.run(200);
    const from = start(world, V);
    const client = new TestClient(world, V);
    for (let i = 0; i < 20; i++) client.write({ [key(world, i % 3)]: `"${'x'.repeat(500)}${i}"` });
    world.run(500);
    const first = ask(world, V, { after: from, limitBytes: 2_000 });
    expect(first.transactions.length).toBeLessThan(6);
    expect(follow(world, V, first.to, 20 - first.transactions.length, { limitBytes: 2_000 }).seen).toHaveLength(
      20 - first.transactions.length,
    );
  });

  it('a node keeps nothing for a reader that does not ask (CF6)', () => {
    const world = new World({ spec: PARTIAL });
    world.run(200);
    const from = start(world, V);
    ask(world, V, { after: from, waitMs: 300 });
    world.run(2_000);
    const { feeds } = world.node(V).parts;
    expect(feeds!.describe()).toMatchObject({ reads: 0, requests: 0 });
  });

  it('a node that lost its disk gives changes from its copy on, and refuses older cursors or asks others (CF2)', () => {
    const world = new World({ spec: everywhere(1) });
    world.run(200);
    const from = start(world, V);
    new TestClient(world, V).write({ [key(world, 0)]: '"before"' });
    world.until(() => world.ust() > from, 2_000);
    world.run(300);
    loseDisk(world, V);
    world.until(joined(world, V), 20_000);
    world.until(recovered(world, V), 20_000);
    new TestClient(world, O).write({ [key(world, 0)]: '"after"' });
    // Another replica has the whole log.
    expect(follow(world, V, from, 2).seen.map(({ writes }) => writes[0]!.split('=')[1])).toEqual([
      '"before"',
      '"after"',
    ]);
    world.cut(V, O);
    world.cut(V, I);
    expect(() => ask(world, V, { after: from - 1 })).toThrow('CHANGES_GONE');
  });

  it('a restart of every node leaves the log and its cursors as they were (CF2)', () => {
    const world = new World({ spec: PARTIAL });
    world.run(200);
    const from = start(world, V);
    const client = new TestClient(world, V);
    for (let i = 0; i < 6; i++) client.write({ [key(world, i % 3)]: `${i}` });
    world.run(1_500);
    for (const node of [V, O, I]) world.crash(node);
    for (const node of [V, O, I]) world.restart(node);
    world.run(500);
    for (const node of [V, O, I]) expect(follow(world, node, from, 6).seen).toHaveLength(6);
  });
});
