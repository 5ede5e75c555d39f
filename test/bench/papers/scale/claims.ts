/** The papers' claims on scaling, compared with a run. */
import type { ScaleResult } from '@isochron/sim/scale/run-scale';
import type { Configuration, MixName, SystemName } from './experiment.js';
import { bestOf, resultOf, type ScaleRecord } from './record.js';

export interface ScaleClaim {
  readonly claim: string;
  readonly paper: string;
  readonly of: Configuration;
  readonly to: Configuration;
  /** Least ratio of their throughputs. */
  readonly bound?: number;
}

/** A claim and its result in a run. */
export interface ScaleFinding {
  readonly claim: ScaleClaim;
  readonly ratio: number;
  readonly conditions: string;
  readonly reached: boolean | undefined;
  /** The reason why it is below the ratio of the nodes. */
  readonly why: string;
}

const at = (system: SystemName, mix: MixName, regions: number, nodesPerRegion: number): Configuration => ({
  system,
  mix,
  regions,
  nodesPerRegion,
});

/** From 6 nodes a region to 18. */
const byNodes = (system: SystemName, mix: MixName, regions: number, paper: string, bound?: number): ScaleClaim => ({
  claim: `throughput of ${system} with 18 nodes a region over that with 6, ${regions} regions, ${mix}`,
  paper,
  of: at(system, mix, regions, 18),
  to: at(system, mix, regions, 6),
  ...(bound !== undefined && { bound }),
});

/** From 3 regions to 10. */
const byRegions = (mix: MixName, nodes: number, paper: string, bound?: number): ScaleClaim => ({
  claim: `throughput of PaRiS with 10 regions over that with 3, ${nodes} nodes a region, ${mix}`,
  paper,
  of: at('PaRiS', mix, 10, nodes),
  to: at('PaRiS', mix, 3, nodes),
  ...(bound !== undefined && { bound }),
});

const NODES_BOUND = 2.8;
const REGIONS_BOUND = 3.1;

export const SCALE_CLAIMS: readonly ScaleClaim[] = [
  byNodes('PaRiS', '95:5', 3, '3×', NODES_BOUND),
  byNodes('PaRiS', '95:5', 5, '3×', NODES_BOUND),
  byRegions('95:5', 6, '3.33×', REGIONS_BOUND),
  byRegions('95:5', 12, '3.33×', REGIONS_BOUND),
  byNodes('PaRiS', '50:50', 3, 'not shown', NODES_BOUND),
  byRegions('50:50', 6, 'not shown', REGIONS_BOUND),
  byNodes('BPR', '95:5', 3, 'not shown'),
  {
    claim: 'throughput of Wren with 16 nodes a region over that with 4, 3 regions, 95:5',
    paper: '3.88×',
    of: at('Wren', '95:5', 3, 16),
    to: at('Wren', '95:5', 3, 4),
  },
  {
    claim: 'throughput of Wren with 5 regions over that with 3, 16 nodes a region, 95:5',
    paper: '1.53×',
    of: at('Wren', '95:5', 5, 16),
    to: at('Wren', '95:5', 3, 16),
  },
];

/** The claims for which the run has figures. */
export function findingsOf(record: ScaleRecord, claims = SCALE_CLAIMS): ScaleFinding[] {
  return claims.flatMap((claim) => {
    const [of, to] = [resultOf(record, claim.of), resultOf(record, claim.to)];
    return of === undefined || to === undefined ? [] : [findingOf(claim, of, to)];
  });
}

function findingOf(claim: ScaleClaim, of: ScaleResult, to: ScaleResult): ScaleFinding {
  const [more, less] = [bestOf(of), bestOf(to)];
  const ratio = more.perSecond / less.perSecond;
  const ideal = of.nodes / to.nodes;
  return {
    claim,
    ratio,
    conditions: `simulated; ${to.nodes} to ${of.nodes} nodes, ${less.clientsPerNode} and ${more.clientsPerNode} clients a node`,
    reached: claim.bound === undefined ? undefined : ratio >= claim.bound,
    why: ratio >= ideal * IDEAL ? '' : whyLess(of, to),
  };
}

/** A share of the ideal from which on no reason is needed. */
const IDEAL = 0.99;

/** The growth of a transaction's costs, and the idle cores: there is no other reason. */
function whyLess(of: ScaleResult, to: ScaleResult): string {
  const [more, less] = [bestOf(of), bestOf(to)];
  const [large, small] = [more, less].map(({ cpuUs }) => Object.values(cpuUs).reduce((sum, us) => sum + us, 0));
  const grown = Object.entries(more.cpuUs)
    .map(([group, us]) => ({ group, more: us - less.cpuUs[group as keyof typeof less.cpuUs] }))
    .sort((a, b) => b.more - a.more)
    .slice(0, 3)
    .filter((part) => part.more >= 1);
  const parts = grown.map(({ group, more: us }) => `${group} +${us.toFixed(0)}`).join(', ');
  const load = ({ utilisation: { mean, least } }: typeof more): string =>
    `${(mean * 100).toFixed(0)} % (least busy node ${(least * 100).toFixed(0)} %)`;
  return [
    `CPU of a transaction ${small!.toFixed(0)} → ${large!.toFixed(0)} µs${parts === '' ? '' : ` (${parts})`}`,
    `utilisation ${load(less)} → ${load(more)}`,
  ].join('; ');
}
