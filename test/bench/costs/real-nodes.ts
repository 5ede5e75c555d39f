/**
 * Costs that only real nodes show: clients' messages, turns of an event loop, and the share of a durable batch's cost
 * that remains beside other work. Event loops of real nodes under some loads are compared with simulated ones: these
 * costs are the part of the difference that no other cost explains, by least squares.
 */
import { TRANSACTION_PROTOCOLS } from '@isochron/protocols';
import { awsOneWayMs } from '@isochron/server';
import { type CostModel, FREE_MODEL } from '@isochron/sim/scale/cost-model';
import { runScale, type ScalePoint } from '@isochron/sim/scale/run-scale';
import { READ_HEAVY, type TransactionMix, WRITE_HEAVY } from '@isochron/workload';
import { type Layout, SMALL_LAYOUT } from '../cluster.js';
import type { Context } from '../context.js';
import type { RegionJob, RegionLoad } from '../papers/load.js';
import type { CostCheck } from '../papers/scale/costs.js';
import { placed } from '../papers/scale/placement.js';
import { mainThreadMs } from './cpu-clock.js';
import { nonNegativeLeastSquares, rounded } from './fit.js';

/** The costs that are measured separately. */
export type KnownCosts = Omit<CostModel, 'client' | 'turnUs'>;

export interface FittedCosts {
  readonly model: CostModel;
  readonly checks: readonly CostCheck[];
}

/** A load on a layout. */
interface Trial {
  readonly what: string;
  readonly layout: Layout;
  readonly mix: TransactionMix;
}

const SESSIONS = 48;
const LAN_MS = 0.05;
const ALONE: Layout = { ...SMALL_LAYOUT, regions: ['virginia'], partitions: 4, replication: 1 };
const THREE: Layout = { ...SMALL_LAYOUT, wan: 'aws' };
/** The smallest possible transaction. */
const SMALL: TransactionMix = { ...READ_HEAVY, reads: 1, writes: 1, partitionsPerTx: 1 };

const TRIALS: readonly Trial[] = [ALONE, THREE].flatMap((layout) => {
  const where = layout === ALONE ? 'one node' : 'three regions of one node';
  return [
    { what: `${where}, 95:5`, layout, mix: READ_HEAVY },
    { what: `${where}, 50:50`, layout, mix: WRITE_HEAVY },
    { what: `${where}, one read and one write`, layout, mix: SMALL },
  ];
});

/** Start with reads, its answer, commit, its answer. */
const MESSAGES = 4;
/** The model's behaviour depends on its costs, so the fit is repeated. */
const PASSES = 4;

export async function fitToRealNodes(
  context: Context,
  known: KnownCosts,
  onTrial: (what: string) => void,
): Promise<FittedCosts> {
  const real: number[] = [];
  for (const { what, layout, mix } of TRIALS) {
    onTrial(what);
    real.push(await loopUs(context, layout, mix));
  }
  let model: CostModel = { ...known, client: FREE_MODEL.client, turnUs: 0 };
  for (let pass = 0; pass < PASSES; pass++) model = fitted(model, known, real);
  const checks = TRIALS.map(({ what, layout, mix }, i) => ({
    what,
    realUs: Math.round(real[i]!),
    modelUs: Math.round(totalUs(simulated(model, layout, mix))),
  }));
  return { model, checks };
}

/** The unknown costs, from the model's current behaviour. Relative errors count. */
function fitted(model: CostModel, known: KnownCosts, real: readonly number[]): CostModel {
  const factor = model.batch.loop.perItemUs / known.batch.loop.perItemUs || 1;
  const equations = TRIALS.map(({ layout, mix }, i) => {
    const point = simulated(model, layout, mix);
    const { clients, turns, 'durable batches': batches } = point.cpuUs;
    const rest = totalUs(point) - clients - turns - batches;
    const row = [MESSAGES, 2 * mix.reads + mix.writes, point.turns, batches / factor];
    return { row: row.map((part) => part / real[i]!), right: (real[i]! - rest) / real[i]! };
  });
  const [us, perItemUs, turnUs, batchFactor] = nonNegativeLeastSquares(equations) as [number, number, number, number];
  const client = { us: rounded(us), perItemUs: rounded(perItemUs) };
  const { loop, disk } = known.batch;
  const scaled = { us: rounded(loop.us * batchFactor), perItemUs: rounded(loop.perItemUs * batchFactor) };
  return {
    ...known,
    client: { receive: client, send: client },
    turnUs: rounded(turnUs),
    batch: { loop: scaled, disk },
  };
}

const totalUs = ({ cpuUs }: ScalePoint): number => Object.values(cpuUs).reduce((sum, us) => sum + us, 0);

/** CPU time of the event loops of real nodes, µs a transaction. */
async function loopUs(context: Context, layout: Layout, mix: TransactionMix): Promise<number> {
  const { durationMs, seed } = context.settings;
  const name = `costs-${layout.regions.length}`;
  const cluster = await context.cluster(name, layout);
  await context.fill(cluster, { table: context.keysPerPartition });
  const load = async (ms: number, round: number): Promise<number> => {
    const jobs = layout.regions.map((region, i) => {
      const sessions = SESSIONS / layout.regions.length;
      const own = { sessions, durationMs: ms, seed: seed + round * 1000 + i * 100 };
      return {
        configFile: cluster.configFile,
        region,
        load: { kind: 'transactions', mix },
        keysPerPartition: context.keysPerPartition,
        ...own,
      } as const;
    });
    const loads = await Promise.all(
      jobs.map((job) => context.helper<RegionJob, RegionLoad>('./papers/load.js', job.region).run(job)),
    );
    return loads.reduce((sum, { operations }) => sum + operations, 0);
  };
  await load(durationMs / 2, 0);
  const before = cluster.pids.map((pid) => mainThreadMs(pid));
  const operations = await load(durationMs, 1);
  const after = cluster.pids.map((pid) => mainThreadMs(pid));
  return (after.reduce((sum, ms, i) => sum + ms - before[i]!, 0) * 1000) / operations;
}

/** The same under a model. */
function simulated(model: CostModel, layout: Layout, mix: TransactionMix): ScalePoint {
  const { regions, nodesPerRegion, replication, partitions, wan, skewsMs } = layout;
  const place = placed({ regions, nodesPerRegion, replication, partitions, keysPerPartition: 1_000 });
  const delays: Record<string, number> = wan === 'aws' ? awsOneWayMs(regions) : {};
  const { points } = runScale(
    {
      ...place.options(mix),
      entry: TRANSACTION_PROTOCOLS.paris,
      model,
      cores: 1,
      delayMs: (from, to) => delays[`${from}>${to}`] ?? LAN_MS,
      clientMs: LAN_MS,
      skewsMs,
      seed: 1,
    },
    { clientsPerNode: [SESSIONS / regions.length], settleMs: 500, measureMs: 500, leastGain: 0 },
  );
  return points[0]!;
}
