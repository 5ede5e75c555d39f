import { Topology } from '@isochron/core';
import { VirtualTime } from '@isochron/simulated-world/virtual-time';
import type { Environment, FaultPlan, Plan } from '../../plan/plan.js';
import { PROTOCOLS } from '../../protocols/index.js';
import { WritesGoOn } from './writes-go-on.js';

const cluster = {
  regions: ['p', 'q', 'r'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
  keyspaces: [{ name: 'default', partitions: 3, replication: 2 }],
};
const topology = Topology.of(cluster);
const drawn = PROTOCOLS.get('paris')!.draw(1);
const { credits: _few, ...enough } = drawn.environment;
const environment = {
  ...enough,
  delayMs: cluster.regions.map(() => cluster.regions.map(() => 1)),
  slowLinks: [],
  syncMs: [1, 1, 1],
  noticeMs: 1,
  reconnectMs: [5, 10] as const,
  clientMs: 1,
  founded: true,
};
const freeze: FaultPlan = { kind: 'freeze', atMs: 0, forMs: 9_000, node: 'q-1' };
const writes = [{ key: 'default/a', value: '1' }];

function checked(more: Partial<Environment> = {}, settings: Plan['settings'] = {}, placed = topology) {
  const time = new VirtualTime();
  const failures: string[] = [];
  const context = { topology: placed, time, fail: (_check: string, message: string) => failures.push(message) };
  const check = new WritesGoOn(context, { ...drawn, cluster, settings, environment: { ...environment, ...more } });
  const at = (ms: number, run: () => void) => {
    time.at(ms, run);
    time.runUntil(ms + 1, () => false);
  };
  return { check, failures, at };
}

describe('writes go on', () => {
  it('the check writes-go-on fails for a commit that waits while one node does not answer and nothing else is wrong', () => {
    const { check, failures, at } = checked();
    at(10, () => check.fault(freeze, true));
    at(3_000, () => check.sent('tx.1', 'p-1', writes, 's'));
    at(4_000, () => check.round());
    expect(failures).toEqual([]);
    at(6_000, () => check.round());
    expect(failures).toHaveLength(1);
  });

  it('the check writes-go-on holds behind a commit of the session that needs the silent node, and fails otherwise', () => {
    // Held in q alone.
    const narrow = { ...cluster, keyspaces: [{ name: 'default', partitions: 3, replication: 1 }] };
    const held = Topology.of(narrow);
    const keyIn = (region: string) => {
      for (let i = 0; ; i++)
        if (held.partitions[held.partitionOf(`default/k${i}`)]!.regions.includes(region)) return `default/k${i}`;
    };
    const [needsIt, needsNot] = ['q', 'p'].map((region) => [{ key: keyIn(region), value: '1' }]);
    for (const [session, count] of [
      ['s', 0],
      ['other', 1],
    ] as const) {
      const { check, failures, at } = checked({}, {}, held);
      at(10, () => check.fault(freeze, true));
      at(3_000, () => check.sent('tx.1', 'p-1', needsIt!, 's'));
      at(3_001, () => check.sent('tx.2', 'p-1', needsNot!, session));
      at(6_000, () => check.round());
      expect(failures).toHaveLength(count);
    }
  });

  it('the check writes-go-on holds for the commits of a session whose connection is lost with one of them', () => {
    for (const [before, after] of [
      ['tx.1', 'tx.2'],
      ['tx.2', 'tx.1'],
    ] as const) {
      const { check, failures, at } = checked();
      const sends = (txId: string) => check.sent(txId, txId === 'tx.1' ? 'p-1' : undefined, writes, 's');
      at(10, () => check.fault(freeze, true));
      at(3_000, () => sends(before));
      at(3_001, () => sends(after));
      at(6_000, () => check.round());
      expect(failures).toEqual([]);
    }
  });

  it.each([
    ['nodes give few credits', { credits: 2 }, {}],
    ['replicas have little room for transactions that wait for an undecided one', {}, { maxPendingBytes: 1_000 }],
  ])('the check writes-go-on holds where %s', (_what, more, settings) => {
    const { check, failures, at } = checked(more, settings);
    at(10, () => check.fault(freeze, true));
    at(3_000, () => check.sent('tx.1', 'p-1', writes, 's'));
    at(6_000, () => check.round());
    expect(failures).toEqual([]);
  });

  it.each<[string, (check: WritesGoOn, at: (ms: number, run: () => void) => void) => void]>([
    ['ended in time', (check, at) => at(3_500, () => check.settled('tx.1'))],
    ['was sent before the fault was detected', (check, at) => at(1_000, () => check.sent('tx.2', 'p-1', writes, 's'))],
    ['was sent to the node itself', (check, at) => at(3_100, () => check.sent('tx.2', 'q-1', writes, 's'))],
    ['meets another fault', (check, at) => at(3_500, () => check.fault({ ...freeze, node: 'r-1' }, true))],
  ])('the check writes-go-on holds where a commit %s', (what, befall) => {
    const { check, failures, at } = checked();
    at(10, () => check.fault(freeze, true));
    const early = what.startsWith('was sent');
    if (early) befall(check, at);
    else {
      at(3_000, () => check.sent('tx.1', 'p-1', writes, 's'));
      befall(check, at);
    }
    at(8_000, () => check.round());
    expect(failures).toEqual([]);
  });
});
