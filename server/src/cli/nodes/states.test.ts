import { packWall } from '@isochron/core';
import { WHOLE_MAP } from '../../../testing/test-node.js';
import type { ClusterReport, NodeReport } from '../status/collect.js';
import type { MapAnswer, NodeAnswer } from '../status/shape.js';
import { nodeStates } from './states.js';

const MAP: MapAnswer = { ...WHOLE_MAP, version: 3 };
const IDS = ['virginia-1', 'oregon-1', 'ireland-1'];

/** A node's report; without a map the node does not answer. */
function report(node: string, map?: Partial<MapAnswer>): NodeReport {
  const region = node.slice(0, -2);
  const status: NodeAnswer | null =
    map === undefined
      ? null
      : {
          node,
          region,
          protocol: 'paris',
          version: '0.0.0',
          uptimeMs: 1,
          ust: 1,
          stalenessMs: 0,
          openTransactions: 0,
          rssBytes: 1,
          map: { ...MAP, ...map },
          partitions: [],
          links: [],
        };
  return { region, node, api: `http://${node}`, status, stability: null, unready: [], error: null };
}

const cluster = (...maps: (Partial<MapAnswer> | undefined)[]): ClusterReport => ({
  cluster: 'c',
  protocol: 'paris',
  nodes: IDS.map((id, i) => report(id, maps[i])),
});
/** The state of Ireland's node, and the reason. */
const ofIreland = (report: ClusterReport) => {
  const { state, why } = nodeStates(report).nodes.find(({ node }) => node === 'ireland-1')!;
  return [state, why];
};

const AWAY = { away: ['ireland-1'] };
const SUSPENDED = { ...AWAY, suspended: ['ireland-1'] };
const ORDERED = {
  ...SUSPENDED,
  absences: [{ node: 'ireland-1', since: packWall(Date.UTC(2026, 0)), isOrdered: true }],
};
const HELD = { ...SUSPENDED, held: ['ireland-1'] };
const EVICTED = { ...AWAY, evicted: ['ireland-1'] };
const SILENT = { silent: ['ireland-1'] };

describe('the states of nodes', () => {
  it.each<[string, string, ClusterReport]>([
    ['active', '', cluster({}, {}, {})],
    ['active', 'does not answer this command', cluster({}, {}, undefined)],
    ['suspected', 'no frames at virginia-1, oregon-1', cluster(SILENT, SILENT, undefined)],
    ['suspended', 'it did not answer', cluster({ ...SUSPENDED, ...SILENT }, SUSPENDED, undefined)],
    ['suspended', 'an operator ordered it', cluster(ORDERED, ORDERED, undefined)],
    ['evicted', 'by an operator, for ever', cluster({ ...EVICTED, ...SILENT }, EVICTED, undefined)],
    ['suspended', 'it did not answer', cluster({ ...SUSPENDED, ...SILENT }, SUSPENDED, { version: 2 })],
    ['returning', 'takes what it lacks, and is a member then', cluster(SUSPENDED, SUSPENDED, SUSPENDED)],
    ['held', 'an operator keeps it away', cluster(HELD, HELD, HELD)],
    ['held', 'an operator keeps it away; it does not answer', cluster(HELD, HELD, undefined)],
    ['left', 'in order: drained, or closed', cluster(AWAY, AWAY, undefined)],
    ['leaving', 'is drained, or closes', cluster({ leaving: ['ireland-1'] }, {}, {})],
    ['owing', 'commits again what was deferred because of it', cluster({}, {}, { owes: true })],
    ['unknown', 'no node answers', cluster(undefined, undefined, undefined)],
  ])('a node is %s: %s', (state, why, report) => {
    expect(ofIreland(report)).toEqual([state, why]);
  });

  it('the newest map among the nodes that answer decides: a node that was cut off knows an older one', () => {
    const { map, nodes } = nodeStates(cluster({ version: 3 }, { version: 4, ...ORDERED }, { version: 3 }));
    expect(map).toBe(4);
    expect(nodes[2]).toMatchObject({ state: 'returning', sinceMs: Date.UTC(2026, 0) });
  });

  it('what waits for a node is the sum over the other nodes, and what a node has deferred is its own', () => {
    const waits = { deferredFor: { 'ireland-1': 2 } };
    const { nodes } = nodeStates(cluster({ ...waits, deferred: 5 }, waits, { ...waits, deferred: 1 }));
    expect(nodes.map(({ deferredHere, deferredFor }) => [deferredHere, deferredFor])).toEqual([
      [5, 0],
      [0, 0],
      [1, 4],
    ]);
  });
});
