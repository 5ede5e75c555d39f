import { GROUPS } from '@isochron/sim/scale/groups';
import type { ScalePoint, ScaleResult } from '@isochron/sim/scale/run-scale';
import { findingsOf, SCALE_CLAIMS } from './claims.js';
import { readCosts } from './costs.js';
import { distanceKm, oneWayMs, TEN_REGIONS } from './delays.js';
import { type Configuration, QUICK_SCALE, SCALE } from './experiment.js';
import { placed } from './placement.js';
import type { ScaleRecord } from './record.js';
import { scaleClaimRows, scaleSection } from './section.js';
import { simulate } from './simulate.js';

const COSTS = readCosts(`${__dirname}/costs.json`);

const pointOf = (perSecond: number, more: Partial<ScalePoint> = {}): ScalePoint => ({
  clientsPerNode: 10,
  committed: perSecond,
  refused: 0,
  perSecond,
  meanMs: 10,
  p50Ms: 9,
  p99Ms: 20,
  utilisation: { mean: 1, least: 0.9, most: 1 },
  diskUtilisation: { mean: 0.1, most: 0.2 },
  cpuUs: Object.fromEntries(GROUPS.map((group) => [group, 10])) as ScalePoint['cpuUs'],
  turns: 1,
  ...more,
});

const resultOf = (nodes: number, ...points: ScalePoint[]): ScaleResult => ({
  nodes,
  points,
  begun: 10,
  ended: 9,
  underWay: 1,
});

const configured = (regions: number, nodesPerRegion: number): Configuration => ({
  system: 'PaRiS',
  mix: '95:5',
  regions,
  nodesPerRegion,
});

const recordOf = (...runs: ScaleRecord['runs']): ScaleRecord => ({
  experiment: SCALE,
  seed: 1,
  quick: false,
  costs: COSTS,
  runs,
});

describe('delays', () => {
  it('delays are the paper’s for the regions that it measured', () => {
    expect(oneWayMs('virginia', 'oregon')).toBe(44.14);
    expect(oneWayMs('sydney', 'mumbai')).toBe(153.765);
  });

  it('other delays are estimated from the distance, in the order of the measured ones', () => {
    expect(distanceKm('virginia', 'ohio')).toBeGreaterThan(400);
    expect(distanceKm('virginia', 'ohio')).toBeLessThan(600);
    expect(distanceKm('sydney', 'frankfurt')).toBeGreaterThan(16_000);
    for (const from of TEN_REGIONS) {
      for (const to of TEN_REGIONS) {
        if (from === to) continue;
        expect(oneWayMs(from, to)).toBeGreaterThan(1);
        expect(oneWayMs(from, to)).toBeLessThan(200);
        // Light in fibre takes about 5 µs for a km.
        expect(oneWayMs(from, to)).toBeGreaterThan(distanceKm(from, to) * 0.005);
      }
    }
  });
});

describe('placement', () => {
  it('placement gives each node one replica, in every configuration', () => {
    for (const { system, regions, nodesPerRegion } of SCALE.configurations) {
      const names = TEN_REGIONS.slice(0, regions);
      const replication = system === 'Wren' ? regions : 2;
      const { topology } = placed({ regions: names, nodesPerRegion, replication, keysPerPartition: 1 });
      const held = topology.nodes.map((node) => topology.partitionsOn(node).length);
      expect(held).toEqual(topology.nodes.map(() => 1));
    }
  });
});

describe('the measured costs', () => {
  it('the measured costs are no quick measurement, and have all kinds that an undisturbed transaction needs', () => {
    expect(COSTS.quick).toBe(false);
    const { steps, encode, decode, frame, client, turnUs, batch } = COSTS.model;
    const crossing = ['ReadSliceReq', 'ReadSliceResp', 'PrepareReq', 'PrepareResp', 'CommitTx', 'Replicate'];
    const gossip = ['GossipUp', 'GossipRoot', 'GossipDown'];
    for (const kind of [...crossing, ...gossip]) {
      for (const costs of [steps, encode, decode]) {
        const { us, perItemUs } = costs[kind]!;
        expect(us + perItemUs).toBeGreaterThan(0);
      }
    }
    for (const kind of ['StartTxReq', 'ReadReq', 'CommitReq', 'replica apply', 'stabilization gossip']) {
      expect(steps[kind]!.us + steps[kind]!.perItemUs).toBeGreaterThan(0);
    }
    expect(frame.sendUs).toBeGreaterThan(0);
    expect(client.receive.us + client.receive.perItemUs + turnUs).toBeGreaterThan(0);
    expect(batch.loop.us + batch.loop.perItemUs).toBeGreaterThan(0);
  });
});

describe('simulate', () => {
  const job = {
    configuration: { ...configured(3, 2) },
    conditions: QUICK_SCALE.conditions,
    model: COSTS.model,
    seed: 3,
  } as const;

  it('a simulation gives the same figures for the same seed and costs', () => {
    const [once, again] = [simulate(job), simulate(job)];
    expect(again).toEqual(once);
    expect(simulate({ ...job, seed: 4 })).not.toEqual(once);
  });

  it.each(['BPR', 'Wren'] as const)('a simulation runs %s as well', (system) => {
    const { points, begun, ended, underWay } = simulate({ ...job, configuration: { ...job.configuration, system } });
    expect(points.at(-1)!.committed).toBeGreaterThan(0);
    expect(points.at(-1)!.refused).toBe(0);
    expect(begun).toBe(ended + underWay);
  });
});

describe('claims', () => {
  it('claims name configurations that are simulated', () => {
    for (const { of, to } of SCALE_CLAIMS) {
      expect(SCALE.configurations).toContainEqual(of);
      expect(SCALE.configurations).toContainEqual(to);
    }
  });

  it("claims compare the best points, with the growth of a transaction's costs and the utilisation when not ideal", () => {
    const more = { cpuUs: { ...pointOf(1).cpuUs, frames: 25 }, utilisation: { mean: 0.98, least: 0.7, most: 1 } };
    const record = recordOf(
      { configuration: configured(3, 6), result: resultOf(18, pointOf(900), pointOf(1_000), pointOf(950)) },
      { configuration: configured(3, 18), result: resultOf(54, pointOf(2_500, more)) },
    );
    const [finding, ...others] = findingsOf(record);
    expect(others).toEqual([]);
    expect(finding!.ratio).toBe(2.5);
    expect(finding!.reached).toBe(false);
    expect(finding!.why).toContain('90 → 105 µs (frames +15)');
    expect(finding!.why).toContain('utilisation 100 % (least busy node 90 %) → 98 % (least busy node 70 %)');
    expect(scaleClaimRows(record)[0]!.slice(1, 5)).toEqual(['3×', '2.5×', '≥ 2.8×', '**no**']);
  });

  it('claims have no reason when throughput grows with the nodes', () => {
    const record = recordOf(
      { configuration: configured(3, 6), result: resultOf(18, pointOf(1_000)) },
      { configuration: configured(3, 18), result: resultOf(54, pointOf(3_000)) },
    );
    const [finding] = findingsOf(record);
    expect(finding).toMatchObject({ ratio: 3, reached: true, why: '' });
  });
});

describe('the section of the report', () => {
  it('the section of the report prints the model with its inputs, and plots throughput by nodes and by regions', () => {
    const plots: string[] = [];
    const text = scaleSection(
      recordOf(
        { configuration: configured(3, 6), result: resultOf(18, pointOf(1_000)) },
        { configuration: configured(3, 18), result: resultOf(54, pointOf(3_000)) },
        { configuration: configured(5, 6), result: resultOf(30, pointOf(1_600)) },
      ),
      (file, svg) => {
        plots.push(file);
        expect(svg).toContain('<svg');
      },
    );
    expect(plots).toEqual(['scale-nodes-95-5.svg', 'scale-regions-95-5.svg']);
    for (const plot of plots) expect(text).toContain(`](${plot})`);
    for (const kind of Object.keys(COSTS.model.steps)) expect(text).toContain(`| step ${kind} |`);
    for (const { what } of COSTS.checks) expect(text).toContain(`| ${what} |`);
    expect(text).toContain('Seed 1');
    expect(text).toContain('`npm run bench:costs`');
  });
});
