/** The scenario `storm`: faults of all kinds at once, drawn from the seed, under sessions that do everything a session can do. */
import type { ErrorCode } from '@isochron/core';
import type { HistoryRecorder } from '@isochron/workload';
import { until } from '../e2e/until.js';
import type { ChaosCluster } from './cluster.js';
import { converged } from './convergence.js';
import { drawSchedule, type Fault, type FaultKind } from './faults.js';
import { Gate } from './gate.js';
import { Nemesis } from './nemesis.js';
import { eventWriter, type Load, type Scenario, writeSchedule } from './run.js';
import { ChaosSession } from './session.js';
import { Tally } from './tally.js';

/** Errors that only some faults explain. */
const EXPLAINED: readonly (readonly [FaultKind, ErrorCode])[] = [
  ['fill', 'STORAGE_FULL'],
  // A node that has lost its disk knows nothing of commits that began before it came back, new ones among them (D10).
  ['wipe', 'OUTCOME_FORGOTTEN'],
];
const SETTLE_LIMIT_MS = 180_000;
const PROGRESS_INTERVAL_MS = 500;

export interface StormOptions {
  readonly seed: number;
  readonly durationMs: number;
  readonly kinds: readonly FaultKind[];
  readonly sessions: number;
  /** Hot keys. */
  readonly keys: number;
  /** On a machine without time for it the run goes on, with the last faults healed or not, until so many transactions have committed. */
  readonly least?: number;
  readonly folder: string;
  readonly onStep: (text: string) => void;
}

export const storm = (options: StormOptions): Scenario => ({
  name: 'storm',
  load: (cluster, recorder) => loadStorm(options, cluster, recorder),
});

async function loadStorm(options: StormOptions, cluster: ChaosCluster, recorder: HistoryRecorder): Promise<Load> {
  const { seed, durationMs, kinds, keys, folder } = options;
  const tally = new Tally(EXPLAINED.filter(([kind]) => kinds.includes(kind)).map(([, code]) => code));
  const [gate, stopping] = [new Gate(), new AbortController()];
  const steps = drawSchedule({ seed, durationMs, kinds, shape: cluster.shape, pairs: cluster.links.pairs });
  writeSchedule(folder, steps);
  const startMs = performance.now();
  const settled = async () => {
    await converged(cluster, SETTLE_LIMIT_MS);
  };
  const onEvent = eventWriter(folder);
  const nemesis = new Nemesis({ cluster, gate, settled, onEvent });
  const endpoints = Object.fromEntries(cluster.regions.map((region) => [region, cluster.cluster.endpoints(region)]));
  const shared = { recorder, tally, gate, endpoints, keys, seed, signal: stopping.signal };
  const sessions = Promise.all(Array.from({ length: options.sessions }, (_, i) => new ChaosSession(shared, i).run()));
  const stop = async () => {
    stopping.abort();
    await sessions;
  };
  const { least = 0 } = options;
  const enough = () =>
    until(`${least} transactions`, () => tally.outcomes.committed >= least, { timeoutMs: SETTLE_LIMIT_MS });
  const told = setInterval(() => options.onStep(progressOf(startMs, options, tally, nemesis)), PROGRESS_INTERVAL_MS);
  try {
    // A session that ends early is a fault of the run: nobody would notice that nothing is tested any more.
    await Promise.race([nemesis.run(steps, durationMs).then(enough), sessions]);
  } catch (error) {
    stopping.abort();
    throw error;
  } finally {
    clearInterval(told);
  }
  return {
    tally,
    faults: nemesis.counts,
    heal: () => nemesis.heal(),
    stop,
    figures: () => figuresOf(tally),
    violations: () => ({}),
  };
}

const figuresOf = ({ moves, deaths }: Tally): [string, string][] => [
  ['sessions that moved to another region', String(moves)],
  ['sessions that were lost', String(deaths)],
];

function progressOf(startMs: number, { durationMs }: StormOptions, { outcomes }: Tally, { now }: Nemesis): string {
  const { committed, aborted, unknown } = outcomes;
  const seconds = `${Math.round((performance.now() - startMs) / 1000)} of ${Math.round(durationMs / 1000)} s`;
  const faults = now.map(nameOf).join(', ');
  return `${seconds}, ${committed} committed, ${aborted} aborted, ${unknown} unknown; ${faults || 'no fault'}`;
}

/** A fault in two or three words. */
export function nameOf(fault: Fault): string {
  if ('node' in fault) return `${fault.kind} ${fault.node}`;
  if ('pair' in fault) return `${fault.kind} ${fault.pair.join('–')}`;
  return 'region' in fault ? `${fault.kind} ${fault.region}` : fault.kind;
}
