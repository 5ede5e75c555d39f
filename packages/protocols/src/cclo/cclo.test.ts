import { HLC_TICKS_PER_MS, type Timestamp, type Value } from '@isochron/core';
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
import { ccLo } from './cclo.js';
import { KEPT, KEPT_MS } from './readers.js';

const settled = (options: WorldOptions = {}): OperationWorld => settledWorld(ccLo, options);

/** One region of three nodes: partition 0 on virginia-1, 1 on virginia-2, 2 on virginia-3. */
const oneRegion = (options: WorldOptions = {}): OperationWorld =>
  settled({ spec: replicated(['virginia'], 4, 4), ...options });

/** A ROT whose slices arrive when the test delivers them, with its client's name and its number. */
class Rot {
  static #refs = 1;
  readonly at: Timestamp;

  constructor(
    readonly world: OperationWorld,
    readonly client: string,
    readonly turn = 0,
    readonly region = 'virginia',
  ) {
    const { clock } = world.node(`${region}-4`).parts;
    this.at = clock.read(world.now);
    clock.advance(this.at);
  }

  /** One partition's answer; undefined before it arrives. */
  reads(key: string): Value | null | undefined {
    const { world, region } = this;
    const partition = world.topology.partitionOf(key);
    const coordinator = { node: `${region}-4`, machine: 'coordinator' };
    const ref = Rot.#refs++;
    const id = `${this.client}-0123456789.${this.turn.toString(36)}`;
    const to = { node: world.topology.replicaNode(partition, region)!, machine: `replica/${partition}` };
    world.inject(to, coordinator, {
      type: 'RotSliceReq',
      ref,
      partition,
      snapshot: [this.at],
      keys: [key],
      id,
    });
    const from = world.sent.length;
    world.run(10);
    const answer = world.sent
      .slice(from)
      .map(({ message }) => message)
      .find((message) => message.type === 'RotSliceResp' && message.ref === ref);
    return answer?.type === 'RotSliceResp' ? (answer.versions[0]?.value ?? null) : undefined;
  }

  /** Whether the node that began the ROT begins it again when all answers have arrived. */
  get discarded(): boolean {
    return this.world.node(`${this.region}-4`).parts.coordinator.rules.expired!([this.at]);
  }
}

/** Ids in the answers to readers checks since `from`. */
const idsInAnswers = (world: OperationWorld, from: number): string[][] =>
  world.sent
    .slice(from)
    .flatMap(({ message }) => (message.type === 'ReadersCheckResp' ? [message.readers.map(({ id }) => id)] : []));

const checks = (world: OperationWorld, from: number): string[] =>
  world.sent.slice(from).flatMap(({ to, message }) => (message.type === 'ReadersCheckReq' ? [to.machine] : []));

const count = (world: OperationWorld, name: string): number =>
  world.topology.nodes.reduce((sum, node) => sum + world.counted(node, name), 0);

describe('CC-LO: the readers check (section 3)', () => {
  it('a ROT that has read X0 is an old reader of x once X1 is there, and must not see versions that depend on X1 (Fig. 3)', () => {
    const world = oneRegion();
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const c2 = new OperationClient(world, 'virginia-4');
    c2.put(x, 'X0');
    c2.put(y, 'Y0');
    const t1 = new Rot(world, 'client-1');
    expect(t1.reads(x)).toBe('X0');
    c2.put(x, 'X1');
    c2.put(y, 'Y1');
    expect(t1.reads(y)).toBe('Y0');
    expect(t1.reads(x)).toBe('X0');
    expect(new Rot(world, 'client-3').reads(y)).toBe('Y1');
  });

  it('a ROT that has read X1 sees versions that depend on it', () => {
    const world = oneRegion();
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const c2 = new OperationClient(world, 'virginia-4');
    c2.put(x, 'X1');
    const t1 = new Rot(world, 'client-1');
    expect(t1.reads(x)).toBe('X1');
    c2.put(y, 'Y1');
    expect(t1.reads(y)).toBe('Y1');
  });

  it('old readers are passed on: a PUT names its nearest dependencies only', () => {
    const world = oneRegion();
    const [x, y, z] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y'), keyIn(world, 2, 'z')];
    const c2 = new OperationClient(world, 'virginia-4');
    for (const key of [x, y, z]) c2.put(key, 'old');
    const t1 = new Rot(world, 'client-1');
    expect(t1.reads(x)).toBe('old');
    for (const key of [x, y]) c2.put(key, 'new');
    expect(c2.session.depends.map(({ key }) => key)).toEqual([y]);
    c2.put(z, 'new');
    expect(t1.reads(z)).toBe('old');
  });

  it('the version that an old reader is shown does not change, however many are written after it', () => {
    const world = oneRegion();
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const c2 = new OperationClient(world, 'virginia-4');
    c2.put(x, 'X0');
    c2.put(y, 'Y0');
    const t1 = new Rot(world, 'client-1');
    expect(t1.reads(x)).toBe('X0');
    for (const round of ['1', '2', '3']) {
      c2.put(x, `X${round}`);
      c2.put(y, `Y${round}`);
      expect([t1.reads(x), t1.reads(y)]).toEqual(['X0', 'Y0']);
    }
  });

  it("a readers check covers the PUT's own partition, too", () => {
    const world = oneRegion();
    const [x, w] = [keyIn(world, 0, 'x'), keyIn(world, 0, 'w')];
    const c2 = new OperationClient(world, 'virginia-4');
    for (const key of [x, w]) c2.put(key, 'old');
    const t1 = new Rot(world, 'client-1');
    expect(t1.reads(x)).toBe('old');
    for (const key of [x, w]) c2.put(key, 'new');
    expect(t1.reads(w)).toBe('old');
  });

  it('a readers check covers a version that was older than the newest one when it came', () => {
    const world = oneRegion();
    const [x, y, z] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y'), keyIn(world, 2, 'z')];
    const c2 = new OperationClient(world, 'virginia-4');
    for (const key of [x, z]) c2.put(key, 'old');
    const t1 = new Rot(world, 'client-1');
    expect(t1.reads(x)).toBe('old');
    c2.put(x, 'new');
    const { records } = partOf(world, 1);
    const newest = { ts: world.node('virginia-2').parts.clock.latest(world.now, 1_000), txId: 'far', region: 'oregon' };
    const held = jest.spyOn(records.versions, 'at').mockReturnValueOnce({ ...newest, value: 'newer' });
    c2.put(y, 'late');
    expect(held).toHaveBeenCalled();
    c2.put(z, 'new');
    expect(t1.reads(z)).toBe('old');
  });

  it('an old reader is shown the version before the write that it must not see, not the one at the time of its read: that may be too old', () => {
    const world = oneRegion();
    const [x, y, z] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y'), keyIn(world, 2, 'z')];
    const [c1, c2] = ['virginia-4', 'virginia-4'].map((node) => new OperationClient(world, node));
    const t1 = new Rot(world, 'client-1');
    expect(t1.reads(x)).toBeNull();
    c1!.put(y, 'Y0');
    c1!.put(z, 'Z1');
    expect(t1.reads(z)).toBe('Z1');
    c2!.put(x, 'X1');
    c2!.put(y, 'Y1');
    // When it read x there was no y; but Z1, which it has read, depends on Y0.
    expect(t1.reads(y)).toBe('Y0');
  });

  it('a PUT asks all partitions that its client depends on, and no other', () => {
    const world = oneRegion();
    const keys = [0, 1, 2, 3].map((partition) => keyIn(world, partition));
    const writer = new OperationClient(world, 'virginia-4');
    for (const key of keys) writer.put(key, '1');
    const client = new OperationClient(world, 'virginia-4');
    let from = world.sent.length;
    client.put(keys[3]!, '2');
    expect(checks(world, from)).toEqual([]);
    client.rot(keys[0]!, keys[1]!, keys[2]!);
    from = world.sent.length;
    client.put(keys[0]!, '2');
    // The versions that it has read and written; its own partition is checked without a message.
    expect(checks(world, from).sort()).toEqual(['replica/1', 'replica/2', 'replica/3']);
    expect(operationMessages(world, from)).toEqual(['PutSliceReq', 'PutSliceResp']);
  });

  it('a ROT takes one round and one version of each key', () => {
    const world = oneRegion();
    const keys = [0, 1, 2].map((partition) => keyIn(world, partition));
    const client = new OperationClient(world, 'virginia-4');
    client.put(keys[0]!, '1');
    const from = world.sent.length;
    client.rot(...keys);
    expect(operationMessages(world, from)).toEqual([
      ...keys.map(() => 'RotSliceReq'),
      ...keys.map(() => 'RotSliceResp'),
    ]);
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

  it('no read ever waits, with clocks that disagree and a region far away; PUTs do, and that is counted', () => {
    const world = settled({
      spec: replicated(REGIONS, 2),
      skewMs: (node) => ({ 'virginia-1': 60, 'virginia-2': -60, 'oregon-1': 35 })[node] ?? 0,
      delayMs: (a, b) => (a.slice(0, 3) === b.slice(0, 3) ? 1 : 45),
    });
    busyWhile(world, 12);
    expect(blockedIn(world)).toMatchObject({ reads: 0, rots: 0 });
    expect(blockedIn(world).puts).toBeGreaterThan(12);
    expect(count(world, 'blockedPutMs')).toBeGreaterThan(12);
  });

  it("the ids that checks bring and the dependencies of other regions' updates are counted", () => {
    const delayMs = (a: string, b: string) => (a.slice(0, 3) === b.slice(0, 3) ? 1 : 100);
    const world = settled({ spec: replicated(REGIONS, 4, 4), delayMs });
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const client = new OperationClient(world, 'virginia-4');
    client.put(x, '1');
    for (const name of ['client-1', 'client-2']) new Rot(world, name).reads(x);
    client.put(x, '2');
    client.put(y, '1');
    // Two PUTs, the first of which depends on its own partition.
    expect([count(world, 'readersChecks'), count(world, 'readersCheckIds')]).toEqual([2, 2]);
    world.until(() => world.ust() > client.session.seen[0]!);
    expect(count(world, 'readersChecks')).toBe(6);
    expect([count(world, 'dependencies'), count(world, 'dependencyChecks')]).toEqual([4, 2]);
  });
});

describe('CC-LO: the two optimisations (section 5.1)', () => {
  it('a ROT id leaves the records 500 ms after the ROT began', () => {
    const world = oneRegion();
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const client = new OperationClient(world, 'virginia-4');
    client.put(x, '1');
    const rot = new Rot(world, 'client-1');
    rot.reads(x);
    client.put(x, '2');
    client.put(y, '1');
    const { records } = partOf(world, 0);
    const size = () => [records.size, partOf(world, 1).records.size];
    expect(size()).toEqual([1, 1]);
    world.run(KEPT_MS - 150);
    expect(size()).toEqual([1, 1]);
    world.run(350);
    expect(size()).toEqual([0, 0]);
    expect(rot.discarded).toBe(true);
  });

  it('an answer names one ROT of each client, the latest', () => {
    const world = oneRegion();
    const [x, w, y] = [keyIn(world, 0, 'x'), keyIn(world, 0, 'w'), keyIn(world, 1, 'y')];
    const client = new OperationClient(world, 'virginia-4');
    client.put(x, '1');
    for (const turn of [3, 40, 7]) new Rot(world, 'client-1', turn).reads(x);
    new Rot(world, 'client-2', 1).reads(x);
    new Rot(world, 'client-2', 2).reads(w);
    client.put(x, '2');
    client.put(w, '2');
    client.get(x);
    const from = world.sent.length;
    client.put(y, '1');
    expect(idsInAnswers(world, from).map((ids) => [...ids].sort())).toEqual([
      [`client-1-0123456789.${(40).toString(36)}`, 'client-2-0123456789.2'],
    ]);
  });

  it('a ROT that takes longer than 500 ms begins again, under another time', () => {
    let slow = false;
    const delayMs = (_from: string, to: string) => (slow && to === 'virginia-2' ? 600 : 1);
    const world = oneRegion({ delayMs });
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const c2 = new OperationClient(world, 'virginia-3');
    c2.put(x, '0');
    const c1 = new OperationClient(world, 'virginia-4');
    slow = true;
    const ref = world.ask('virginia-4', c1.session.rot([x, y]));
    world.run(6);
    slow = false;
    c2.put(x, '1');
    world.run(520);
    c2.put(y, '1');
    world.until(() => world.answer('virginia-4', ref) !== undefined);
    expect(world.answer('virginia-4', ref)).toMatchObject({ versions: [{ value: '1' }, { value: '1' }] });
    expect(world.counted('virginia-4', 'secondTries')).toBe(1);
  });
});

describe('CC-LO: other regions (section 3, Challenges of geo-replication)', () => {
  it('an update is shown when its dependencies are here, and not to ROTs that have read older versions of those', () => {
    const delayMs = (from: string, to: string) => (from === 'virginia-1' && to === 'oregon-1' ? 150 : 1);
    const world = settled({ spec: replicated(['virginia', 'oregon'], 4, 4), delayMs });
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const alice = new OperationClient(world, 'virginia-4');
    alice.put(x, 'X0');
    const y0 = alice.put(y, 'Y0');
    world.until(() => world.ust() > y0);
    alice.put(x, 'X1');
    alice.put(y, 'Y1');
    world.run(50);
    const bob = new OperationClient(world, 'oregon-4');
    expect(bob.get(y)).toBe('Y0');
    const rot = new Rot(world, 'client-1', 0, 'oregon');
    expect(rot.reads(x)).toBe('X0');
    world.until(() => bob.get(y) === 'Y1');
    expect(bob.get(x)).toBe('X1');
    expect(rot.discarded).toBe(false);
    expect(rot.reads(y)).toBe('Y0');
  });
});

describe('CC-LO: failures', () => {
  it('lost answers to a readers check are requested again, and the PUT happens once', () => {
    const world = oneRegion({ settings: { readTimeoutMs: 200 } });
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const client = new OperationClient(world, 'virginia-4');
    client.put(x, '1');
    without(world, 'ReadersCheckResp');
    const request = client.session.put(y, '1');
    const refs = [world.ask('virginia-4', request), world.ask('virginia-3', request)];
    world.run(300);
    expect(world.answer('virginia-4', refs[0]!)).toBeUndefined();
    world.filter = () => true;
    world.run(600);
    const [first, second] = refs.map((ref, i) => world.answer(['virginia-4', 'virginia-3'][i]!, ref));
    expect(first).toMatchObject({ type: 'PutResp' });
    expect(second).toMatchObject({ type: 'PutResp', ts: (first as { ts: number }).ts });
    expect([...world.node('virginia-2').store.chains.values()].flat()).toHaveLength(1);
    expect(partOf(world, 1).checks.size).toBe(0);
  });

  it('a PUT whose replica crashes during its readers check happens once, after another one', () => {
    const world = oneRegion({ settings: { readTimeoutMs: 200 } });
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const client = new OperationClient(world, 'virginia-4');
    client.put(x, '1');
    without(world, 'ReadersCheckResp');
    const ref = world.ask('virginia-4', client.session.put(y, '1'));
    world.run(20);
    expect(partOf(world, 1).checks.size).toBe(1);
    world.crash('virginia-2');
    world.filter = () => true;
    world.restart('virginia-2');
    world.until(() => world.answer('virginia-4', ref) !== undefined);
    expect(world.answer('virginia-4', ref)).toMatchObject({ type: 'PutResp' });
    expect([...world.node('virginia-2').store.chains.values()].flat()).toHaveLength(1);
  });

  it('PUTs of one partition take their timestamps in the order in which their readers checks end', () => {
    const world = settled({ spec: replicated(['virginia', 'oregon'], 4, 4) });
    const [x, y, z] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y'), keyIn(world, 1, 'z')];
    const [slow, fast] = [new OperationClient(world, 'virginia-4'), new OperationClient(world, 'virginia-3')];
    slow.put(x, '1');
    without(world, 'ReadersCheckResp');
    const first = world.ask('virginia-4', slow.session.put(y, 'slow'));
    world.run(5);
    const early = fast.put(z, 'fast');
    world.run(30);
    world.filter = () => true;
    world.until(() => world.answer('virginia-4', first) !== undefined);
    const late = (world.answer('virginia-4', first) as { ts: number }).ts;
    expect(late).toBeGreaterThan(early);
    world.until(() => world.ust() >= late);
    const reader = new OperationClient(world, 'oregon-4');
    expect([reader.get(y), reader.get(z)]).toEqual(['slow', 'fast']);
    expect(count(world, 'stale')).toBe(0);
  });

  it.each([
    ['that has answered a ROT', 0],
    ['that has received the id of a ROT', 1],
  ])('a node %s loses it in a crash, and the ROT begins again', (_what, partition) => {
    const world = oneRegion();
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const c2 = new OperationClient(world, 'virginia-3');
    c2.put(x, '0');
    c2.put(y, '0');
    world.run(700);
    const t1 = new Rot(world, 'client-1');
    expect(t1.reads(x)).toBe('0');
    c2.put(x, '1');
    if (partition === 1) c2.put(y, '1');
    expect(t1.discarded).toBe(false);
    const holder = world.topology.replicaNode(partition, 'virginia')!;
    world.crash(holder);
    world.restart(holder);
    world.run(5);
    c2.put(y, '2');
    // The answer shows too much, and its clock reveals that.
    expect(t1.reads(y)).toBe('2');
    expect(t1.discarded).toBe(true);
  });

  it('every later incarnation of a node that has answered a ROT, or received its id, begins when its time is over', () => {
    const world = oneRegion();
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    const client = new OperationClient(world, 'virginia-4');
    client.put(x, '0');
    const ceiling = (node: string) => Number(world.node(node).store.meta.get('ceiling'));
    const rot = new Rot(world, 'client-1');
    // Above any ceiling that was raised for another reason.
    Object.assign(rot, { at: ceiling('virginia-2') + 2 * KEPT });
    rot.reads(x);
    expect(ceiling('virginia-1')).toBeGreaterThanOrEqual(rot.at + KEPT);
    client.put(x, '1');
    client.put(y, '1');
    expect(ceiling('virginia-2')).toBeGreaterThanOrEqual(rot.at + KEPT);
  });

  it("an answer to a ROT waits until the ceiling above the ROT's time is on disk (D1)", () => {
    const world = oneRegion();
    const key = keyIn(world, 0);
    world.diskMs.set('virginia-1', Number.POSITIVE_INFINITY);
    const { clock } = world.node('virginia-1').parts;
    const far = new Rot(world, 'client-1');
    Object.assign(far, { at: clock.ceiling - KEPT + HLC_TICKS_PER_MS });
    expect(far.reads(key)).toBeUndefined();
    expect(world.counted('virginia-1', 'heldAnswers')).toBe(1);
    world.diskMs.set('virginia-1', 1);
    world.until(() => clock.ceiling >= far.at + KEPT);
    expect(far.reads(key)).toBeNull();
  });

  it('a node that has lost its disk, and its records, passes the time of all ROTs under way (D10)', () => {
    const world = settled({ spec: replicated(REGIONS, 4, 4) });
    const x = keyIn(world, 0, 'x');
    new OperationClient(world, 'virginia-4').put(x, '0');
    world.run(100);
    const rot = new Rot(world, 'client-1');
    expect(rot.reads(x)).toBe('0');
    const holder = world.topology.replicaNode(0, 'virginia')!;
    loseDisk(world, holder);
    world.until(joined(world, holder));
    world.run(20);
    expect(rot.discarded).toBe(true);
  });

  it('a ROT without an id, and impossible dependencies, are refused (D12)', () => {
    const world = oneRegion();
    const key = keyIn(world, 0);
    const client = new OperationClient(world, 'virginia-4');
    const { id: _, ...nameless } = client.session.rot([key]);
    expect(world.call('virginia-4', nameless, 'Refused').code).toBe('INVALID_REQUEST');
    client.session.refused();
    const put = client.session.put(key, '1');
    for (const wrong of [{ source: 9 }, { ts: world.node('virginia-1').parts.clock.last }, { key: 'nowhere/1' }]) {
      const depends = [{ key, source: 0, ts: 0, ...wrong }];
      expect(world.call('virginia-4', { ...put, depends }, 'Refused').code).toBe('INVALID_REQUEST');
    }
    expect(world.call('virginia-4', put, 'PutResp').type).toBe('PutResp');
  });
});

/** The protocol's state in a replica of virginia. */
function partOf(world: OperationWorld, partition: number) {
  const node = world.topology.replicaNode(partition, 'virginia')!;
  const replica = world.node(node).parts.replicas.find((each) => each.partition === partition)!;
  return replica.part as never as import('./cclo.js').Readers;
}
