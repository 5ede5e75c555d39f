import { Random, Topology } from '@isochron/core';
import { type Plan, PROTOCOLS, type SimulatedProtocol } from '@isochron/sim';
import type { Summary } from '@isochron/sim/cli/summary';
import { FAULT_NAMES, faultKind } from '@isochron/sim/faults/table';
import { DRAW_VERSION } from '@isochron/sim/plan/plan';
import { TIER } from '../tier.js';
import { simulatePlans } from './command.js';

const correct = [...PROTOCOLS.values()].filter(({ caughtBy }) => caughtBy.length === 0);
const CLUSTER = {
  regions: ['p', 'q'].map((id) => ({ id, nodes: [{ id: `${id}-1` }, { id: `${id}-2` }] })),
  keyspaces: [{ name: 'default', partitions: 4, replication: 2 }],
};
const SCENE = { topology: Topology.of(CLUSTER), sessions: ['s-p', 's-q'], crashPoints: ['PrepareReq', 'CommitTx'] };

/** A small cluster in which only the fault itself is random. */
function planWith(protocol: SimulatedProtocol, fault: Plan['faults'][number]): Plan {
  const drawn = protocol.draw(77, { transactions: 30 });
  const nodes = CLUSTER.regions.flatMap((region) => region.nodes);
  const keys = Array.from({ length: 8 }, (_, i) => `default/k${i}`);
  const commit = { loses: null, duplicate: null };
  return {
    ...drawn,
    draw: DRAW_VERSION,
    http: undefined,
    cluster: CLUSTER,
    environment: {
      ...drawn.environment,
      delayMs: [
        [0.5, 10],
        [10, 0.5],
      ],
      slowLinks: [],
      syncMs: nodes.map(() => 1),
      clocks: nodes.map(() => ({ skewMs: 0, driftPpm: 0 })),
      founded: true,
    },
    sessions: CLUSTER.regions.map(({ id }) => ({
      name: `s-${id}`,
      region: id,
      transactions: Array.from({ length: 20 }, (_, i) => {
        const some = [0, 1, 2].map((k) => keys[(i + k) % keys.length]!);
        const writes = some.slice(0, protocol.atOnce.writes).map((key) => ({ key, deletes: false }));
        return [
          { kind: 'write' as const, thinkMs: 10, writes, commit },
          protocol.atOnce.reads === 1
            ? { kind: 'get' as const, thinkMs: 10, key: some[0]! }
            : { kind: 'read' as const, thinkMs: 10, keys: some },
        ];
      }).flat(),
    })),
    faults: [fault],
  };
}

/** Parameters of each fault. */
const PARAMETER_SEEDS = TIER === 'all' ? [1, 2] : [1];

const OF_MAPS: ReadonlySet<string> = new Set(['nextMap', 'leave', 'order', 'evict']);

/** Each fault under each protocol that has the fault. */
const cases = FAULT_NAMES.flatMap((name) =>
  correct
    .filter(({ drawsMaps }) => drawsMaps || !OF_MAPS.has(name))
    .flatMap((protocol) =>
      PARAMETER_SEEDS.map((parameterSeed) => {
        const { draw, forMs } = faultKind(name)!;
        const parameters = draw(new Random(parameterSeed), SCENE)!;
        const fault = { kind: name, atMs: 150, forMs: Math.round((forMs[0] + forMs[1]) / 2), ...parameters };
        return { name, protocol: protocol.name, parameterSeed, plan: planWith(protocol, fault) };
      }),
    ),
).map((one, i) => ({ ...one, plan: { ...one.plan, seed: i } }));

describe('each fault that plans are drawn with', () => {
  let summaries: ReadonlyMap<number, Summary>;

  beforeAll(async () => {
    const ended = await simulatePlans(cases.map(({ plan }) => plan));
    summaries = new Map(ended.map((summary) => [summary.seed, summary]));
  }, 600_000);

  it.each(cases)('the fault $name happens, and $protocol survives it (parameters $parameterSeed)', ({ plan }) => {
    const { failures, faults } = summaries.get(plan.seed)!;
    expect([failures, faults]).toEqual([[], 1]);
  });
});
