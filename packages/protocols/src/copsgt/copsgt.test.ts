import type { Dependency, StoredVersion, Version } from '@isochron/core';
import { joined, loseDisk } from '@isochron/testing/world/lost-disks';
import { settledWorld, without } from '@isochron/testing/world/operation-fixtures';
import {
  blockedIn,
  busyWhile,
  keyIn,
  OperationClient,
  type OperationWorld,
  operationMessages,
  REGIONS,
  replicated,
} from '@isochron/testing/world/operation-world';
import type { WorldOptions } from '@isochron/testing/world/world-of';
import { needsOf } from '../kernel/operations/named.js';
import { above, mergeDependencies, seenPartsOf } from '../kernel/operations/named-sessions.js';
import { copsGt } from './copsgt.js';
import { copsGtSession } from './session.js';

const settled = (options: WorldOptions = {}): OperationWorld => settledWorld(copsGt, options);

/** One region: partition 0 on virginia-1, 1 on virginia-2, 2 on virginia-3; virginia-4 holds nothing that is read. */
const oneRegion = (options: WorldOptions = {}): OperationWorld =>
  settled({ spec: replicated(['virginia'], 4, 4), ...options });

const newest = (world: OperationWorld, node: string, key: string): StoredVersion | undefined =>
  [...world.node(node).store.chains].find(([name]) => name.endsWith(`|${key}`))?.[1][0];

const rules = (world: OperationWorld) => world.node(world.topology.nodes[0]!).parts.coordinator.rules;

/** A client's ROT of two keys; the slice of the second is in transit for `ms`, while `meanwhile` runs. */
function rotWhile(
  world: OperationWorld,
  keys: readonly string[],
  delays: { slow: boolean },
  happens: () => void,
): void {
  const client = new OperationClient(world, 'virginia-4');
  delays.slow = true;
  const ref = world.ask('virginia-4', client.session.rot(keys));
  world.run(6);
  delays.slow = false;
  happens();
  world.until(() => world.answer('virginia-4', ref) !== undefined);
  client.session.answered(world.answer('virginia-4', ref) as Parameters<typeof client.session.answered>[0]);
}

const total = (world: OperationWorld, name: string): number =>
  world.topology.nodes.reduce((sum, node) => sum + world.counted(node, name), 0);

describe('COPS-GT: dependencies (COPS, section 4.2; Orbe, section 7.5)', () => {
  it('a version carries every version that its client depends on, and marks the nearest', () => {
    const world = oneRegion();
    const [x, y, z] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y'), keyIn(world, 2, 'z')];
    const alice = new OperationClient(world, 'virginia-4');
    const x1 = alice.put(x, 'X1');
    const y1 = alice.put(y, 'Y1');
    const bob = new OperationClient(world, 'virginia-4');
    bob.get(y);
    bob.put(z, 'Z1');
    expect(newest(world, 'virginia-3', z)?.depends).toEqual([
      { key: y, source: 0, ts: y1, near: true },
      { key: x, source: 0, ts: x1 },
    ]);
    expect(newest(world, 'virginia-1', x)?.depends).toBeUndefined();
  });

  it('the dependency list goes to the other regions with the version', () => {
    const world = settled();
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const client = new OperationClient(world, 'virginia-1');
    const x1 = client.put(x, 'X1');
    const y1 = client.put(y, 'Y1');
    world.until(() => world.ust() >= y1);
    expect(newest(world, 'oregon-1', y)?.depends).toEqual([{ key: x, source: 0, ts: x1, near: true }]);
  });

  it('a remote update is shown when its nearest dependencies are here: one check a partition, whatever the length of the list', () => {
    const delayMs = (from: string, to: string) => (from === 'virginia-2' && to === 'oregon-2' ? 150 : 1);
    const world = settled({ spec: replicated(['virginia', 'oregon'], 4, 4), delayMs });
    const keys = [0, 1, 2].map((partition) => keyIn(world, partition));
    const alice = new OperationClient(world, 'virginia-4');
    const last = keys.map((key) => alice.put(key, '1')).at(-1)!;
    world.run(60);
    const bob = new OperationClient(world, 'oregon-4');
    expect(keys.map((key) => bob.get(key))).toEqual(['1', null, null]);
    world.until(() => world.ust() >= last);
    expect(keys.map((key) => bob.get(key))).toEqual(['1', '1', '1']);
    // The second PUT depends on one version, the third one on two, of which one is nearest.
    expect([total(world, 'dependencies'), total(world, 'dependencyChecks')]).toEqual([3, 2]);
  });

  it('a version that has been in every region for six seconds is no longer named as a dependency', () => {
    const world = settled();
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const client = new OperationClient(world, 'virginia-1');
    client.put(x, '1');
    world.run(5_500);
    client.get(x);
    expect(client.session.depends).toHaveLength(1);
    world.run(1_000);
    client.get(x);
    expect(client.session.depends).toHaveLength(0);
    client.put(y, '1');
    expect(newest(world, 'virginia-1', y)?.depends).toBeUndefined();
  });

  it('versions that return to the log of a lost disk name their dependencies, too (D10)', () => {
    const world = settled();
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const client = new OperationClient(world, 'virginia-1');
    without(world, 'GossipUp', 'GossipRoot', 'GossipDown');
    const x1 = client.put(x, '1');
    client.put(y, '1');
    world.run(50);
    loseDisk(world, 'virginia-1');
    world.filter = () => true;
    world.until(joined(world, 'virginia-1'));
    const logged = world
      .node('virginia-1')
      .store.logs.get(1)
      ?.map(({ tx }) => tx.depends);
    expect(logged).toEqual([[{ key: x, source: 0, ts: x1, near: true }]]);
  });

  /** Two nodes of two regions lose their disks in turn, and one loses its disk again. */
  function loseInTurn(afterEach: (world: OperationWorld, node: string) => void): void {
    const world = settled({ spec: replicated(['virginia', 'oregon'], 1, 1) });
    const x = keyIn(world, 0, 'x');
    const x1 = new OperationClient(world, 'virginia-1').put(x, '1');
    world.until(() => world.node('virginia-1').store.meta.get('logTruncatedUpTo/0') === x1, 5_000);
    without(world, 'GossipUp', 'GossipRoot', 'GossipDown');
    for (const node of ['virginia-1', 'oregon-1', 'virginia-1']) {
      loseDisk(world, node);
      world.until(joined(world, node));
      world.run(200);
      expect(newest(world, node, x)).toMatchObject({ ts: x1, value: '1' });
      afterEach(world, node);
    }
  }

  it('nodes that lose their disks in turn have all versions again, although none aggregates a stable time in between (D10)', () => {
    loseInTurn(() => undefined);
  });

  it('nodes that lose their disks in turn have all versions again, also when each restarts in between (D10)', () => {
    loseInTurn((world, node) => {
      world.crash(node);
      world.restart(node);
      world.run(200);
    });
  });

  it('a node that copies reports the stable time up to which it copies (D10)', () => {
    const world = settled();
    new OperationClient(world, 'virginia-1').put(keyIn(world, 0), '1');
    world.run(1_000);
    const reported: number[] = [];
    world.filter = ({ message, from }) => {
      if (message.type === 'JoinResp' && from.node === 'virginia-1') reported.push(message.ust);
      return message.type !== 'CopyResp';
    };
    loseDisk(world, 'virginia-1');
    world.run(100);
    const { aggregated } = world.node('oregon-1').parts.stable;
    loseDisk(world, 'ireland-1');
    world.run(100);
    expect(joined(world, 'virginia-1')()).toBe(false);
    expect([...new Set(reported)]).toEqual([aggregated]);
  });

  it('a dependency is named as long as a region lacks it', () => {
    const world = settled();
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const client = new OperationClient(world, 'virginia-1');
    world.crash('ireland-1');
    client.put(x, '1');
    world.run(20_000);
    client.get(x);
    client.put(y, '1');
    expect(newest(world, 'virginia-1', y)?.depends).toHaveLength(1);
  });

  it('the timestamp of a PUT lies above all that its session has seen, and above the clock that let the session drop dependencies', () => {
    const world = settled();
    for (const entry of [0, 2]) {
      const client = new OperationClient(world, 'virginia-1');
      const ahead = world.node('virginia-1').parts.clock.last + 60_000 * 4096;
      const seen = [0, 0, 0].map((none, i) => (i === entry ? ahead : none));
      const answer = world.call('virginia-1', { ...client.session.put(keyIn(world, 0), '1'), seen }, 'PutResp');
      expect(answer.ts).toBeGreaterThan(ahead);
    }
  });

  it('a session that is idle for long and then reads drops the dependencies that it need not name', () => {
    const near: Dependency = { key: 'k', source: 0, ts: 5, near: true };
    const { merge, wrote } = copsGtSession.depends!;
    expect(merge([near], [{ ...near, key: 'l', ts: 9 }], [9, 5, 20])).toEqual([{ ...near, key: 'l', ts: 9 }]);
    expect(wrote([near], [{ ...near, key: 'l', ts: 9 }], [9, 0, 20])).toEqual([
      { key: 'k', source: 0, ts: 5 },
      { ...near, key: 'l', ts: 9 },
    ]);
  });
});

describe('COPS-GT: read-only transactions (COPS, section 5.2)', () => {
  const slowTo = (node: string, ms: number) => {
    const delays = { slow: false };
    return { delays, delayMs: (_from: string, to: string) => (delays.slow && to === node ? ms : 1) };
  };

  it("a ROT reads a key again whose version is older than another one's dependency: two rounds at most", () => {
    const { delays, delayMs } = slowTo('virginia-2', 60);
    const world = oneRegion({ delayMs });
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const writer = new OperationClient(world, 'virginia-3');
    writer.put(x, 'X0');
    let from = 0;
    rotWhile(world, [x, y], delays, () => {
      writer.put(x, 'X1');
      writer.put(y, 'Y1');
      from = world.sent.length;
    });
    expect(operationMessages(world, from)).toEqual(['RotSliceReq', 'RotSliceResp', 'RotVersionsReq', 'RotSliceResp']);
    expect(total(world, 'secondRounds')).toBe(1);
  });

  it('the second round reads the version that is depended on, though there is a newer one by then', () => {
    const { delays, delayMs } = slowTo('virginia-2', 60);
    const world = oneRegion({ delayMs });
    const [x, y, z] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y'), keyIn(world, 2, 'z')];
    const writer = new OperationClient(world, 'virginia-3');
    for (const key of [x, z]) writer.put(key, '0');
    const client = new OperationClient(world, 'virginia-4');
    delays.slow = true;
    const ref = world.ask('virginia-4', client.session.rot([x, y, z]));
    world.run(6);
    delays.slow = false;
    const x1 = writer.put(x, 'X1');
    writer.put(y, 'Y1');
    writer.put(z, 'Z2');
    writer.put(x, 'X2'); // depends on Z2: inconsistent with z of the first round
    world.until(() => world.answer('virginia-4', ref) !== undefined);
    expect(world.answer('virginia-4', ref)).toMatchObject({
      versions: [{ value: 'X1', ts: x1 }, { value: 'Y1' }, { value: '0' }],
    });
  });

  it('the replica of a key orders its versions of the same time', () => {
    const world = settled();
    const { demands } = rules(world);
    const at = (region: string, ts: number, depends?: Dependency[]): Version => {
      return { ts, txId: 't', region, value: '1', ...(depends && { depends }) };
    };
    const keys = ['default/x', 'default/y'];
    const wants = (read: Version | null, ...depends: Dependency[]) =>
      demands!(keys, [read, at('virginia', 99, depends)], []);
    const x = (source: number, ts: number): Dependency => ({ key: keys[0]!, source, ts });
    expect(wants(at('virginia', 8), x(0, 7), x(1, 7))).toEqual([]);
    expect(wants(at('virginia', 8), x(0, 8))).toEqual([]);
    expect(wants(at('virginia', 8), x(0, 7), x(1, 9))).toEqual([{ position: 0, wanted: [1, 9] }]);
    expect(wants(null, x(2, 3))).toEqual([{ position: 0, wanted: [2, 3] }]);
    expect(wants(at('virginia', 8), x(1, 8))).toEqual([{ position: 0, wanted: [1, 8, 0, 8] }]);
    expect(wants(null, x(1, 8), x(2, 8), x(0, 2))).toEqual([{ position: 0, wanted: [1, 8, 2, 8] }]);
  });

  it('a deletion that is depended on and collected reads as absent', () => {
    const world = oneRegion({ settings: { retentionMs: 0 } });
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const writer = new OperationClient(world, 'virginia-4');
    writer.put(x, '1');
    writer.put(x, null);
    writer.put(y, 'Y');
    world.until(() => !world.node('virginia-1').store.chains.has(`0|${x}`), 5_000);
    expect(new OperationClient(world, 'virginia-4').rot(x, y)).toEqual([null, 'Y']);
    expect(total(world, 'secondRounds')).toBe(1);
  });

  it('a missing version is never replaced by another one: the transaction begins again', () => {
    const world = oneRegion();
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const writer = new OperationClient(world, 'virginia-4');
    for (const key of [x, y]) writer.put(key, '1');
    const wanted = [0, world.node('virginia-1').parts.clock.last + 1];
    const held = jest
      .spyOn(world.node('virginia-4').parts.coordinator.rules, 'demands')
      .mockReturnValueOnce([{ position: 0, wanted }]);
    expect(new OperationClient(world, 'virginia-4').rot(x, y)).toEqual(['1', '1']);
    expect(held).toHaveBeenCalledTimes(2);
    expect(world.counted('virginia-4', 'secondTries')).toBe(1);
  });

  it('a version that was lost with a disk is requested once, and the remaining one is shown, also when the floor has passed it', () => {
    const world = oneRegion({ settings: { retentionMs: 0 } });
    const [x, y, z] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y'), keyIn(world, 2, 'z')];
    const writer = new OperationClient(world, 'virginia-4');
    writer.put(x, '1');
    const lost = writer.put(z, '1');
    writer.send({ ...writer.session.put(y, '2'), depends: [{ key: x, source: 0, ts: lost, near: true }] });
    expect(new OperationClient(world, 'virginia-4').rot(x, y)).toEqual(['1', '2']);
    expect(world.counted('virginia-4', 'secondTries')).toBe(1);
    world.until(() => world.node('virginia-1').parts.replicas[0]!.replication.gcFloor >= lost, 5_000);
    expect(new OperationClient(world, 'virginia-4').rot(x, y)).toEqual(['1', '2']);
    expect(world.counted('virginia-4', 'secondTries')).toBe(2);
  });

  it('a transaction of more than five seconds begins again: dependencies that it needs may have been dropped', () => {
    const { delays, delayMs } = slowTo('virginia-2', 5_500);
    const world = oneRegion({ delayMs, settings: { readTimeoutMs: 60_000 } });
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    rotWhile(world, [x, y], delays, () => {});
    expect(world.counted('virginia-4', 'secondTries')).toBe(1);
  });

  it('no operation ever waits, with clocks that disagree and a region far away', () => {
    const world = settled({
      spec: replicated(REGIONS, 2),
      skewMs: (node) => ({ 'virginia-1': 60, 'virginia-2': -60, 'oregon-1': 35 })[node] ?? 0,
      delayMs: (a, b) => (a.slice(0, 3) === b.slice(0, 3) ? 1 : 45),
    });
    busyWhile(world, 12);
    expect(blockedIn(world)).toEqual({ reads: 0, puts: 0, rots: 0, ms: 0 });
  });
});

describe('dependencies that name keys', () => {
  const of = (key: string, source: number, ts: number, near?: true): Dependency => ({
    key,
    source,
    ts,
    ...(near && { near }),
  });

  it('dependencies that name keys are kept once for each key and region: the newest, and near only if every list agrees', () => {
    const one = [of('a', 0, 5, true), of('b', 0, 3)];
    expect(mergeDependencies(one, [of('a', 0, 4, true), of('a', 1, 4)])).toEqual([...one, of('a', 1, 4)]);
    expect(mergeDependencies(one, [of('a', 0, 6)])).toEqual([of('a', 0, 6), of('b', 0, 3)]);
    expect(mergeDependencies(one, [of('a', 0, 5)])[0]).toEqual(of('a', 0, 5));
    expect(mergeDependencies([of('a', 0, 5)], [of('a', 0, 5, true)])).toEqual([of('a', 0, 5)]);
    expect(above(one, 3)).toEqual([one[0]]);
  });

  it('dependencies that name nonexistent versions delay nothing (D12)', () => {
    const world = settled();
    const key = keyIn(world, 2);
    const { topology } = world;
    expect(needsOf([of(key, 1, 7), of('nowhere/1', 1, 7), of(key, 9, 7)], topology)).toEqual([
      { partition: 2, region: 'oregon', ts: 7 },
    ]);
    expect(seenPartsOf([])).toEqual({ highest: 0, horizon: 0, clock: 0 });
  });
});
