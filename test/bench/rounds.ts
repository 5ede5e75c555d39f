/** Rounds in turn: whatever else the machine does meanwhile hits the subject and its limit alike. */
import { type Figure, figureOf, quantile, type Row } from './figures.js';
import { totalCpuMs } from './proc.js';

/** What a load generator counted. */
export interface Load {
  /** Operations that ended within the time. */
  readonly operations: number;
  readonly elapsedMs: number;
  readonly latency?: { readonly p50Ms: number; readonly p99Ms: number } | undefined;
}

/** One of those that take turns. */
export interface Contender<L extends Load = Load> {
  /** Puts load on it for so long. @param round counted from 1; 0 is the warm-up */
  run(durationMs: number, round: number): Promise<L>;
  /** Processes that do the work, without the load generators. */
  readonly pids: readonly number[];
  /** Told when its turn comes, and when that is over. */
  readonly turn?: Turn;
}

/** What a contender does around its turns, so that it takes nothing from the others in theirs. */
export interface Turn {
  begins(): Promise<void>;
  ends(): void;
}

export type Sample<L extends Load = Load> = L & {
  /** CPU time of the contender's processes, µs an operation; undefined where the system does not say. */
  readonly cpuUs: number | undefined;
};

export interface RoundOptions {
  readonly rounds: number;
  readonly durationMs: number;
  /** Told before each round. */
  readonly onRound: (round: number) => void;
}

/** Longest warm-up of a contender, ms: enough for the hot paths to be compiled. */
const MAX_WARM_UP_MS = 2000;

/** How long each is warmed up before rounds of this length. */
export const warmUpMs = (durationMs: number): number => Math.min(MAX_WARM_UP_MS, durationMs / 2);

/** A warm-up of each contender, then A B C, A B C, … */
export async function takeTurns<Name extends string, L extends Load = Load>(
  contenders: Readonly<Record<Name, Contender<L>>>,
  { rounds, durationMs, onRound }: RoundOptions,
): Promise<Record<Name, Sample<L>[]>> {
  const names = Object.keys(contenders) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as Sample<L>[]])) as Record<Name, Sample<L>[]>;
  onRound(0);
  for (const name of names) await inTurn(contenders[name], () => contenders[name].run(warmUpMs(durationMs), 0));
  for (let round = 1; round <= rounds; round++) {
    onRound(round);
    for (const name of names) {
      samples[name].push(await inTurn(contenders[name], () => measure(contenders[name], durationMs, round)));
    }
  }
  return samples;
}

async function inTurn<R>({ turn }: Contender, run: () => Promise<R>): Promise<R> {
  await turn?.begins();
  try {
    return await run();
  } finally {
    turn?.ends();
  }
}

async function measure<L extends Load>(contender: Contender<L>, durationMs: number, round: number): Promise<Sample<L>> {
  const before = totalCpuMs(contender.pids);
  const load = await contender.run(durationMs, round);
  const after = totalCpuMs(contender.pids);
  if (load.operations === 0) throw new Error('not a single operation ended in a round');
  const known = before !== undefined && after !== undefined && contender.pids.length > 0;
  return { ...load, cpuUs: known ? ((after - before) * 1000) / load.operations : undefined };
}

/** Operations per second. */
export const ratesOf = (samples: readonly Sample[]): Figure =>
  figureOf(samples.map(({ operations, elapsedMs }) => (operations * 1000) / elapsedMs));

/** The parts of a row that come from samples. */
export function rowParts(
  samples: readonly Sample[],
  limit?: { readonly what: string; readonly samples: readonly Sample[] },
): Pick<Row, 'measured' | 'limit' | 'latency' | 'cpuUs' | 'unit'> {
  const cpuUs = medianOf(samples, ({ cpuUs }) => cpuUs);
  const p50Ms = medianOf(samples, ({ latency }) => latency?.p50Ms);
  const p99Ms = medianOf(samples, ({ latency }) => latency?.p99Ms);
  return {
    unit: '/s',
    measured: ratesOf(samples),
    limit: limit && { what: limit.what, figure: ratesOf(limit.samples) },
    latency: p50Ms === undefined || p99Ms === undefined ? undefined : { p50Ms, p99Ms },
    cpuUs: cpuUs === undefined ? undefined : { measured: cpuUs, limit: medianOf(limit?.samples ?? [], (s) => s.cpuUs) },
  };
}

function medianOf(samples: readonly Sample[], part: (sample: Sample) => number | undefined): number | undefined {
  const values = samples.map(part).filter((value) => value !== undefined);
  return values.length === 0 ? undefined : quantile(values, 0.5);
}
