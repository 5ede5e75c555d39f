import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import type { TransactionMessage } from '../kernel/transactions/messages.js';
import type { Address } from '../machine.js';

describe('PaRiS: links and restarts (D6, D7)', () => {
  it('frames that a link lost are replayed after the reconnect, and nothing is applied twice', () => {
    const world = settled();
    world.cut('virginia-1', 'oregon-1');
    let ct = 0;
    for (let i = 0; i < 10; i++)
      ct = world.call('virginia-1', commitOver(world, id(i), [0], String(i)), 'CommitResp').ct;
    world.run(200);
    expect(world.ust()).toBeLessThan(ct);
    world.heal('virginia-1', 'oregon-1');
    world.until(() => world.ust() >= ct);
    const key = `0|${keyIn(world, 0)}`;
    expect(world.node('oregon-1').store.chains.get(key)).toEqual(world.node('virginia-1').store.chains.get(key));
  });

  it.each([0, 12])('a replay misses nothing and never runs ahead of the disk, read within %i ms', (prefetchMs) => {
    for (let moment = 0; moment < 60; moment += 3) {
      const world = settled({ syncMs: 25, prefetchMs });
      world.cut('virginia-1', 'oregon-1');
      const refs: number[] = [];
      const commit = () =>
        refs.push(world.ask('virginia-1', commitOver(world, id(refs.length), [0], String(refs.length))));
      for (let spent = 0; spent < moment; spent += 3) {
        commit();
        world.run(3);
      }
      world.heal('virginia-1', 'oregon-1');
      for (let i = 0; i < 12; i++) {
        commit();
        world.run(4);
      }
      world.until(() => refs.every((ref) => world.answer('virginia-1', ref)?.type === 'CommitResp'));
      const cts = refs.map((ref) => (world.answer('virginia-1', ref) as { ct: number }).ct);
      world.until(() => world.ust() >= Math.max(...cts));
      const key = `0|${keyIn(world, 0)}`;
      expect(world.node('oregon-1').store.chains.get(key)).toHaveLength(refs.length);
    }
  });

  it('a range that begins above the version clock is not applied: the gap is requested', () => {
    const world = settled();
    let lost = false;
    world.filter = ({ message }) => {
      if (lost || message.type !== 'Replicate') return true;
      lost = true;
      return false;
    };
    const { ct } = world.call('virginia-1', commitOver(world, id(0), [0]), 'CommitResp');
    world.until(() => world.ust() >= ct);
    expect(lost).toBe(true);
    const replica = world.node('oregon-1').parts.replicas.find((r) => r.partition === 0)!;
    expect(replica.replication.counters.gaps).toBeGreaterThan(0);
    expect(new TestClient(world, 'oregon-1').readOnce(keyIn(world, 0))).toEqual(['1']);
  });

  it('an answer to an older request ends the wait for one that was lost: an empty range shows the gap (D6)', () => {
    const world = settled();
    let older: { to: Address; from: Address; message: TransactionMessage } | undefined;
    world.filter = (envelope) => {
      const { from, message } = envelope;
      if (message.type === 'Heartbeat' && from.node === 'virginia-1' && envelope.to.node === 'oregon-1')
        if (message.partition === 0) older = envelope;
      return true;
    };
    world.run(100);
    world.cut('virginia-1', 'oregon-1');
    let isLost = false;
    world.filter = ({ to, from, message }) => {
      const isRequest = message.type === 'ResyncReq' && message.partition === 0 && from.node === 'oregon-1';
      if (isLost || !isRequest || to.node !== 'virginia-1') return true;
      isLost = true;
      return false;
    };
    world.heal('virginia-1', 'oregon-1');
    world.until(() => isLost);
    world.inject(older!.to, older!.from, older!.message);
    const { ct } = world.call('virginia-1', commitOver(world, id(0), [0]), 'CommitResp');
    world.until(() => world.ust() >= ct);
    expect(new TestClient(world, 'oregon-1').readOnce(keyIn(world, 0))).toEqual(['1']);
  });

  it('after a restart no timestamp lies at or below a published one, even when the clock went back', () => {
    const world = settled();
    const replica = world.node('virginia-1').parts.replicas.find((r) => r.partition === 0)!;
    const published = replica.replication.versionClock;
    world.crash('virginia-1');
    world.node('virginia-1').skewMs = -60_000;
    world.restart('virginia-1');
    const { ct } = world.call(
      'virginia-1',
      { ...commitOver(world, id(0), [0]), sentAfter: 0, snapshot: 0 },
      'CommitResp',
    );
    expect(ct).toBeGreaterThan(published);
  });

  it('a commit that was decided in memory only is decided again after a crash, at the same timestamp', () => {
    // The version clock on disk may have passed the proposal: it stays below the commit timestamp.
    for (let moment = 2; moment < 60; moment += 2) {
      const world = settled({ delayMs: (from, to) => (from < to ? 1 : 9) });
      const asked = Array.from({ length: 60 }, (_, i) => {
        const node = world.topology.nodes[i % 3]!;
        const partitions = [i % 6, (i * 5 + 1) % 6].filter((p, at, all) => all.indexOf(p) === at);
        const request = {
          ...commitOver(world, id(i), partitions, String(i)),
          attemptRegions: [world.topology.regionOf(node)],
        };
        if (i % 3 === 2) world.run(1);
        return { node, request, ref: world.ask(node, request) };
      });
      world.run(moment);
      const acknowledged = asked.map(({ node, ref }) => world.answer(node, ref));
      world.crash('virginia-1');
      world.run(5);
      world.restart('virginia-1');
      world.run(5_000);
      asked.forEach(({ node, request }, i) => {
        const before = acknowledged[i];
        if (before?.type !== 'CommitResp') return;
        expect(world.call(node, request)).toMatchObject({ type: 'CommitResp', ct: before.ct });
      });
      const last = Math.max(...acknowledged.map((answer) => (answer?.type === 'CommitResp' ? answer.ct : 0)));
      world.until(() => world.ust() >= last);
    }
  });

  it('a node that was down catches up and UST goes on', () => {
    const world = settled();
    world.crash('ireland-1');
    const frozen = world.ust();
    const { ct } = world.call('virginia-1', commitOver(world, id(0), [0, 3]), 'CommitResp');
    world.run(500);
    expect(world.ust()).toBeLessThan(ct);
    expect(world.ust() - frozen).toBeLessThan(4096 * 50);
    expect(new TestClient(world, 'oregon-1').readOnce(keyIn(world, 0))).toEqual([null]);
    world.restart('ireland-1');
    world.until(() => world.ust() >= ct);
    expect(new TestClient(world, 'ireland-1').readOnce(keyIn(world, 0), keyIn(world, 3))).toEqual(['1', '1']);
  });

  it('UST never falls and never exceeds a durable version vector, through crashes of every node in turn', () => {
    const world = settled();
    let last = 0;
    for (let i = 0; i < 12; i++) {
      const node = world.topology.nodes[i % 3]!;
      const coordinator = world.topology.nodes[(i + 1) % 3]!;
      world.ask(coordinator, commitOver(world, id(i), [0, 1, 2, 3, 4, 5], String(i)));
      world.run(2 + i);
      world.crash(node);
      world.run(30);
      world.restart(node);
      world.run(60);
      const ust = Math.max(...[...world.nodes.values()].map(({ parts }) => parts.stable.aggregated));
      expect(ust).toBeGreaterThanOrEqual(last);
      for (const { parts } of world.nodes.values()) {
        for (const { replication } of parts.replicas) expect(replication.vv.durableMin).toBeGreaterThanOrEqual(last);
      }
      last = ust;
    }
  });
});

describe('PaRiS: limits (D11)', () => {
  it('commits that wait for an undecided transaction are kept up to a limit, then refused with a code', () => {
    const world = settled({ settings: { maxPendingBytes: 10_000, resolveAfterMs: 60_000 } });
    const [partition] = world.topology
      .partitionsOn('virginia-1')
      .filter((p) => world.topology.partitionsOn('oregon-1').includes(p));
    // Prepared in virginia, never decided: nothing above it can be applied.
    world.filter = ({ message }) => message.type !== 'PrepareReq';
    const other = world.topology.partitions.find((p) => !p.regions.includes('virginia'))!.id;
    world.ask('virginia-1', commitOver(world, id(0), [partition!, other]));
    world.run(20);
    const large = `"${'x'.repeat(2_000)}"`;
    const answers = [1, 2, 3, 4, 5, 6, 7].map((n) =>
      world.call('virginia-1', commitOver(world, id(n), [partition!], large)),
    );
    expect(answers.slice(0, 4).map(({ type }) => type)).toEqual(Array(4).fill('CommitResp'));
    expect(answers.at(-1)).toMatchObject({ type: 'Refused', code: 'OVERLOADED' });
    world.filter = () => true;
    world.until(
      () => world.node('virginia-1').parts.replicas.every(({ cohort }) => cohort.slices.prepared.size === 0),
      20_000,
    );
    world.run(100);
    expect(world.call('virginia-1', commitOver(world, id(9), [partition!], large)).type).toBe('CommitResp');
  });

  it('a node whose disk is full refuses prepares durably, and answers for known transactions', () => {
    const world = settled();
    const commit = commitOver(world, id(0), [0]);
    expect(world.call('virginia-1', commit).type).toBe('CommitResp');
    world.refusal = 'STORAGE_FULL';
    expect(world.call('virginia-1', commitOver(world, id(1), [0]))).toMatchObject({
      type: 'Refused',
      code: 'STORAGE_FULL',
    });
    expect(world.call('virginia-1', commit).type).toBe('CommitResp');
    world.refusal = undefined;
    expect(world.call('virginia-1', commitOver(world, id(1), [0]))).toMatchObject({ code: 'TRANSACTION_ABORTED' });
    expect(world.call('virginia-1', commitOver(world, id(2), [0])).type).toBe('CommitResp');
  });
});
