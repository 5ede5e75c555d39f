import type { DurableFact } from '@isochron/core';
import { changesRecord, type Loss } from '@isochron/protocols';
import { MemoryState } from '@isochron/storage';
import type { FaultPlan } from '../../plan/plan.js';
import { appending } from '../evidence/documents.js';
import { A, CheckBench, hold, prepares, TOPOLOGY, version } from '../fixtures.js';
import { GOALS, type HealedWorld, mayLackHeartbeat } from './convergence.js';

const write = (value: string | null) => ({ key: A, value });

/** The missing goals of a cluster whose disks hold these records. */
async function missing(disks: Record<string, readonly DurableFact[]>, change: Partial<HealedWorld> = {}) {
  const states = new Map(TOPOLOGY.nodes.map((node) => [node, new MemoryState()]));
  for (const [node, state] of states) hold(state, disks[node] ?? []);
  const { ledger } = new CheckBench();
  ledger.durable('p-1', prepares('t', 5, [write('1')]));
  const world: HealedWorld = {
    topology: TOPOLOGY,
    nodes: TOPOLOGY.nodes,
    ledger,
    disk: (node) => states.get(node)!,
    depsTravel: true,
    ust: () => 5,
    load: () => ({ reads: 0 }),
    losses: () => [],
    applied: () => [],
    unfinished: () => [],
    ...change,
  };
  return GOALS.filter((goal) => goal.missing(world) !== undefined).map(({ name }) => name);
}

const t = version('t', 5, write('1'));
const takenBack: Loss = {
  txId: 't',
  ts: 4,
  attempt: 0,
  committed: false,
  takenBack: true,
  node: 'p-1',
  partitions: [0],
  keys: [A],
  acknowledged: false,
  overtaken: false,
};
const keeps: DurableFact = { kind: 'meta', name: changesRecord(0), value: 1 };
const logged: DurableFact = {
  kind: 'log',
  partition: 0,
  ct: 5,
  tx: { txId: 't', writes: [write('1')] },
  source: 'r',
};

describe('the goals of a healed cluster', () => {
  it('the goal of stable time alone waits for right clocks where a link loses frames', () => {
    const unruly: FaultPlan = { kind: 'unrulyLink', atMs: 1, forMs: 1, a: 'p-1', b: 'q-1', share: 1 };
    const cut: FaultPlan = { kind: 'cutLink', atMs: 1, forMs: 1, a: 'p-1', b: 'q-1' };
    const waiting = (faults: readonly FaultPlan[]) => GOALS.filter((goal) => mayLackHeartbeat(goal, { faults }));
    expect(waiting([cut, unruly]).map(({ name }) => name)).toEqual(['stable-time-passes-every-commit']);
    expect(waiting([cut])).toEqual([]);
  });

  it('the goals of a healed cluster are reached when replicas are equal and nothing is left over', async () => {
    expect(await missing({ 'p-1': [t], 'q-1': [t] })).toEqual([]);
  });

  it.each<[string, Parameters<typeof missing>]>([
    [
      'reported-losses-are-losses',
      [
        { 'p-1': [t], 'q-1': [t] },
        { losses: () => [takenBack], applied: () => [5] },
      ],
    ],
    ['client-operations-end', [{}, { unfinished: () => ['s0 (committing)'] }]],
    ['stable-time-passes-every-commit', [{}, { ust: (node) => (node === 'q-1' ? 4 : 5) }]],
    ['memory-returns', [{}, { load: (node) => ({ reads: node === 'q-1' ? 1 : 0 }) }]],
    ['no-prepared-record-is-left', [{ 'q-1': prepares('u', 6, [write('2')]) }]],
    ['logs-are-truncated', [{ 'p-1': [{ kind: 'log', partition: 0, ct: 5, tx: { txId: 't', writes: [] } }] }]],
    ['replicas-hold-identical-chains', [{ 'p-1': [t] }]],
    ['replicas-hold-identical-logs', [{ 'p-1': [t, keeps, logged], 'q-1': [t, keeps] }]],
    ['replicas-hold-identical-logs', [{ 'p-1': [t, keeps, logged], 'q-1': [t, keeps, { ...logged, source: 's' }] }]],
    ['replicas-hold-identical-chains', [{ 'p-1': [t], 'q-1': [version('u', 5, write('1'))] }]],
    ['replicas-hold-identical-chains', [{ 'p-1': [t, version('u', 3, write('0'))], 'q-1': [t] }]],
  ])('the goals of a healed cluster include %s', async (goal, world) => {
    expect(await missing(...world)).toEqual([goal]);
  });

  it('the goals of a healed cluster do not count versions that one replica may collect before the other', async () => {
    const collect = { kind: 'horizon' as const, partition: 0, horizon: 'gcFloor' as const, upTo: 6 };
    const old = version('u', 3, write('0'));
    expect(await missing({ 'p-1': [old, t], 'q-1': [old, t, collect] })).toEqual([]);
    const tombstone = version('v', 6, write(null));
    expect(await missing({ 'p-1': [t, tombstone], 'q-1': [t, tombstone, collect] })).toEqual([]);
  });

  it('the goals of a healed cluster do not count a tombstone that one replica has collected below an update', async () => {
    const collect = { kind: 'horizon' as const, partition: 0, horizon: 'gcFloor' as const, upTo: 4 };
    const versions = [version('u', 3, write(null)), version('t', 5, { key: A, value: appending('1') })];
    expect(await missing({ 'p-1': versions, 'q-1': [...versions, collect] })).toEqual([]);
  });
});
