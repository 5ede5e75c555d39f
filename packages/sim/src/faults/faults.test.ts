import { Random, Topology } from '@isochron/core';
import { DRAW_VERSION, type Plan } from '../plan/plan.js';
import { PROTOCOLS } from '../protocols/index.js';
import { FAULT_NAMES, faultKind } from './table.js';

const paris = PROTOCOLS.get('paris')!;
const CLUSTER = {
  regions: ['p', 'q'].map((id) => ({ id, nodes: [{ id: `${id}-1` }, { id: `${id}-2` }] })),
  keyspaces: [{ name: 'default', partitions: 4, replication: 2 }],
};
const SCENE = { topology: new Topology(CLUSTER), sessions: ['s-p', 's-q'], crashPoints: ['PrepareReq', 'CommitTx'] };

/** A small cluster in which nothing is left to chance but what the fault itself does. */
function planWith(fault: Plan['faults'][number]): Plan {
  const drawn = paris.draw(77, { transactions: 30 });
  const nodes = CLUSTER.regions.flatMap((region) => region.nodes);
  const keys = Array.from({ length: 8 }, (_, i) => `default/k${i}`);
  const commit = { loses: null, duplicate: null };
  return {
    ...drawn,
    draw: DRAW_VERSION,
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
      transactions: Array.from({ length: 20 }, (_, i) => ({
        kind: 'write' as const,
        thinkMs: 20,
        writes: [0, 1, 2].map((k) => ({ key: keys[(i + k) % keys.length]!, deletes: false })),
        commit,
      })),
    })),
    faults: [fault],
  };
}

describe.each(FAULT_NAMES)('the fault %s', (name) => {
  it('is drawn, happens, and is survived', () => {
    const kind = faultKind(name)!;
    for (let seed = 1; seed <= 3; seed++) {
      const parameters = kind.draw(new Random(seed), SCENE)!;
      const fault = { kind: name, atMs: 150, forMs: Math.round((kind.forMs[0] + kind.forMs[1]) / 2), ...parameters };
      const { failures, stats } = paris.run(planWith(fault));
      expect([failures, stats.faults]).toEqual([[], 1]);
    }
  });
});
