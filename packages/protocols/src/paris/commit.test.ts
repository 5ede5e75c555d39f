/** Claims about commits: timestamps, durability, retries, transactions whose coordinator has died. */
import { packWall } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import { backup, everywhere } from '@isochron/testing/world/lost-disks';
import type { World } from '@isochron/testing/world/world';
import type { CommitResp, TransactionMessage } from '../kernel/transactions/messages.js';

describe('PaRiS: timestamps', () => {
  it('a cohort never proposes a timestamp at or below the published version clock (P1)', () => {
    // The wall clock stands still between a round and a prepare in the same millisecond.
    const world = settled();
    const replica = world.node('virginia-1').parts.replicas[0]!;
    const key = keyIn(world, replica.partition);
    for (let i = 0; i < 20; i++) {
      world.until(() => (world.now - 5) % 5 === 0);
      const published = replica.replication.versionClock;
      const { ct } = world.call(
        'virginia-1',
        { ...commitOver(world, id(i), []), writes: [{ key, value: '1' }] },
        'CommitResp',
      );
      expect(ct).toBeGreaterThan(published);
      world.run(3);
    }
  });

  it('a replica applies every transaction with ct <= ub before its version clock reaches ub (P2)', () => {
    const world = settled();
    const { ct } = world.call('virginia-1', commitOver(world, id(0), [0]), 'CommitResp');
    const node = world.node('virginia-1');
    const replica = node.parts.replicas.find((r) => r.partition === 0)!;
    world.until(() => replica.replication.vv.durable('virginia') >= ct);
    expect(node.store.read(0, keyIn(world, 0), ct)?.value).toBe('1');
  });

  it('the commit timestamp is the greatest proposal and lies above everything the client has seen (Alg. 2 line 26, P6)', () => {
    for (const ahead of [1, 4]) {
      const world = settled();
      // The clock of one cohort runs ahead of the other one's: the proposals differ.
      world.node(world.topology.cohort(ahead, 'virginia').node).skewMs = 3;
      world.sent.length = 0;
      const ref = world.ask('virginia-1', commitOver(world, id(0), [1, 4]));
      world.until(() => world.answer('virginia-1', ref) !== undefined);
      const proposals = world.sent.flatMap(({ message }) => (message.type === 'PrepareResp' ? [message.pt] : []));
      expect(new Set(proposals).size).toBe(2);
      expect(world.answer('virginia-1', ref)).toMatchObject({ type: 'CommitResp', ct: Math.max(...proposals) });
    }
    const world = settled();
    const hwt = packWall(world.now + 2_000);
    const { ct } = world.call('virginia-1', { ...commitOver(world, id(0), [0, 1, 2, 3]), hwt }, 'CommitResp');
    expect(ct).toBeGreaterThan(hwt);
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
    const commit = { ...commitOver(world, id(0), [0]), sentAfter: 0, snapshot: 0 };
    const refused = world.call('virginia-1', commit, 'Refused');
    expect(refused.code).toBe('CLOCK_DRIFT');
    expect(virginia.store.outcome(0, id(0))?.status).toBe('aborted');
  });
});

describe('PaRiS: persist before you promise (D1)', () => {
  const promises: TransactionMessage['type'][] = ['PrepareResp', 'Replicate', 'CommitResp'];

  it('no prepare, commit answer or Replicate leaves before the records that it promises are on disk', () => {
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
    const { store, parts } = world.node('virginia-1');
    const replica = parts.replicas.find((r) => r.partition === 0)!;
    const onDisk = () => store.read(0, keyIn(world, 0), Number.MAX_SAFE_INTEGER)?.ts;
    // Between the apply round and the end of its batch the version clock is ahead of its durable value.
    let appliedAt: number | undefined;
    let steps = 0;
    while (onDisk() === undefined) {
      if (replica.counters.applied > 0) appliedAt ??= replica.replication.versionClock;
      if (appliedAt !== undefined) {
        steps++;
        expect(replica.replication.vv.durable('virginia')).toBeLessThan(appliedAt);
      }
      world.run(1);
    }
    expect(steps).toBeGreaterThan(10);
    world.until(() => world.answer('virginia-1', ref)?.type === 'CommitResp');
  });
});

describe('PaRiS: a commit decision (D1, D10)', () => {
  it('a commit decision is on the disk before it is sent, also before the commit is applied', () => {
    const world = settled({ settings: { applyIntervalMs: 1_000, commitTimeoutMs: 3_000 } });
    const commit = commitOver(world, id(0), [0, 1]);
    const kept: unknown[] = [];
    world.filter = ({ from: { node }, message }) => {
      if (message.type === 'ResolveResp' && message.state === 'committed')
        kept.push(world.node(node).store.end(message.partition, id(0))?.status);
      return message.type !== 'CommitTx' || message.partition === 0;
    };
    const { ct } = world.call('virginia-1', commit, 'CommitResp');
    // Virginia has the commit message, and applies it in a second; the other cohort has none, and asks.
    const cohort = world.node('virginia-1').parts.replicas.find(({ partition }) => partition === 0)!.cohort;
    world.until(() => cohort.slices.committed.get(id(0)) !== undefined, 500);
    const identity = { txId: id(0), attempt: 0, home: 'virginia', map: 0, cohorts: [0, 1] };
    const to = { node: 'virginia-1', machine: 'replica/0' };
    const from = { node: 'oregon-1', machine: 'replica/1' };
    world.inject(to, from, { type: 'ResolveReq', partition: 0, identity, sentAfter: commit.sentAfter });
    world.until(() => kept.length > 0, 500);
    expect(kept).toEqual(['committed']);
    // It survives a crash.
    world.crash('virginia-1');
    world.restart('virginia-1');
    expect(world.node('virginia-1').store.undecided()).toEqual([]);
    world.until(() => world.ust() >= ct, 20_000);
    expect(new TestClient(world, 'ireland-1').readOnce(keyIn(world, 0), keyIn(world, 1))).toEqual(['1', '1']);
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

  it('a retry while the outcome waits for the disk finds the outcome too', () => {
    const world = settled({ syncMs: 50 });
    const commit = commitOver(world, id(0), [0]);
    // Three coordinators: one that still runs the commit would answer without asking.
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

  it('an id used for writes on other partitions, whose cohorts do not have the id, is refused as long as the coordinator has it', () => {
    const world = settled();
    world.call('virginia-1', commitOver(world, id(0), [0]), 'CommitResp');
    expect(world.call('virginia-1', commitOver(world, id(0), [3]), 'Refused').code).toBe('TX_ID_REUSED');
  });

  it('an id used for other writes is refused also while the first commit is under way', () => {
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
    const commit = { ...commitOver(world, id(0), [0, 1]), attemptRegions: ['oregon'] };
    for (const peer of ['virginia-1', 'ireland-1']) world.cut('oregon-1', peer);
    const pending = world.call('virginia-1', { ...commit, attemptRegions: ['oregon', 'virginia'] }, 'Refused');
    expect(pending.code).toBe('OUTCOME_PENDING');
    for (const peer of ['virginia-1', 'ireland-1']) world.heal('oregon-1', peer);
    const { ct } = world.call('virginia-1', { ...commit, attemptRegions: ['oregon', 'virginia'] }, 'CommitResp');
    const first = world.call('oregon-1', commit);
    expect(first).toMatchObject({ type: 'Refused' });
    world.until(() => world.ust() >= ct);
    expect(new TestClient(world, 'ireland-1').readOnce(keyIn(world, 0), keyIn(world, 1))).toEqual(['1', '1']);
  });

  it('an attempt that avoids a region needs no node there, and its retry anywhere is the same commit (D4)', () => {
    const world = settled({ settings: { commitTimeoutMs: 3_000 } });
    const everything = world.topology.partitions.map(({ id: partition }) => partition);
    const commit = { ...commitOver(world, id(0), everything), avoids: [['oregon']] };
    world.crash('oregon-1');
    const { ct } = world.call('virginia-1', commit, 'CommitResp');
    expect(world.call('ireland-1', commit, 'CommitResp').ct).toBe(ct);
    const otherwise = world.call('ireland-1', { ...commit, avoids: [[]] }, 'Refused');
    expect(otherwise.code).toBe('ATTEMPT_MISMATCH');
    world.restart('oregon-1');
    world.until(() => world.ust() >= ct);
    const keys = everything.map((partition) => keyIn(world, partition));
    expect(new TestClient(world, 'oregon-1').readOnce(...keys)).toEqual(keys.map(() => '1'));
  });

  it('a prepare whose coordinator died resolves at the cohorts that its attempt names, also after a restart (D4)', () => {
    const world = settled();
    const far = world.topology.partitions.find(
      ({ id: p }) => world.topology.cohort(p, 'virginia').region === 'oregon',
    )!;
    const near = world.topology.partitions.find(
      ({ id: p }) => world.topology.cohort(p, 'virginia').region === 'virginia',
    )!;
    const commit = { ...commitOver(world, id(0), [near.id, far.id].sort()), avoids: [['oregon']] };
    world.ask('virginia-1', commit);
    const preparedIn = (node: string): number => world.node(node).store.prepared.size;
    world.until(() => preparedIn('virginia-1') > 0 && preparedIn('ireland-1') > 0);
    world.crash('virginia-1');
    world.crash('ireland-1');
    world.restart('ireland-1');
    world.restart('virginia-1');
    world.until(() => preparedIn('virginia-1') + preparedIn('ireland-1') === 0);
    expect(world.call('ireland-1', commit).type).toBe('CommitResp');
  });

  it.each([
    ['one list too few', []],
    ['a list that is not sorted', [['virginia', 'oregon']]],
    ['a region twice', [['oregon', 'oregon']]],
    ['an unknown region', [['atlantis']]],
  ])('a commit that avoids %s is refused', (_what, avoids) => {
    const world = settled();
    const refused = world.call('virginia-1', { ...commitOver(world, id(0), [0]), avoids }, 'Refused');
    expect(refused.code).toBe('INVALID_REQUEST');
  });

  it('a commit that is sent again asks about no settled attempt: a commit with many attemptRegions far away ends', () => {
    const world = settled({
      settings: { commitTimeoutMs: 1_000 },
      delayMs: (from, to) => (from === 'oregon-1' || to === 'oregon-1' ? 150 : 1),
    });
    const commit = {
      ...commitOver(world, id(0), [0, 1]),
      attemptRegions: ['oregon', 'oregon', 'oregon', 'oregon', 'virginia'],
    };
    const answers = [0, 1, 2].map(() => world.call('virginia-1', commit));
    expect(answers.map(({ type }) => type)).toContain('CommitResp');
    world.sent.length = 0;
    world.call('virginia-1', commit);
    expect(world.sent.filter(({ message }) => message.type === 'ResolveReq')).toEqual([]);
  });

  it('a commit older than the kept outcomes is refused with OUTCOME_FORGOTTEN, never run again', () => {
    const world = settled({ settings: { outcomeRetentionMs: 1_000 } });
    const commit = commitOver(world, id(0), [0]);
    world.call('virginia-1', commit, 'CommitResp');
    world.run(130_000);
    expect(world.node('virginia-1').store.outcome(0, id(0))).toBeUndefined();
    expect(world.call('virginia-1', commit, 'Refused').code).toBe('OUTCOME_FORGOTTEN');
  });

  it('an attempt whose outcome was dropped is never called aborted: the next one is refused with OUTCOME_FORGOTTEN', () => {
    const world = settled({ settings: { outcomeRetentionMs: 1_000 } });
    const commit = commitOver(world, id(0), [0]);
    world.call('virginia-1', commit, 'CommitResp');
    world.run(130_000);
    const { store } = world.node('virginia-1');
    expect(store.outcome(0, id(0))).toBeUndefined();
    const next = world.call('oregon-1', { ...commit, attemptRegions: ['virginia', 'oregon'] }, 'Refused');
    expect([next.code, store.outcome(0, id(0))]).toEqual(['OUTCOME_FORGOTTEN', undefined]);
  });

  it('log entries are truncated once UST has passed them', () => {
    const world = settled();
    world.call('virginia-1', commitOver(world, id(0), [0, 1]), 'CommitResp');
    world.run(3_000);
    for (const { store } of world.nodes.values())
      for (const id of store.logs.keys()) expect(store.ownLog(id)).toEqual([]);
  });
});

describe('PaRiS: cohorts resolve a transaction without its coordinator (D2)', () => {
  it('when the coordinator has died and all cohorts have prepared, they commit at the greatest proposal', () => {
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

  it('when one cohort never prepared, it writes a tombstone, all abort, and a late prepare is refused', () => {
    const world = settled({ settings: { commitTimeoutMs: 3_000 } });
    let dropped: TransactionMessage | undefined;
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

  it('a status request waits, within a bound, for unreachable replicas: no other node may have the outcome', () => {
    const world = settled();
    const { ct } = world.call('virginia-1', commitOver(world, id(0), [0]), 'CommitResp');
    world.run(200);
    world.cut('ireland-1', 'virginia-1');
    world.cut('ireland-1', 'oregon-1');
    const ref = world.ask('ireland-1', { type: 'TxStatusReq', txId: id(0) });
    world.run(100);
    expect(world.answer('ireland-1', ref)).toBeUndefined();
    world.heal('ireland-1', 'virginia-1');
    world.run(20);
    expect(world.answer('ireland-1', ref)).toMatchObject({ status: 'committed', ts: ct });
    world.cut('ireland-1', 'virginia-1');
    expect(world.call('ireland-1', { type: 'TxStatusReq', txId: id(0) })).toMatchObject({ status: 'unknown' });
  });

  it('a status response comes over links that are slower than a read is patient with one replica', () => {
    const world = settled({ delayMs: () => 150, settings: { readTimeoutMs: 200, readDeadlineMs: 5_000 } });
    const { ct } = world.call('virginia-1', commitOver(world, id(0), [0]), 'CommitResp');
    const asked = world.now;
    expect(world.call('ireland-1', { type: 'TxStatusReq', txId: id(0) })).toMatchObject({
      status: 'committed',
      ts: ct,
    });
    expect(world.now - asked).toBeGreaterThan(250);
  });

  it('a status response does not wait for a replica whose link is lost meanwhile', () => {
    const world = settled({ settings: { readTimeoutMs: 200, readDeadlineMs: 5_000 } });
    world.filter = ({ message }) => message.type !== 'OutcomeResp';
    const ref = world.ask('ireland-1', { type: 'TxStatusReq', txId: id(0) });
    world.run(1_000);
    expect(world.answer('ireland-1', ref)).toBeUndefined();
    world.cut('ireland-1', 'virginia-1');
    world.run(300);
    expect(world.answer('ireland-1', ref)).toMatchObject({ status: 'unknown' });
  });

  /** Oregon's attempt 0 was aborted, virginia's attempt 1 has committed. */
  function committedAgain(world: World): CommitResp {
    const commit = { ...commitOver(world, id(0), [0]), attemptRegions: ['oregon'] };
    world.filter = ({ message }) => message.type !== 'PrepareReq';
    world.call('virginia-1', commit);
    world.filter = () => true;
    return world.call('virginia-1', { ...commit, attemptRegions: ['oregon', 'virginia'] }, 'CommitResp');
  }

  it('a status response never reports aborted while a replica has not answered: a later attempt may have committed (D4)', () => {
    const world = settled({ settings: { commitTimeoutMs: 300 } });
    const { ct } = committedAgain(world);
    const ask = () => world.call('ireland-1', { type: 'TxStatusReq', txId: id(0) }, 'TxStatusResp');
    world.run(100);
    expect(ask()).toMatchObject({ status: 'committed', ts: ct });
    world.cut('ireland-1', 'virginia-1');
    expect(ask()).toMatchObject({ status: 'unknown' });
  });

  it('a status response never reports aborted where a replica may have dropped the commit of a later attempt (D5)', () => {
    const world = settled({ settings: { commitTimeoutMs: 300, outcomeRetentionMs: 1_000 } });
    world.node('oregon-1').skewMs = -20_000;
    committedAgain(world);
    world.until(() => world.node('virginia-1').store.end(0, id(0)) === undefined, 200_000);
    expect(world.node('oregon-1').store.outcome(0, id(0))).toMatchObject({ status: 'aborted', attempt: 0 });
    const { status } = world.call('ireland-1', { type: 'TxStatusReq', txId: id(0) }, 'TxStatusResp');
    expect(status).toBe('unknown');
  });

  it('a status response never reports aborted where a disk may be an old one that has lost the commit of a later attempt (D10)', () => {
    const world = settled({ spec: everywhere(1), settings: { commitTimeoutMs: 300 } });
    const commit = { ...commitOver(world, id(0), [0]), attemptRegions: ['virginia'] };
    world.refusal = 'OVERLOADED';
    expect(world.call('virginia-1', commit, 'Refused').code).toBe('OVERLOADED');
    world.refusal = undefined;
    world.run(100);
    const old = backup(world.node('oregon-1').store);
    world.cut('oregon-1', 'ireland-1');
    const key = keyIn(world, 0);
    const { ct } = world.call('oregon-1', { ...commit, attemptRegions: ['virginia', 'oregon'] }, 'CommitResp');
    world.until(() => world.node('virginia-1').store.read(0, key, ct)?.ts === ct, 2_000);
    world.cut('virginia-1', 'oregon-1');
    world.crash('oregon-1');
    world.restart('oregon-1', old);
    world.heal('oregon-1', 'ireland-1');
    for (const ms of [100, 3_000]) {
      world.run(ms);
      const { status } = world.call('ireland-1', { type: 'TxStatusReq', txId: id(0) }, 'TxStatusResp');
      expect(status).toBe('unknown');
    }
  });

  it('a node that has just started has no links: its status requests wait for the first ones', () => {
    const world = settled();
    const { ct } = world.call('virginia-1', commitOver(world, id(0), [0]), 'CommitResp');
    world.run(200);
    for (const peer of ['virginia-1', 'oregon-1']) world.cut('ireland-1', peer);
    world.crash('ireland-1');
    world.restart('ireland-1');
    const ref = world.ask('ireland-1', { type: 'TxStatusReq', txId: id(0) });
    world.run(100);
    world.heal('ireland-1', 'virginia-1');
    world.run(20);
    expect(world.answer('ireland-1', ref)).toMatchObject({ status: 'committed', ts: ct });
  });

  it('a status request never causes a tombstone', () => {
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
