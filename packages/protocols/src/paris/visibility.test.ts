/** Claims about a transaction's reads: snapshots, sessions, atomicity. */
import { packWall } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { World } from '@isochron/testing/world/world';
import type { TransactionMessage } from '../kernel/transactions/messages.js';
import type { Envelope } from '../machine.js';

function settled(options?: ConstructorParameters<typeof World>[0]): World {
  const world = new World(options);
  world.run(100);
  return world;
}

describe('PaRiS: what a transaction sees of its own session', () => {
  it('a session reads its own commits long before they are stable, through its write cache', () => {
    const world = settled({ delayMs: () => 100 });
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    const { ct } = client.write({ [key]: '1' });
    expect(world.ust()).toBeLessThan(ct);
    expect(client.readOnce(key)).toEqual(['1']);
    expect(new TestClient(world, 'virginia-1').readOnce(key)).toEqual([null]);
  });
});

describe('PaRiS: which snapshots are served', () => {
  it('a snapshot that is not stable yet waits within a bound, and is then refused (P5)', () => {
    const world = settled({ delayMs: () => 40 });
    const key = keyIn(world, 0);
    const { ct } = new TestClient(world, 'virginia-1').write({ [key]: '1' });
    const soon = world.call('virginia-1', { type: 'ReadReq', txId: null, ust: 0, at: ct, keys: [key] }, 'ReadResp');
    expect(soon.snapshot).toBe(ct);
    const later = packWall(world.now + 60_000);
    const refused = world.call(
      'virginia-1',
      { type: 'ReadReq', txId: null, ust: 0, at: later, keys: [key] },
      'Refused',
    );
    expect(refused.code).toBe('SNAPSHOT_UNAVAILABLE');
  });

  it('a replica that lacks a part of what is stable does not answer with its newest versions (AR8)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    const region = world.topology.preferredRegions(0, 'virginia')[0]!;
    const from = { node: region === 'ireland' ? 'oregon-1' : 'ireland-1', machine: 'coordinator' };
    const answerTo = (newest: number) => {
      const request = { type: 'ReadSliceReq' as const, ref: 1, partition: 0, snapshot: world.ust(), keys: [key] };
      world.inject({ node: `${region}-1`, machine: 'replica/0' }, from, { ...request, newest });
      world.run(20);
      return world.sent.findLast(({ to }) => to.node === from.node && to.machine === from.machine)?.message;
    };
    expect(answerTo(world.ust())).toMatchObject({ type: 'ReadSliceResp' });
    const ahead = packWall(world.now + 60_000);
    expect(answerTo(ahead)).toMatchObject({ type: 'Refused', code: 'SNAPSHOT_UNAVAILABLE' });
  });

  it('a stable time from a client raises the local one only as far as the own version vectors (P5)', () => {
    const world = settled();
    const { parts } = world.node('virginia-1');
    const bound = Math.min(...parts.replicas.map((replica) => replica.replication.vv.durableMin));
    world.ask('virginia-1', {
      type: 'StartTxReq',
      txId: 'forged-session-0001.0',
      ust: packWall(world.now + 5_000),
      at: null,
    });
    expect(parts.stable.value).toBeLessThanOrEqual(bound);
    expect(parts.stable.refused).toBeGreaterThan(0);
    expect(parts.stable.aggregated).toBeLessThanOrEqual(parts.stable.value);
  });

  it('a time that a caller names, or a commit brings, raises no stable time: it may belong to a higher map (P5, M6)', () => {
    const world = settled({ delayMs: () => 40 });
    const { parts } = world.node('virginia-1');
    const bound = Math.min(...parts.replicas.map((replica) => replica.replication.vv.durableMin));
    const before = parts.stable.value;
    expect(bound).toBeGreaterThan(before);
    const key = keyIn(world, 0);
    const write = { snapshot: bound, hwt: 0, sentAfter: bound, attemptRegions: ['virginia'], principal: 'anonymous' };
    world.ask('virginia-1', { type: 'ReadReq', txId: null, ust: 0, at: bound, keys: [key] });
    world.ask('virginia-1', {
      type: 'CommitReq',
      txId: 'named-session-00001.0',
      ...write,
      writes: [{ key, value: '1' }],
    });
    expect(parts.stable.value).toBe(before);
  });

  it("a client's timestamp beyond half of the drift limit is refused before anything is durable (T1)", () => {
    const world = settled();
    const future = packWall(world.now + world.settings.maxClockDriftMs / 2 + 1_000);
    const read = { type: 'ReadReq' as const, txId: null, ust: future, at: null, keys: ['default/x'] };
    expect(world.call('virginia-1', read, 'Refused').code).toBe('TIMESTAMP_IN_FUTURE');
    const commit = {
      type: 'CommitReq' as const,
      txId: 'future-session-0001.0',
      snapshot: 1,
      hwt: future,
      sentAfter: 1,
      attemptRegions: ['virginia'],
      principal: 'anonymous',
      writes: [{ key: 'default/x', value: '1' }],
    };
    expect(world.call('virginia-1', commit, 'Refused').code).toBe('TIMESTAMP_IN_FUTURE');
    expect([...world.nodes.values()].every(({ store }) => store.outcomes.size === 0 && store.prepared.size === 0)).toBe(
      true,
    );
  });

  it('a timestamp that the cluster has seen itself is not refused, however far ahead a clock once was (T1)', () => {
    const world = settled({ settings: { maxClockDriftMs: 2_000 } });
    world.node('oregon-1').skewMs = 60_000;
    world.run(100);
    world.node('oregon-1').skewMs = 0;
    world.run(100);
    const client = new TestClient(world, 'ireland-1');
    const { ct } = client.write({ [keyIn(world, 0)]: '1' });
    world.until(() => world.ust() >= ct);
    expect(ct).toBeGreaterThan(packWall(world.now + 30_000));
    expect(client.readOnce(keyIn(world, 0))).toEqual(['1']);
    expect(client.write({ [keyIn(world, 0)]: '2', [keyIn(world, 1)]: '2' }).ct).toBeGreaterThan(ct);
  });

  it('an ended transaction and one that never existed get different codes', () => {
    const world = settled();
    const client = new TestClient(world, 'virginia-1');
    const tx = client.begin();
    world.call('virginia-1', { type: 'EndTxReq', txId: tx.id }, 'EndTxResp');
    const read = (txId: string) =>
      world.call('virginia-1', { type: 'ReadReq', txId, ust: 0, at: null, keys: ['default/x'] });
    expect(read(tx.id)).toMatchObject({ type: 'Refused', code: 'TRANSACTION_FINISHED' });
    expect(read('never-made.0')).toMatchObject({ type: 'Refused', code: 'TRANSACTION_UNKNOWN' });
  });
});

describe('PaRiS: remote reads', () => {
  it('a partition that the region does not host is read from its preferred replica, and from another one when the link drops (P10)', () => {
    const world = settled();
    const remote = world.topology.partitions.find((p) => !p.regions.includes('virginia'))!;
    const key = keyIn(world, remote.id);
    const { ct } = new TestClient(world, 'oregon-1').write({ [key]: '1' });
    world.until(() => world.ust() >= ct);
    const [first, second] = world.topology.preferredRegions(remote.id, 'virginia');
    world.cut('virginia-1', `${first}-1`);
    const reader = new TestClient(world, 'virginia-1');
    expect(reader.readOnce(key)).toEqual(['1']);
    expect(world.sent.filter((e) => e.message.type === 'ReadSliceResp').at(-1)!.from.node).toBe(`${second}-1`);
  });

  it('a read that is under way when its link drops goes to another replica at once (P10)', () => {
    const world = settled();
    const remote = world.topology.partitions.find((p) => !p.regions.includes('virginia'))!;
    const [first] = world.topology.preferredRegions(remote.id, 'virginia');
    world.filter = ({ to, message }) => !(message.type === 'ReadSliceReq' && to.node === `${first}-1`);
    const read = { type: 'ReadReq' as const, txId: null, ust: 0, at: null, keys: [keyIn(world, remote.id)] };
    const ref = world.ask('virginia-1', read);
    world.run(20);
    expect(world.answer('virginia-1', ref)).toBeUndefined();
    world.cut('virginia-1', `${first}-1`);
    world.run(20);
    expect(world.answer('virginia-1', ref)?.type).toBe('ReadResp');
  });

  it('a read gives up on a remote replica that does not respond after the read timeout (P10)', () => {
    const world = settled({ settings: { readTimeoutMs: 200 } });
    const remote = world.topology.partitions.find((p) => !p.regions.includes('ireland'))!;
    const key = keyIn(world, remote.id);
    const { ct } = new TestClient(world, 'oregon-1').write({ [key]: '1' });
    world.until(() => world.ust() >= ct);
    const [first] = world.topology.preferredRegions(remote.id, 'ireland');
    world.filter = ({ to, message }) => !(message.type === 'ReadSliceReq' && to.node === `${first}-1`);
    expect(new TestClient(world, 'ireland-1').readOnce(key)).toEqual(['1']);
    expect(world.node('ireland-1').parts.coordinator.reads.counters.failovers).toBeGreaterThan(0);
  });

  it('a response to a read of a previous incarnation is ignored, whatever its reference (P10)', () => {
    const world = settled();
    const remote = world.topology.partitions.find((p) => !p.regions.includes('virginia'))!;
    const [first] = world.topology.preferredRegions(remote.id, 'virginia');
    const [a, b] = [keyIn(world, remote.id, 'a'), keyIn(world, remote.id, 'b')];
    const { ct } = new TestClient(world, `${first}-1`).write({ [a]: '"of a"', [b]: '"of b"' });
    world.until(() => world.ust() >= ct);
    const asked: Envelope<TransactionMessage>[] = [];
    world.filter = (envelope) => {
      if (envelope.message.type !== 'ReadSliceReq') return true;
      asked.push(envelope);
      return false;
    };
    const read = (key: string) => ({ type: 'ReadReq' as const, txId: null, ust: ct, at: null, keys: [key] });
    world.ask('virginia-1', read(a));
    world.run(10);
    world.crash('virginia-1');
    world.restart('virginia-1');
    world.run(100);
    const ref = world.ask('virginia-1', read(b));
    world.run(10);
    expect(asked).toHaveLength(2);
    world.filter = () => true;
    // The replica was paused meanwhile, and answers both now, the old one first.
    for (const { to, from, message } of asked) world.inject(to, from, message);
    world.until(() => world.answer('virginia-1', ref) !== undefined);
    expect(world.answer('virginia-1', ref)).toMatchObject({ versions: [{ value: '"of b"' }] });
  });

  it('when no replica answers, the read is refused within its deadline', () => {
    const world = settled({ settings: { readTimeoutMs: 100, readDeadlineMs: 1_000 } });
    const remote = world.topology.partitions.find((p) => !p.regions.includes('virginia'))!;
    world.filter = ({ message }) => message.type !== 'ReadSliceReq';
    const read = { type: 'ReadReq' as const, txId: null, ust: 0, at: null, keys: [keyIn(world, remote.id)] };
    expect(world.call('virginia-1', read, 'Refused').code).toBe('REPLICA_UNREACHABLE');
  });
});
