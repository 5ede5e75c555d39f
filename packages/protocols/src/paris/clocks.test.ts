/**
 * Claims about clocks that are far off (K1–K5, T1): no clock follows them, and the cluster continues without their
 * node.
 */
import { type DurableRecord, MAX_TIMESTAMP, packWall, type Timestamp, wallOf } from '@isochron/core';
import { sample } from '@isochron/testing/samples';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { World } from '@isochron/testing/world/world';
import { NodeClock } from '../kernel/node-clock.js';
import { StableProgress } from '../kernel/replication/stable-progress.js';
import type { TransactionMessage } from '../kernel/transactions/messages.js';
import type { Envelope } from '../machine.js';

const LIMIT_MS = 5_000;
const ELEVEN_MINUTES = 660_000;
const DECADES = 1_577_000_000_000;

/** Three nodes that check their clocks as drivers let them. */
function clocked(options: ConstructorParameters<typeof World>[0] = {}): World {
  // A node without links cannot verify its disk.
  const settings = { maxClockDriftMs: LIMIT_MS, verifyTimeoutMs: 50, ...options.settings };
  const world = new World({ readings: true, ...options, settings });
  world.run(100);
  return world;
}

/** The newest timestamp that any node has in its clock or on its disk. */
function newest(world: World): Timestamp {
  const of = ({ parts, store }: ReturnType<World['node']>) => {
    const { ceiling, ust, ...more } = Object.fromEntries(store.recover().meta) as Record<string, unknown>;
    const vectors = Object.values(more).filter((value) => typeof value === 'object' && value !== null);
    const entries = vectors.flatMap((value) => Object.values(value as Record<string, number>));
    return Math.max(parts.clock.last, Number(ceiling ?? 0), Number(ust ?? 0), ...entries);
  };
  return Math.max(...[...world.nodes.values()].map(of));
}

/** The limit of the drift, and the second by which ceilings lie ahead. */
const near = (world: World): Timestamp => packWall(world.now + LIMIT_MS + 1_000);

/** A partition without a replica in a region, as its other regions see it. */
function elsewhere(world: World, region: string): { key: string; node: string } {
  const partition = world.topology.partitions.find(({ regions }) => !regions.includes(region))!;
  return { key: keyIn(world, partition.id), node: `${partition.regions[0]}-1` };
}

/** Lets a peer send a frame, whatever its clock shows. */
function frame(world: World, hlc: Timestamp, messages: readonly TransactionMessage[] = []): string | undefined {
  const to = { node: 'virginia-1', machine: 'replica/0' };
  const from = { node: 'oregon-1', machine: 'replica/0' };
  const envelopes = messages.map((message): Envelope<TransactionMessage> => ({ to, from, message }));
  return world.node('virginia-1').peers.receives('oregon-1', hlc, envelopes, world.now);
}

/** The clock of a running node jumps, and is set right half a second later. */
function jumps(world: World, ms: number): void {
  world.node('oregon-1').skewMs = ms;
  world.run(500);
  expect(world.node('oregon-1').parts.clock.problem).toMatch(/clock is \d+ ms/);
  const { key, node } = elsewhere(world, 'oregon');
  new TestClient(world, node).write({ [key]: '1' });
  expect(newest(world)).toBeLessThanOrEqual(near(world));
  world.node('oregon-1').skewMs = 0;
  world.heal('virginia-1', 'oregon-1');
  world.heal('ireland-1', 'oregon-1');
  world.run(500);
  expect(world.node('oregon-1').parts.clock.problem).toBeUndefined();
  const { ct } = new TestClient(world, 'oregon-1').write({ [keyIn(world, 0)]: '2', [keyIn(world, 1)]: '2' });
  world.until(() => world.ust() >= ct, 5_000);
  expect(newest(world)).toBeLessThanOrEqual(near(world));
}

describe('PaRiS: timestamps of others (K1)', () => {
  it('an empty frame whose clock lies at the end of time is refused, and moves no clock (K1)', () => {
    const world = clocked();
    const before = world.node('virginia-1').parts.clock.last;
    expect(frame(world, MAX_TIMESTAMP)).toMatch(/more than 5000 ms ahead/);
    expect(frame(world, packWall(world.now + LIMIT_MS) + 4096)).toBeDefined();
    expect(world.node('virginia-1').parts.clock.last).toBe(before);
    expect(frame(world, packWall(world.now + LIMIT_MS))).toBeUndefined();
    expect(world.node('virginia-1').parts.clock.last).toBe(packWall(world.now + LIMIT_MS));
    expect(world.node('virginia-1').peers.counters.clockRefusedFrames).toBe(2);
  });

  it.each<[string, (far: Timestamp) => TransactionMessage]>([
    ['Replicate.to', (to) => sample('Replicate', { from: 0, to, groups: [] })],
    ['a replicated group', (ct) => sample('Replicate', { from: 0, to: 1, groups: [{ ct, txs: [] }] })],
    ['Heartbeat.to', (to) => sample('Heartbeat', { from: 0, to, verified: true })],
    ['CommitTx.ct', (ct) => ({ type: 'CommitTx', partition: 0, txId: 'some-session-00001.0', attempt: 0, ct })],
    ['GossipDown.ust', (ust) => ({ type: 'GossipDown', ust, sOld: 0, wallMs: 0 })],
    [
      'JoinResp.clocks',
      (clock) => ({
        type: 'JoinResp',
        joined: true,
        retiring: false,
        setAside: false,
        ust: 0,
        clocks: [{ partition: 0, clock }],
      }),
    ],
    [
      'CopyResp.vector',
      (ts) => ({
        type: 'CopyResp',
        ref: 1,
        part: 0,
        parts: 1,
        versions: [],
        next: null,
        vector: [{ region: 'oregon', ts }],
        gcFloor: 0,
      }),
    ],
    [
      'PrepareReq.ht',
      (ht) => ({
        type: 'PrepareReq',
        partition: 0,
        identity: { txId: 'some-session-00001.0', attempt: 0, home: 'oregon', map: 0, cohorts: [0] },
        ust: 0,
        ht,
        sentAfter: 0,
        principal: 'p',
        writes: [],
      }),
    ],
  ])('a frame with a far timestamp in %s is refused as a whole (K1)', (_name, message) => {
    const world = clocked();
    expect(frame(world, 0, [message(packWall(world.now + LIMIT_MS + 10))])).toMatch(/ahead/);
    expect(frame(world, 0, [message(MAX_TIMESTAMP)])).toMatch(/ahead/);
  });

  it('a node whose own clock is far ahead measures frames by the clocks of its peers (K1)', () => {
    const world = clocked();
    world.node('virginia-1').skewMs = DECADES;
    world.run(500);
    const before = newest(world);
    expect(frame(world, packWall(world.now + DECADES))).toMatch(/lies more than 5000 ms ahead/);
    expect(newest(world)).toBe(before);
  });

  it('a reference is no timestamp: answers to requests of another time are not refused (K1)', () => {
    const world = clocked();
    const answer: TransactionMessage = { type: 'ReadSliceResp', ref: MAX_TIMESTAMP, partition: 0, versions: [] };
    expect(frame(world, 0, [answer])).toBeUndefined();
  });

  it('a message that arrives late is not taken for one of a wrong clock (K1)', () => {
    const world = clocked();
    const gossip = (wallMs: number): TransactionMessage => ({ type: 'GossipDown', ust: 0, sOld: 0, wallMs });
    expect(frame(world, 0, [gossip(world.now - 2 * LIMIT_MS)])).toBeUndefined();
    expect(frame(world, 0, [gossip(world.now + 2 * LIMIT_MS)])).toMatch(/differ/);
  });

  it('a node whose greeting names a far clock is not linked (K1)', () => {
    const world = clocked();
    const { peers } = world.node('virginia-1');
    expect(peers.meets('oregon-1', { hlc: MAX_TIMESTAMP, wallMs: world.now }, world.now)).toMatch(/ahead/);
    expect(peers.meets('oregon-1', { hlc: 0, wallMs: world.now + LIMIT_MS + 1 }, world.now)).toMatch(/differ/);
    expect(peers.meets('oregon-1', { hlc: 0, wallMs: world.now - LIMIT_MS - 1 }, world.now)).toMatch(/differ/);
    // A late greeting: the clock may have been right when it was read.
    expect(peers.meets('oregon-1', { hlc: 0, wallMs: world.now - LIMIT_MS - 1 }, world.now, 10)).toBeUndefined();
  });
});

describe('PaRiS: the own clock (K2)', () => {
  it('a running node whose clock jumps makes no timestamps of it, and the others go on (K2)', () => {
    for (const ms of [ELEVEN_MINUTES, DECADES, -ELEVEN_MINUTES, -DECADES]) jumps(clocked(), ms);
  });

  it("a node whose clock is off by the peers' times at the opening of links compares it again (K2)", () => {
    const regions = ['virginia', 'oregon'].map((id) => ({ id, nodes: [1, 2, 3].map((i) => ({ id: `${id}-${i}` })) }));
    const world = clocked({ spec: { regions, keyspaces: [{ name: 'default', partitions: 3, replication: 2 }] } });
    world.run(10_000);
    for (const node of world.nodes.values()) node.skewMs = -3_500;
    world.node('virginia-2').skewMs = 0;
    world.crash('virginia-2');
    world.restart('virginia-2');
    world.run(100);
    const own = world.node('virginia-2');
    // All are still within the limit of one another.
    for (const node of world.nodes.values()) node.skewMs = node === own ? 1_600 : 0;
    expect(own.parts.clock.problem).toMatch(/clock is 5100 ms ahead/);
    world.run(2_500);
    expect(own.parts.clock.problem).toBeUndefined();
  });

  it('a node that starts with a clock decades ahead publishes no such timestamp, and prepares nothing (K2)', () => {
    const world = clocked();
    world.crash('oregon-1');
    world.node('oregon-1').skewMs = DECADES;
    world.restart('oregon-1');
    world.run(500);
    expect(world.node('oregon-1').parts.clock.problem).toMatch(/ahead of/);
    expect(newest(world)).toBeLessThanOrEqual(near(world));
    const partition = world.topology.partitions.find(({ regions }) => regions.includes('oregon'))!;
    const commit = {
      type: 'CommitReq' as const,
      txId: 'clocked-session-01.0',
      snapshot: 0,
      hwt: 0,
      sentAfter: 0,
      attemptRegions: ['oregon'],
      principal: 'anonymous',
      writes: [{ key: keyIn(world, partition.id), value: '1' }],
    };
    expect(world.call('oregon-1', commit, 'Refused').code).toBe('CLOCK_DRIFT');
    world.node('oregon-1').skewMs = 0;
    world.run(10);
    expect(world.node('oregon-1').parts.clock.problem).toBeUndefined();
  });

  it('a node takes no time from its clock before it has compared it with another one (K2)', () => {
    const world = clocked();
    for (const other of ['virginia-1', 'ireland-1']) world.cut('oregon-1', other);
    world.crash('oregon-1');
    world.restart('oregon-1');
    world.run(200);
    const { clock } = world.node('oregon-1').parts;
    expect(clock.problem).toMatch(/not been compared/);
    const { last } = clock;
    world.run(1_000);
    expect(clock.last).toBe(last);
    world.heal('oregon-1', 'virginia-1');
    world.run(200);
    expect(clock.problem).toBeUndefined();
    expect(clock.last).toBeGreaterThan(last);
  });

  it('a node with a right clock that starts again is not kept out by one wrong peer (K2)', () => {
    const world = clocked();
    world.node('oregon-1').skewMs = ELEVEN_MINUTES;
    world.run(100);
    world.crash('virginia-1');
    world.restart('virginia-1');
    world.run(100);
    expect(world.node('virginia-1').parts.clock.problem).toBeUndefined();
    const { key } = elsewhere(world, 'oregon');
    expect(new TestClient(world, 'virginia-1').write({ [key]: '1' }).ct).toBeLessThan(near(world));
  });
});

describe('PaRiS: the end of all timestamps (K3)', () => {
  it('no ceiling and no version clock exceeds what decoders take, and nothing new is prepared there (K3)', () => {
    const written: number[] = [];
    const out = {
      write: (record: DurableRecord) => {
        if (record.kind === 'meta') written.push(Number(record.value));
        return written.length;
      },
    };
    const clock = new NodeClock(MAX_TIMESTAMP - 10_000_000, 0);
    expect(clock.problem).toBeUndefined();
    clock.observe(MAX_TIMESTAMP - 100);
    expect(clock.problem).toMatch(/end of all timestamps/);
    clock.publishable(0, out);
    clock.persisted(written.length);
    expect(clock.publishable(0, out)).toBeLessThanOrEqual(MAX_TIMESTAMP);
    clock.propose(0, 0, out);
    expect(Math.max(...written)).toBe(MAX_TIMESTAMP);
    expect(() => clock.propose(0, MAX_TIMESTAMP, out)).toThrow(/end of all timestamps/);
  });
});

describe('PaRiS: staleness (K4)', () => {
  it('stable time that stands still grows old, also where a clock ran ahead and the wall clock shows it as fresh (K4)', () => {
    const world = clocked({ settings: { maxClockDriftMs: 100_000 } });
    world.node('oregon-1').skewMs = 90_000;
    world.run(1_000);
    const progress = new StableProgress();
    const staleness = () => progress.stalenessMs(world.node('virginia-1').parts.stable.value, world.now, world.now);
    expect(wallOf(world.ust())).toBeGreaterThan(world.now + 80_000);
    world.crash('ireland-1');
    world.run(500);
    staleness();
    world.run(18_000);
    expect(staleness()).toBeGreaterThan(17_000);
  });

  it('an idle cluster stays fresh (K4)', () => {
    const world = clocked();
    const progress = new StableProgress();
    const { applyIntervalMs, idleBackoff } = world.settings;
    for (let i = 0; i < 100; i++) {
      world.run(100);
      // Two rounds of an idle node, and the delays of links and disks.
      const bound = 2 * applyIntervalMs * idleBackoff + 20;
      expect(progress.stalenessMs(world.ust(), world.now, world.now)).toBeLessThan(bound);
    }
  });
});

describe('PaRiS: disks of the future (K5)', () => {
  it('a node whose disk is ahead of its clock refuses to start, unless it starts without a clock check (K5)', () => {
    const ahead = new World({ skewMs: () => DECADES });
    ahead.run(100);
    const { store } = ahead.node('virginia-1');
    const world = clocked();
    world.crash('virginia-1');
    expect(() => world.restart('virginia-1', store)).toThrow(
      expect.objectContaining({ code: 'CLOCK_BEHIND_DATA', message: expect.stringContaining('docs/clocks.md') }),
    );
    const without = new World();
    without.crash('virginia-1');
    without.restart('virginia-1', store);
    expect(without.node('virginia-1').parts.stable.value).toBeGreaterThan(packWall(DECADES));
  });
});
