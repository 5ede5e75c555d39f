import { Random, Topology } from '@isochron/core';
import { DRAW_VERSION, type Plan } from '../plan/plan.js';
import { PROTOCOLS, type SimulatedProtocol } from '../protocols/index.js';
import { FAULT_NAMES, faultKind } from './table.js';

const correct = [...PROTOCOLS.values()].filter(({ caughtBy }) => caughtBy.length === 0);
const CLUSTER = {
  regions: ['p', 'q'].map((id) => ({ id, nodes: [{ id: `${id}-1` }, { id: `${id}-2` }] })),
  keyspaces: [{ name: 'default', partitions: 4, replication: 2 }],
};
const SCENE = { topology: new Topology(CLUSTER), sessions: ['s-p', 's-q'], crashPoints: ['PrepareReq', 'CommitTx'] };

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

describe.each(FAULT_NAMES)('the fault %s', (name) => {
  const { draw, forMs } = faultKind(name)!;

  it.each(correct)('the fault is drawn and happens, and $name survives it', (protocol) => {
    for (let seed = 1; seed <= 2; seed++) {
      const parameters = draw(new Random(seed), SCENE)!;
      const fault = { kind: name, atMs: 150, forMs: Math.round((forMs[0] + forMs[1]) / 2), ...parameters };
      const { failures, stats } = protocol.run(planWith(protocol, fault));
      expect([failures, stats.faults]).toEqual([[], 1]);
    }
  });
});
