/** Claims about a node that is suspended: what its map defers, and what goes on (M4, M5, M7). */
import type { NodeId } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import { everywhere, loseDisk, runRebuilding, versions } from '@isochron/testing/world/lost-disks';
import {
  at,
  cohortAt,
  cohortOn,
  deferredAt,
  I,
  mapsOf,
  O,
  prepareOf,
  replicaOn,
  SETTINGS,
  suspends,
  V,
} from '@isochron/testing/world/suspensions';
import { attemptsOf } from '../kernel/transactions/attempts.js';
import { DeferredSlices, deferredName, txIdOfDeferred } from '../kernel/transactions/deferred-slices.js';

describe('PaRiS: a suspended node', () => {
  it('stable time goes on without a suspended node, and shows what does not need it (M4, M5)', () => {
    const world = settled({ settings: SETTINGS });
    for (const other of [V, O]) world.cut(I, other);
    const { ct } = new TestClient(world, V).write({ [keyIn(world, cohortOn(world, V))]: '"alone"' });
    world.run(2_000);
    expect(world.node(O).parts.stable.value).toBeLessThan(ct);
    suspends(world);
    world.until(() => [V, O].every((node) => world.node(node).parts.stable.value >= ct), 1_000);
    expect(deferredAt(world, V)).toEqual([]);
  });

  it('a transaction with a slice on a suspended node is deferred at every replica, applied or not (M4, M7)', () => {
    const world = settled({ settings: SETTINGS });
    const partitions = [cohortOn(world, V), cohortOn(world, I)].sort((a, b) => a - b);
    // Ireland's part reaches no peer.
    world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
    const { ct } = world.call(V, commitOver(world, id(1), partitions), 'CommitResp');
    world.run(50);
    world.crash(I);
    suspends(world);
    world.until(() => world.node(V).parts.stable.value > ct, 2_000);
    expect(deferredAt(world, V)).toEqual([id(1)]);
    const key = keyIn(world, cohortOn(world, V));
    for (const node of [V, O]) {
      const chain = world.node(node).store.chains.get(`${cohortOn(world, V)}|${key}`) ?? [];
      expect(chain.filter(({ txId }) => txId === id(1))).toEqual([]);
    }
  });

  it('a suspended node that comes back defers the same transactions, and is a member again (M4, M5)', () => {
    const world = settled({ settings: SETTINGS });
    const partitions = [cohortOn(world, V), cohortOn(world, I)].sort((a, b) => a - b);
    const alone = cohortOn(world, I, 'ireland');
    world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
    world.call(V, commitOver(world, id(1), partitions), 'CommitResp');
    // Acknowledged by the node alone.
    world.call(I, { ...commitOver(world, id(2), [alone]), attemptRegions: ['ireland'] }, 'CommitResp');
    world.run(50);
    world.crash(I);
    suspends(world);
    world.filter = () => true;
    world.restart(I);
    for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes: [] });
    world.until(() => [V, O, I].every((node) => mapsOf(world, node).current.isMember(I)), 20_000);
    expect(deferredAt(world, I)).toEqual([id(1), id(2)]);
    expect(deferredAt(world, V)).toEqual([id(1)]);
    const { ct } = new TestClient(world, I).write({ [keyIn(world, cohortOn(world, I, 'ireland'))]: '"later"' });
    world.until(() => world.ust() >= ct, 2_000);
  });

  it('a deferred transaction is committed again, once, by the next attempt of its session (M7, M8)', () => {
    const world = settled({ settings: SETTINGS });
    const partitions = [cohortOn(world, V), cohortOn(world, I)].sort((a, b) => a - b);
    world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
    const request = commitOver(world, id(1), partitions);
    const { ct } = world.call(V, request, 'CommitResp');
    world.run(50);
    world.crash(I);
    suspends(world);
    world.filter = () => true;
    const again = { ...request, attemptRegions: ['virginia', 'virginia'], maps: [0, 1] };
    const moved = world.call(V, again, 'CommitResp');
    expect(moved.ct).toBeGreaterThan(ct);
    world.until(() => [V, O].every((node) => world.node(node).parts.stable.value >= moved.ct), 2_000);
    expect(world.call(O, again, 'CommitResp').ct).toBe(moved.ct);
    world.until(() => deferredAt(world, V).length === 0, 60_000);
    for (const partition of partitions) {
      const chains = [V, O].flatMap((node) =>
        [...world.node(node).store.chains].filter(([name]) => name.startsWith(`${partition}|`)),
      );
      const written = chains.flatMap(([, chain]) => chain.filter(({ txId }) => txId === id(1)).map(({ ts }) => ts));
      expect(new Set(written)).toEqual(new Set([moved.ct]));
    }
  });

  it('a node that comes back commits again what was deferred because of it, once, in the old order (M8, M9, M11, M12)', () => {
    const world = settled({ settings: SETTINGS });
    const partitions = [cohortOn(world, V), cohortOn(world, I)].sort((a, b) => a - b);
    const alone = cohortOn(world, I, 'ireland');
    world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
    const first = world.call(V, commitOver(world, id(1), partitions), 'CommitResp').ct;
    const second = { ...commitOver(world, id(2), [alone]), attemptRegions: ['ireland'] };
    const { ct } = world.call(I, second, 'CommitResp');
    world.run(50);
    world.crash(I);
    suspends(world);
    world.filter = () => true;
    world.run(1_000);
    world.restart(I);
    for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes: [] });
    const writtenAt = (txId: string, partition: number) =>
      [V, O, I].flatMap((node) =>
        [...world.node(node).store.chains]
          .filter(([name]) => name.startsWith(`${partition}|`))
          .flatMap(([, chain]) => chain.filter((version) => version.txId === txId).map(({ ts }) => ts)),
      );
    world.until(
      () => [id(1), id(2)].every((txId, i) => writtenAt(txId, [partitions[0]!, alone][i]!).length === 2),
      30_000,
    );
    const [again, alsoAgain] = [
      new Set(partitions.flatMap((p) => writtenAt(id(1), p))),
      new Set(writtenAt(id(2), alone)),
    ];
    expect([again.size, alsoAgain.size]).toEqual([1, 1]);
    expect([...again][0]).toBeGreaterThan(Math.max(first, ct));
    expect([...alsoAgain][0]).toBeGreaterThan([...again][0]!);
    world.until(() => [V, O, I].every((node) => deferredAt(world, node).length === 0), 60_000);
    // Its client asks for the outcome, or sends the same commit again.
    expect(world.call(V, second, 'CommitResp').ct).toBe([...alsoAgain][0]);
  });

  it('a commit that waits for a suspended node is pending, and its next attempt commits without it (M7, D4)', () => {
    const world = settled({ settings: SETTINGS });
    const partitions = [cohortOn(world, V), cohortOn(world, I)].sort((a, b) => a - b);
    for (const other of [V, O]) world.cut(I, other);
    const request = commitOver(world, id(1), partitions);
    const ref = world.ask(V, request);
    world.run(50);
    suspends(world);
    expect(world.answer(V, ref)).toMatchObject({ type: 'Refused', code: 'OUTCOME_PENDING' });
    const next = { ...request, attemptRegions: ['virginia', 'virginia'], maps: [0, 1] };
    const { ct } = world.call(V, next, 'CommitResp');
    world.until(() => [V, O].every((node) => world.node(node).parts.stable.value >= ct), 2_000);
  });

  it('a question about a deferred attempt is not answered with aborted once the commit was made again (M7, M8)', () => {
    const world = settled({ settings: SETTINGS });
    const partitions = [cohortOn(world, V), cohortOn(world, I)].sort((a, b) => a - b);
    // Ireland's slice stays undecided.
    world.filter = ({ to, message }) => !(to.node === I && message.type === 'CommitTx');
    const request = commitOver(world, id(1), partitions);
    world.call(V, request, 'CommitResp');
    world.run(50);
    world.crash(I);
    suspends(world);
    world.filter = () => true;
    const { ct } = world.call(V, { ...request, attemptRegions: ['virginia', 'virginia'], maps: [0, 1] }, 'CommitResp');
    world.until(() => deferredAt(world, V).length === 0, 60_000);
    const [from, partition] = [world.sent.length, cohortOn(world, V)];
    const asker = { node: O, machine: `replica/${cohortOn(world, I)}` };
    const identity = { txId: id(1), attempt: 0, home: 'virginia', map: 0, cohorts: partitions };
    const question = { type: 'ResolveReq', partition, identity, sentAfter: request.sentAfter } as const;
    world.inject({ node: V, machine: `replica/${partition}` }, asker, question);
    world.run(20);
    const answers = world.sent.slice(from).filter(({ to }) => to.node === O && to.machine === asker.machine);
    expect(answers.map(({ message }) => message)).toContainEqual(
      expect.objectContaining({ type: 'ResolveResp', txId: id(1), attempt: 0, state: 'deferred' }),
    );
    expect(world.call(V, request, 'CommitResp').ct).toBe(ct);
  });

  it('a refused round decides nothing about what is deferred: the next round needs no log, and the status is deferred (M7, M8)', () => {
    const world = settled({ settings: { ...SETTINGS, changeRetentionMs: 0 } });
    const cohorts = [cohortOn(world, V), cohortOn(world, I)].sort((a, b) => a - b);
    world.call(V, commitOver(world, id(1), cohorts), 'CommitResp');
    world.crash(I);
    suspends(world);
    expect(deferredAt(world, V)).toEqual([id(1)]);
    new TestClient(world, V).write({ [keyIn(world, cohortOn(world, V))]: '"later"' });
    world.run(3_000);
    const [to, from] = [replicaOn(world, V), { node: O, machine: 'coordinator' }];
    const { partition } = cohortAt(world, V).slices;
    const prepares = (attempt: number) =>
      world.inject(to, from, { ...prepareOf(world, V, { txId: id(1), attempt, cohorts, map: 1 }), sentAfter: 1 });
    prepares(1000);
    world.inject(to, from, { type: 'AbortTx', partition, txId: id(1), attempt: 1000 });
    world.inject(to, from, { type: 'OutcomeReq', ref: 4711, partition, txId: id(1) });
    prepares(1001);
    const since = world.sent.length;
    world.run(20);
    const answers = world.sent.slice(since).filter((one) => one.to.node === O && one.to.machine === 'coordinator');
    expect(answers.map(({ message }) => message)).toEqual([
      expect.objectContaining({ type: 'PrepareResp', attempt: 1000 }),
      expect.objectContaining({ type: 'OutcomeResp', state: 'deferred' }),
      expect.objectContaining({ type: 'PrepareResp', attempt: 1001 }),
    ]);
  });

  it('a deferred transaction has the status deferred, and once it is committed again the new timestamp (M8)', () => {
    const world = settled({ settings: SETTINGS });
    const cohorts = [cohortOn(world, V), cohortOn(world, I)].sort((a, b) => a - b);
    const { ct } = world.call(V, commitOver(world, id(1), cohorts), 'CommitResp');
    world.crash(I);
    suspends(world);
    const status = () => world.call(V, { type: 'TxStatusReq', txId: id(1) }, 'TxStatusResp');
    expect(status()).toMatchObject({ status: 'deferred', ts: null });
    world.restart(I);
    for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes: [] });
    world.until(() => [V, O].every((node) => deferredAt(world, node).length === 0), 20_000);
    const again = status();
    expect(again).toMatchObject({ status: 'committed' });
    expect(again.ts).toBeGreaterThan(ct);
  });

  it('nothing is committed again before stable time has passed the clocks with which all members adopted the map (M9)', () => {
    const world = settled({ settings: SETTINGS });
    const { stable } = world.node(V).parts;
    const request = commitOver(world, id(1), [cohortOn(world, V)]);
    world.crash(I);
    suspends(world);
    world.filter = ({ message }) => !message.type.startsWith('Gossip');
    const ref = world.ask(V, { ...request, attemptRegions: ['ireland', 'virginia'], maps: [0, 1] });
    world.run(1_000);
    expect([stable.isFenced, world.answer(V, ref)]).toEqual([false, undefined]);
    world.filter = () => true;
    world.until(() => world.answer(V, ref) !== undefined, 5_000);
    expect(world.answer(V, ref)).toMatchObject({ type: 'CommitResp' });
  });

  it('a write that a node committed below the horizon before it was suspended is not committed again (M8)', () => {
    const world = settled({ settings: SETTINGS });
    const request = { ...commitOver(world, id(1), [cohortOn(world, I, 'ireland')]), attemptRegions: ['ireland'] };
    const { ct } = world.call(I, request, 'CommitResp');
    world.until(() => [V, O].every((node) => world.node(node).parts.stable.value >= ct), 2_000);
    world.crash(I);
    suspends(world);
    const again = { ...request, attemptRegions: ['ireland', 'virginia'], maps: [0, 1] };
    expect(world.call(V, again, 'CommitResp').ct).toBe(ct);
  });

  it('the votes of every attempt are deferred: a commit that is made again and deferred again is not lost (M7)', () => {
    const deferred = new DeferredSlices();
    const slice = { pt: 5, home: 'p', sentAfter: 1, cohorts: [0], digest: '', coordinator: V, writes: [] };
    const record = (attempt: number, map: number) => ({ ...slice, attempt, map: 0, deferred: { map, first: 5 } });
    deferred.add(id(1), record(1000, 2));
    deferred.add(id(1), record(0, 1));
    expect(deferred.of(id(1)).map(({ attempt }) => attempt)).toEqual([0, 1000]);
    expect(deferred.get(id(1))?.attempt).toBe(1000);
    expect(txIdOfDeferred(deferredName(id(1), 1000))).toBe(id(1));
    deferred.remove(id(1));
    expect(deferred.size).toBe(0);
  });

  it('attempts after a suspension have cohorts that follow from the map alone, for any sender (M8)', () => {
    const world = settled({ settings: SETTINGS });
    world.crash(I);
    suspends(world);
    const of = (regions: string[], maps: number[], rest = {}) =>
      attemptsOf(
        { ...commitOver(world, id(1), [0]), attemptRegions: regions, maps, ...rest },
        [0],
        { cohortsAtHome: false },
        { maps: mapsOf(world, V), topology: mapsOf(world, V).current },
      ).map(({ home, map }) => [home, map]);
    expect(of(['oregon', 'oregon'], [0, 1])).toEqual([
      ['oregon', 0],
      ['virginia', 1],
    ]);
    expect(of(['ireland', 'ireland'], [0, 1])).toEqual([
      ['ireland', 0],
      ['virginia', 1],
    ]);
    // Their numbers follow from the map and the round: all senders mean the same attempt.
    const numbers = attemptsOf(
      { ...commitOver(world, id(1), [0]), attemptRegions: ['oregon', 'oregon', 'ireland'], maps: [0, 1, 1] },
      [0],
      { cohortsAtHome: false },
      { maps: mapsOf(world, V), topology: mapsOf(world, V).current },
    );
    expect(numbers.map(({ attempt }) => attempt)).toEqual([0, 1000, 1001]);
    // A first attempt of the present map is no recommit, unless its request may be a repetition.
    expect(of(['oregon'], [1])).toEqual([['oregon', 1]]);
    expect(of(['oregon'], [1], { sentAfter: 1 })).toEqual([['virginia', 1]]);
  });

  it('a node that is away prepares nothing (M6)', () => {
    const world = settled({ settings: SETTINGS });
    world.crash(I);
    suspends(world);
    world.restart(I);
    const [onI] = world.topology.partitionsOn(I);
    world.until(() => mapsOf(world, I).current.version === 1, 5_000);
    const from = world.sent.length;
    world.inject(
      { node: I, machine: `replica/${onI}` },
      { node: V, machine: 'coordinator' },
      {
        type: 'PrepareReq',
        partition: onI!,
        identity: { txId: id(2), attempt: 0, home: 'ireland', map: 1, cohorts: [onI!] },
        ust: world.ust(),
        ht: world.ust(),
        sentAfter: world.ust(),
        principal: 'anonymous',
        writes: [{ key: keyIn(world, onI!), value: '1' }],
      },
    );
    world.run(20);
    const answers = world.sent.slice(from).filter(({ message }) => message.type.startsWith('Prepare'));
    expect(answers.map(({ message }) => message.type)).not.toContain('PrepareResp');
  });

  it('a slice is dropped for a node that has returned alone (D12)', () => {
    const world = settled({ settings: SETTINGS });
    const partitions = [cohortOn(world, V), cohortOn(world, I)].sort((a, b) => a - b);
    world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
    world.call(V, commitOver(world, id(1), partitions), 'CommitResp');
    world.run(50);
    world.crash(I);
    suspends(world);
    const partition = cohortOn(world, V);
    for (const node of [O, I])
      world.inject(
        { node: V, machine: `replica/${partition}` },
        { node, machine: 'return' },
        {
          type: 'DropDeferred',
          partition,
          txId: id(1),
          attempt: 0,
        },
      );
    world.run(20);
    expect(deferredAt(world, V)).toEqual([id(1)]);
  });

  it('what members have written since reaches a node that comes back, and what it missed is not deferred (M4, M5)', () => {
    const world = settled({ settings: SETTINGS });
    world.crash(I);
    suspends(world);
    const shared = world.topology.partitions.find(
      ({ id: p, regions }) => regions.includes('ireland') && world.topology.cohort(p, 'virginia').node !== I,
    )!.id;
    const key = keyIn(world, shared);
    const client = new TestClient(world, V);
    client.write({ [key]: '"first"' });
    const { ct } = client.write({ [key]: '"second"' });
    world.run(500);
    world.restart(I);
    for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes: [] });
    world.until(() => mapsOf(world, I).current.isMember(I), 20_000);
    world.until(() => world.node(I).parts.stable.value >= ct, 5_000);
    const chain = world.node(I).store.chains.get(`${shared}|${key}`) ?? [];
    expect(chain[0]).toMatchObject({ ts: ct, value: '"second"' });
  });

  it('a member that loses its disk meanwhile keeps what the suspended node lacks of its log (D10d)', () => {
    const world = settled({ spec: everywhere(3), settings: SETTINGS });
    for (const other of [V, O]) world.cut(I, other);
    suspends(world);
    const { ct } = new TestClient(world, V).write({ [keyIn(world, 0)]: '"meanwhile"' });
    world.until(() => world.node(O).parts.stable.value >= ct, 2_000);
    loseDisk(world, V);
    for (const other of [V, O]) world.heal(I, other);
    for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes: [] });
    // The sources of the copies have adopted different maps.
    expect(mapsOf(world, I).current.version).toBeLessThan(mapsOf(world, O).current.version);
    expect(runRebuilding(world, 10_000)).toEqual([]);
    expect([V, O, I].map((node) => mapsOf(world, node).current.members)).toEqual([
      [V, O, I],
      [V, O, I],
      [V, O, I],
    ]);
    for (const partition of [0, 1, 2]) expect(versions(world, I, partition)).toEqual(versions(world, O, partition));
    expect(versions(world, V, 0)).toEqual(versions(world, O, 0));
  });

  it('a log keeps what a suspended node lacks of it, however many bytes that takes (D10d, CF2)', () => {
    const settings = { suspendAfterMs: 100, changeRetentionMs: 500, changeRetentionBytes: 0 };
    const world = settled({ spec: everywhere(1), settings });
    const client = new TestClient(world, V);
    client.write({ [keyIn(world, 0)]: '"before"' });
    world.run(100);
    // Its links are up, and nothing of the streams reaches it.
    world.filter = ({ to, message }) => to.node !== I || !/^(Replicate|Heartbeats)$/.test(message.type);
    suspends(world);
    const [, ct] = ['"one"', '"two"'].map((value) => client.write({ [keyIn(world, 0)]: value }).ct);
    world.run(2_000);
    world.filter = () => true;
    for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes: [] });
    world.until(() => world.node(I).parts.stable.value > ct!, 20_000);
    expect(world.node(I).store.chains.get(`0|${keyIn(world, 0)}`)?.[0]).toMatchObject({ value: '"two"' });
  });

  it('a returned node owes what needs a node that has left in order, until that one is back (M11, M12)', () => {
    const world = settled({ settings: SETTINGS });
    const partitions = [cohortOn(world, V), cohortOn(world, O), cohortOn(world, I)].sort((a, b) => a - b);
    world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
    world.call(V, commitOver(world, id(1), partitions), 'CommitResp');
    world.run(50);
    world.crash(I);
    suspends(world);
    world.filter = ({ message }) => message.type !== 'DeferredReq';
    world.restart(I);
    for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes: [] });
    world.until(() => [V, O, I].every((node) => mapsOf(world, node).current.isMember(I)), 20_000);
    world.inject(at(O), { node: O, machine: 'client' }, { type: 'LeaveReq', ref: 4711 });
    world.until(() => [V, I].every((node) => !mapsOf(world, node).current.isMember(O)), 10_000);
    world.filter = () => true;
    world.run(2_000);
    expect(deferredAt(world, I)).toEqual([id(1)]);
    world.inject(at(O), { node: O, machine: 'client' }, { type: 'ReturnReq', ref: 4712 });
    world.until(() => [V, O, I].every((node) => deferredAt(world, node).length === 0), 20_000);
    const status = world.call(V, { type: 'TxStatusReq', txId: id(1) });
    expect(status).toMatchObject({ status: 'committed' });
  });

  it('a crash does not lower the minimum that a member has reported: no stable time lies above the next horizon (M3)', () => {
    const world = settled({ settings: SETTINGS });
    world.run(700);
    const stable = world.node(I).parts.stable.value;
    // Ireland's node confirms the disk, and no more.
    world.filter = ({ from, message }) => from.node !== I || message.type === 'ResyncReq';
    world.crash(V);
    world.restart(V);
    world.run(100);
    suspends(world);
    expect(mapsOf(world, V).current.map.horizon).toBeGreaterThanOrEqual(stable);
  });

  it('a member does not report as deferred what was committed again below the stable time of the question (M8, M9)', () => {
    const world = settled({ settings: SETTINGS });
    const partitions = [cohortOn(world, V), cohortOn(world, I)].sort((a, b) => a - b);
    world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
    const request = commitOver(world, id(1), partitions);
    world.call(V, request, 'CommitResp');
    world.run(50);
    world.crash(I);
    suspends(world);
    // Stable time stands still, so that the deferred slice stays.
    const reported: string[] = [];
    const home = request.attemptRegions[0]!;
    const { ct } = world.call(V, { ...request, attemptRegions: [home, home], maps: [0, 1] }, 'CommitResp');
    world.filter = ({ message }) => {
      if (message.type === 'DeferredResp') reported.push(...message.slices.map(({ txId }) => txId));
      return !message.type.startsWith('Gossip');
    };
    const asks = (version: number, stable: number): void => {
      const of = (node: NodeId) => ({ node, machine: 'return' });
      world.inject(of(V), of(I), { type: 'DeferredReq', version, stable });
      world.run(100);
    };
    asks(1, ct - 1);
    expect(reported).toEqual([id(1)]);
    world.restart(I);
    for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes: [] });
    world.until(() => [V, O, I].every((node) => mapsOf(world, node).current.version === 2), 20_000);
    expect(deferredAt(world, V)).toEqual([id(1)]);
    asks(2, ct);
    expect(reported).toEqual([id(1)]);
  });

  it('a commit that needs a partition without a member prepares nothing, holds nothing back, and commits once it can (M4, M6)', () => {
    const spec = {
      regions: ['virginia', 'oregon', 'ireland'].map((region) => ({ id: region, nodes: [{ id: `${region}-1` }] })),
      keyspaces: [
        { name: 'default', partitions: 3, replication: 2 },
        { name: 'irish', partitions: 1, regions: ['ireland'] },
      ],
    };
    const world = settled({ spec, settings: SETTINGS });
    world.crash(I);
    suspends(world);
    world.run(2_000);
    const request = { ...commitOver(world, id(1), [cohortOn(world, V)]), maps: [1] };
    const writes = [...request.writes, { key: 'irish/a', value: '2' }];
    const ref = world.ask(V, { ...request, writes });
    world.run(500);
    const { ct } = new TestClient(world, V).write({ [keyIn(world, cohortOn(world, V))]: '"alone"' });
    world.until(() => [V, O].every((node) => world.node(node).parts.stable.value >= ct), 5_000);
    world.until(() => world.answer(V, ref) !== undefined, 60_000);
    expect(world.answer(V, ref)).toMatchObject({ type: 'Refused', code: 'OUTCOME_PENDING' });
    world.restart(I);
    for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes: [] });
    world.until(() => [V, O, I].every((node) => mapsOf(world, node).current.isMember(I)), 20_000);
    const { version } = mapsOf(world, V).current;
    const again = { ...request, writes, attemptRegions: ['virginia', 'virginia'], maps: [1, version] };
    world.until(() => world.node(V).parts.stable.isFenced, 5_000);
    const committed = world.call(V, again, 'CommitResp');
    world.until(() => world.ust() >= committed.ct, 2_000);
  });
});
