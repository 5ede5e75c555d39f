/** Claims about commits: timestamps, durability, retries, recovery. */
import { packWall } from '@isochron/core';
import { keyIn, TestClient } from '../testing/clients.js';
import { World } from '../testing/world.js';
import type { CommitReq, ParisMessage } from './messages.js';

function settled(options?: ConstructorParameters<typeof World>[0]): World {
  const world = new World(options);
  world.run(100);
  return world;
}

/** A commit request over partitions, as a session in virginia would send it. */
function commitOver(world: World, txId: string, partitions: number[], value = '1'): Omit<CommitReq, 'ref'> {
  const writes = partitions.map((partition) => ({ key: keyIn(world, partition), value }));
  const ust = world.node('virginia-1').paris.stable.value;
  return {
    type: 'CommitReq',
    txId,
    snapshot: ust,
    hwt: 0,
    birth: ust,
    homes: ['virginia'],
    principal: 'anonymous',
    writes,
  };
}

const id = (n: number): string => `commit-test-session.${n}`;

describe('PaRiS: timestamps', () => {
  it('never proposes at or below the published version clock (P1)', () => {
    // The wall clock stands still between a round and a prepare in the same millisecond.
    const world = settled();
    const replica = world.node('virginia-1').paris.replicas[0]!;
    const key = keyIn(world, replica.partition);
    for (let i = 0; i < 20; i++) {
      world.until(() => (world.now - 5) % 5 === 0);
      const published = replica.versionClock;
      const { ct } = world.call(
        'virginia-1',
        { ...commitOver(world, id(i), []), writes: [{ key, value: '1' }] },
        'CommitResp',
      );
      expect(ct).toBeGreaterThan(published);
      world.run(3);
    }
  });

  it('applies every transaction with ct <= ub before the version clock says so (P2)', () => {
    const world = settled();
    const { ct } = world.call('virginia-1', commitOver(world, id(0), [0]), 'CommitResp');
    const node = world.node('virginia-1');
    const replica = node.paris.replicas.find((r) => r.partition === 0)!;
    world.until(() => replica.vv.durable('virginia') >= ct);
    expect(node.store.read(0, keyIn(world, 0), ct)?.value).toBe('1');
  });

  it('the commit timestamp is the greatest proposal and lies above everything the client has seen (Alg. 2 line 26, P6)', () => {
    const world = settled();
    const hwt = packWall(world.now + 2_000);
    const { ct } = world.call('virginia-1', { ...commitOver(world, id(0), [0, 1, 2, 3]), hwt }, 'CommitResp');
    expect(ct).toBeGreaterThan(hwt);
    const proposals = world.sent.flatMap(({ message }) => (message.type === 'PrepareResp' ? [message.pt] : []));
    for (const pt of proposals) expect(ct).toBeGreaterThanOrEqual(pt);
  });

  it('a clock that runs ahead is observed through every frame, so its writes become visible at once (T2)', () => {
    const world = settled();
    world.node('oregon-1').skewMs = 4_000;
    world.run(50);
    const key = keyIn(world, 0);
    const writer = new TestClient(world, 'oregon-1');
    const { ct } = writer.write({ [key]: '1' });
    world.until(() => world.ust() >= ct, 500);
    expect(new TestClient(world, 'ireland-1').readOnce(key)).toEqual(['1']);
  });

  it('a node whose wall clock is far from the median of its peers refuses prepares, durably (T1)', () => {
    const world = settled();
    world.crash('virginia-1');
    world.node('virginia-1').skewMs = -2 * world.settings.maxClockDriftMs;
    world.restart('virginia-1');
    const virginia = world.node('virginia-1');
    world.run(100);
    const commit = { ...commitOver(world, id(0), [0]), birth: 0, snapshot: 0 };
    const refused = world.call('virginia-1', commit, 'Refused');
    expect(refused.code).toBe('CLOCK_DRIFT');
    expect(virginia.store.outcome(0, id(0))?.status).toBe('aborted');
  });
});

describe('PaRiS: persist before you promise (D1)', () => {
  const promises: ParisMessage['type'][] = ['PrepareResp', 'Replicate', 'CommitResp'];

  it('no prepare, commit answer or Replicate leaves while the disk has not written what it stands for', () => {
    const world = settled({ syncMs: 40 });
    world.sent.length = 0;
    const ref = world.ask('virginia-1', commitOver(world, id(0), [0, 1]));
    world.run(30);
    expect(world.sent.some(({ message }) => promises.includes(message.type))).toBe(false);
    expect(world.answer('virginia-1', ref)).toBeUndefined();
    world.run(300);
    expect(world.answer('virginia-1', ref)?.type).toBe('CommitResp');
    expect(world.sent.some(({ message }) => message.type === 'Replicate')).toBe(true);
  });

  it('a Replicate holds only groups that its sender has on disk', () => {
    const world = settled({ syncMs: 25 });
    let groupsSeen = 0;
    world.filter = ({ from, message }) => {
      if (message.type !== 'Replicate') return true;
      const { store } = world.node(from.node);
      for (const { ct, txs } of message.groups) {
        groupsSeen++;
        for (const { writes } of txs) {
          for (const { key } of writes) expect(store.read(message.partition, key, ct)?.ts).toBe(ct);
        }
      }
      return true;
    };
    for (let i = 0; i < 25; i++) {
      world.ask('virginia-1', commitOver(world, id(i), [i % 2 === 0 ? 0 : 3], String(i)));
      world.run(7);
    }
    world.run(500);
    expect(groupsSeen).toBeGreaterThan(20);
  });

  it('an acknowledged commit survives the crash of every node (D3)', () => {
    const world = settled();
    const partitions = [0, 1, 2, 3, 4, 5];
    const { ct } = world.call('virginia-1', commitOver(world, id(0), partitions), 'CommitResp');
    for (const node of world.topology.nodes) world.crash(node);
    for (const node of world.topology.nodes) world.restart(node);
    world.until(() => world.ust() >= ct);
    const keys = partitions.map((partition) => keyIn(world, partition));
    expect(new TestClient(world, 'ireland-1').readOnce(...keys)).toEqual(partitions.map(() => '1'));
  });

  it('stabilisation sees a version clock only when its groups are durable', () => {
    const world = settled({ syncMs: 60 });
    const ref = world.ask('virginia-1', commitOver(world, id(0), [0]));
    const { store, paris } = world.node('virginia-1');
    const replica = paris.replicas.find((r) => r.partition === 0)!;
    const onDisk = () => store.read(0, keyIn(world, 0), Number.MAX_SAFE_INTEGER)?.ts;
    // Between the apply round and the end of its batch the version clock is ahead of what may be reported.
    let appliedAt: number | undefined;
    let steps = 0;
    while (onDisk() === undefined) {
      if (replica.counters.applied > 0) appliedAt ??= replica.versionClock;
      if (appliedAt !== undefined) {
        steps++;
        expect(replica.vv.durable('virginia')).toBeLessThan(appliedAt);
      }
      world.run(1);
    }
    expect(steps).toBeGreaterThan(10);
    world.until(() => world.answer('virginia-1', ref)?.type === 'CommitResp');
  });
});

describe('PaRiS: retries (D4, D5)', () => {
  it('the same commit sent again, to any coordinator of any region, gives the same timestamp', () => {
    const world = settled();
    const commit = commitOver(world, id(0), [0, 1, 4]);
    const { ct } = world.call('virginia-1', commit, 'CommitResp');
    for (const node of ['virginia-1', 'oregon-1', 'ireland-1']) {
      expect(world.call(node, commit, 'CommitResp').ct).toBe(ct);
      world.run(40);
    }
    const versions = world.node('virginia-1').store.chains.get(`0|${keyIn(world, 0)}`);
    expect(versions).toHaveLength(1);
  });

  it('a retry while the outcome waits for the disk finds it too', () => {
    const world = settled({ syncMs: 50 });
    const commit = commitOver(world, id(0), [0]);
    // Three coordinators, because one that still runs the commit would answer by itself.
    const asked = ['virginia-1', 'oregon-1', 'ireland-1'].map((node, i) => {
      world.run(7 * i);
      return { node, ref: world.ask(node, commit) };
    });
    world.run(600);
    const answers = asked.map(({ node, ref }) => world.answer(node, ref));
    expect(new Set(answers.map((answer) => (answer?.type === 'CommitResp' ? answer.ct : answer?.type))).size).toBe(1);
    expect(world.node('virginia-1').store.chains.get(`0|${keyIn(world, 0)}`)).toHaveLength(1);
  });

  it('an id used for other writes is refused with TX_ID_REUSED', () => {
    const world = settled();
    world.call('virginia-1', commitOver(world, id(0), [0, 1]), 'CommitResp');
    const other = world.call('oregon-1', commitOver(world, id(0), [0, 1], '2'), 'Refused');
    expect(other.code).toBe('TX_ID_REUSED');
  });

  it('also on other partitions, where no cohort knows the id, as long as the coordinator remembers', () => {
    const world = settled();
    world.call('virginia-1', commitOver(world, id(0), [0]), 'CommitResp');
    expect(world.call('virginia-1', commitOver(world, id(0), [3]), 'Refused').code).toBe('TX_ID_REUSED');
  });

  it('also while the first commit is under way', () => {
    const world = settled({ syncMs: 50 });
    const first = world.ask('virginia-1', commitOver(world, id(0), [0, 1]));
    expect(world.call('virginia-1', commitOver(world, id(0), [0, 1], '2'), 'Refused').code).toBe('TX_ID_REUSED');
    world.until(() => world.answer('virginia-1', first)?.type === 'CommitResp');
  });

  it('a known id with another cohort list is refused, and changes nothing', () => {
    const world = settled();
    const { ct } = world.call('virginia-1', commitOver(world, id(0), [0, 1]), 'CommitResp');
    const bogus = world.call('oregon-1', commitOver(world, id(0), [0, 1, 2]), 'Refused');
    expect(bogus.code).toBe('ATTEMPT_MISMATCH');
    world.run(10_000);
    expect(world.call('virginia-1', commitOver(world, id(0), [0, 1]), 'CommitResp').ct).toBe(ct);
    expect(new TestClient(world, 'virginia-1').readOnce(keyIn(world, 2))).toEqual([null]);
    expect([...world.nodes.values()].every(({ store }) => store.prepared.size === 0)).toBe(true);
  });

  it('another home is allowed only after a cohort of the list before has durably aborted it', () => {
    const world = settled({ settings: { commitTimeoutMs: 3_000 } });
    // Oregon is home and stays unreachable: its cohorts cannot prepare.
    const commit = { ...commitOver(world, id(0), [0, 1]), homes: ['oregon'] };
    for (const peer of ['virginia-1', 'ireland-1']) world.cut('oregon-1', peer);
    const pending = world.call('virginia-1', { ...commit, homes: ['oregon', 'virginia'] }, 'Refused');
    expect(pending.code).toBe('OUTCOME_PENDING');
    for (const peer of ['virginia-1', 'ireland-1']) world.heal('oregon-1', peer);
    const { ct } = world.call('virginia-1', { ...commit, homes: ['oregon', 'virginia'] }, 'CommitResp');
    const first = world.call('oregon-1', commit);
    expect(first).toMatchObject({ type: 'Refused' });
    world.until(() => world.ust() >= ct);
    expect(new TestClient(world, 'ireland-1').readOnce(keyIn(world, 0), keyIn(world, 1))).toEqual(['1', '1']);
  });

  it('a commit older than the outcomes that are kept is refused with OUTCOME_FORGOTTEN, never run again', () => {
    const world = settled({ settings: { outcomeRetentionMs: 1_000 } });
    const commit = commitOver(world, id(0), [0]);
    world.call('virginia-1', commit, 'CommitResp');
    world.run(130_000);
    expect(world.node('virginia-1').store.outcome(0, id(0))).toBeUndefined();
    expect(world.call('virginia-1', commit, 'Refused').code).toBe('OUTCOME_FORGOTTEN');
  });

  it('log entries go once UST has passed them', () => {
    const world = settled();
    world.call('virginia-1', commitOver(world, id(0), [0, 1]), 'CommitResp');
    world.run(3_000);
    for (const { store } of world.nodes.values()) for (const log of store.logs.values()) expect(log).toEqual([]);
  });
});

describe('PaRiS: the cohorts finish what a coordinator leaves (D2)', () => {
  it('all prepared: they commit at the greatest proposal when the coordinator has died', () => {
    const world = settled();
    world.filter = ({ message }) => message.type !== 'CommitTx';
    const commit = commitOver(world, id(0), [0, 1, 4]);
    const { ct } = world.call('virginia-1', commit, 'CommitResp');
    world.crash('virginia-1');
    world.restart('virginia-1');
    world.until(() => world.ust() >= ct, 20_000);
    expect(new TestClient(world, 'oregon-1').readOnce(...[0, 1, 4].map((p) => keyIn(world, p)))).toEqual([
      '1',
      '1',
      '1',
    ]);
  });

  it('one never prepared: it writes a tombstone, all abort, and a late prepare is refused', () => {
    const world = settled({ settings: { commitTimeoutMs: 3_000 } });
    let dropped: ParisMessage | undefined;
    world.filter = ({ message }) => {
      if (message.type === 'PrepareReq' && message.partition === 4) dropped = message;
      return message !== dropped && !(message.type === 'PrepareReq' && message.partition === 4);
    };
    const commit = commitOver(world, id(0), [0, 1, 4]);
    const outcome = world.call('virginia-1', commit);
    expect(outcome).toMatchObject({ type: 'Refused' });
    world.filter = () => true;
    world.run(10_000);
    expect([...world.nodes.values()].every(({ store }) => store.prepared.size === 0)).toBe(true);
    expect(world.call('virginia-1', commit, 'Refused').code).toBe('TRANSACTION_ABORTED');
    expect(world.call('oregon-1', { type: 'TxStatusReq', txId: id(0) }, 'TxStatusResp').status).toBe('aborted');
  });

  it('a status question never causes a tombstone', () => {
    const world = settled();
    expect(world.call('oregon-1', { type: 'TxStatusReq', txId: id(0) }, 'TxStatusResp').status).toBe('unknown');
    const { ct } = world.call('virginia-1', commitOver(world, id(0), [0, 1]), 'CommitResp');
    world.run(50);
    expect(world.call('ireland-1', { type: 'TxStatusReq', txId: id(0) }, 'TxStatusResp')).toMatchObject({
      status: 'committed',
      ts: ct,
    });
  });
});

describe('PaRiS: links and restarts (D6, D7)', () => {
  it('what a link lost is replayed after the reconnect, and nothing is applied twice', () => {
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

  it('a stretch that does not begin at or below what is there is not applied: the gap is asked for', () => {
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
    const replica = world.node('oregon-1').paris.replicas.find((r) => r.partition === 0)!;
    expect(replica.counters.gaps).toBeGreaterThan(0);
    expect(new TestClient(world, 'oregon-1').readOnce(keyIn(world, 0))).toEqual(['1']);
  });

  it('after a restart no timestamp lies at or below a published one, even when the clock went back', () => {
    const world = settled();
    const replica = world.node('virginia-1').paris.replicas.find((r) => r.partition === 0)!;
    const published = replica.versionClock;
    world.crash('virginia-1');
    world.node('virginia-1').skewMs = -60_000;
    world.restart('virginia-1');
    const { ct } = world.call('virginia-1', { ...commitOver(world, id(0), [0]), birth: 0, snapshot: 0 }, 'CommitResp');
    expect(ct).toBeGreaterThan(published);
  });

  it('a commit that was decided in memory only is decided again after a crash, at the same timestamp', () => {
    // The version clock on disk may have passed the proposal: it only stays below the commit timestamp.
    for (let moment = 2; moment < 60; moment += 2) {
      const world = settled({ delayMs: (from, to) => (from < to ? 1 : 9) });
      const asked = Array.from({ length: 60 }, (_, i) => {
        const node = world.topology.nodes[i % 3]!;
        const partitions = [i % 6, (i * 5 + 1) % 6].filter((p, at, all) => all.indexOf(p) === at);
        const request = { ...commitOver(world, id(i), partitions, String(i)), homes: [world.topology.regionOf(node)] };
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
      const ust = Math.max(...[...world.nodes.values()].map(({ paris }) => paris.stable.aggregated));
      expect(ust).toBeGreaterThanOrEqual(last);
      for (const { paris } of world.nodes.values()) {
        for (const { vv } of paris.replicas) expect(vv.durableMin).toBeGreaterThanOrEqual(last);
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
      () => world.node('virginia-1').paris.replicas.every(({ cohort }) => cohort.prepared.size === 0),
      20_000,
    );
    world.run(100);
    expect(world.call('virginia-1', commitOver(world, id(9), [partition!], large)).type).toBe('CommitResp');
  });

  it('a node whose disk is full refuses prepares durably, and answers for what it knows', () => {
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
