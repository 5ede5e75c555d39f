/** Rounds in turn: other work of the machine affects the subject and its limit alike. */
import { type Figure, figureOf, quantile, type Row } from './figures.js';
import { totalCpuMs } from './proc.js';

/** The counts of a load generator. */
export interface Load {
  /** Operations that ended within the time. */
  readonly operations: number;
  readonly elapsedMs: number;
  readonly latency?: { readonly p50Ms: number; readonly p99Ms: number } | undefined;
}

/** A subject or limit that takes turns with others. */
export interface Contender<L extends Load = Load> {
  /** Puts load on it for `durationMs`. @param round counted from 1; 0 is the warm-up */
  run(durationMs: number, round: number): Promise<L>;
  /** Processes that do the work, without the load generators. */
  readonly pids: readonly number[];
  /** How many of the processes are slower before they are warm; all unless given. */
  readonly coldProcesses?: number;
  /** The load generators, if their CPU time is a part of the figure. */
  readonly clientPids?: readonly number[];
  /** Contenders with the same workload name run the same code on the same processes, and share a warm-up. */
  readonly workload?: string;
  /** Called when its turn begins and ends. */
  readonly turn?: Turn;
}

/** A contender's actions around its turns, so that it uses no resources in those of others. */
export interface Turn {
  begins(): Promise<void>;
  ends(): void;
}

export type Sample<L extends Load = Load> = L & {
  /** CPU time of the contender's processes, µs an operation; undefined if the system does not report it. */
  readonly cpuUs: number | undefined;
  /**
   * CPU time of its load generators, µs an operation; undefined if it is not a part of the figure, or the system does
   * not report it.
   */
  readonly clientCpuUs?: number | undefined;
};

export interface RoundOptions {
  readonly rounds: number;
  readonly durationMs: number;
  /**
   * Operations of the warm-up, for each process of a contender: the same code costs three times as much before its hot
   * paths are compiled. Undefined: a warm-up of {@link warmUpMs}.
   */
  readonly warmUpOperations?: number;
  /** Called before each round; 0 is the warm-up. */
  readonly onRound: (round: number) => void;
  /** Called for a contender whose warm-up reached {@link MAX_WARM_UP_MS} before its operations were done. */
  readonly onCold?: (name: string, operations: number) => void;
}

/** Longest warm-up by time, ms. */
const MAX_TIMED_WARM_UP_MS = 2000;
/** Longest warm-up by operations, ms. */
const MAX_WARM_UP_MS = 60_000;

/** Length of the warm-up for rounds of this length, unless operations determine it. */
export const warmUpMs = (durationMs: number): number => Math.min(MAX_TIMED_WARM_UP_MS, durationMs / 2);

/** A warm-up of each contender, then A B C, A B C, … */
export async function takeTurns<Name extends string, L extends Load = Load>(
  contenders: Readonly<Record<Name, Contender<L>>>,
  options: RoundOptions,
): Promise<Record<Name, Sample<L>[]>> {
  const { rounds, durationMs, onRound } = options;
  const names = Object.keys(contenders) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as Sample<L>[]])) as Record<Name, Sample<L>[]>;
  onRound(0);
  const warm = new Set<string>();
  for (const name of names) {
    const { workload = name } = contenders[name];
    if (!warm.has(workload)) await inTurn(contenders[name], () => warmUp(name, contenders[name], options));
    warm.add(workload);
  }
  for (let round = 1; round <= rounds; round++) {
    onRound(round);
    for (const name of names) {
      samples[name].push(await inTurn(contenders[name], () => measure(contenders[name], durationMs, round)));
    }
  }
  return samples;
}

async function warmUp(name: string, contender: Contender, options: RoundOptions): Promise<void> {
  const { durationMs, warmUpOperations, onCold } = options;
  const wanted = (warmUpOperations ?? 0) * Math.max(1, contender.coldProcesses ?? contender.pids.length);
  const began = performance.now();
  let done = 0;
  do {
    done += (await contender.run(warmUpMs(durationMs), 0)).operations;
  } while (done < wanted && performance.now() - began < MAX_WARM_UP_MS);
  if (done < wanted) onCold?.(name, done);
}

async function inTurn<R>({ turn }: Contender, run: () => Promise<R>): Promise<R> {
  await turn?.begins();
  try {
    return await run();
  } finally {
    turn?.ends();
  }
}

const measure = <L extends Load>(contender: Contender<L>, durationMs: number, round: number): Promise<Sample<L>> =>
  sampleOf(() => contender.run(durationMs, round), contender.pids, contender.clientPids);

/**
 * A load as a sample.
 * @param pids of the servers
 * @param clientPids of the load generators, if their CPU time is a part of the figure
 * @throws Error if no operation ended
 */
export async function sampleOf<L extends Load>(
  work: () => Promise<L>,
  pids: readonly number[],
  clientPids: readonly number[] = [],
): Promise<Sample<L>> {
  const before = [totalCpuMs(pids), totalCpuMs(clientPids)] as const;
  const load = await work();
  const after = [totalCpuMs(pids), totalCpuMs(clientPids)] as const;
  if (load.operations === 0) throw new Error('not a single operation ended in a round');
  const cpuUs = (of: readonly number[], i: 0 | 1): number | undefined =>
    before[i] === undefined || after[i] === undefined || of.length === 0
      ? undefined
      : ((after[i] - before[i]) * 1000) / load.operations;
  return { ...load, cpuUs: cpuUs(pids, 0), clientCpuUs: cpuUs(clientPids, 1) };
}

/** Operations per second. */
export const ratesOf = (samples: readonly Sample[]): Figure =>
  figureOf(samples.map(({ operations, elapsedMs }) => (operations * 1000) / elapsedMs));

/** CPU time of servers and load generators together, µs an operation; undefined if the system does not report it. */
export function cpuOf(samples: readonly Sample[]): Figure | undefined {
  const sums = samples.map(({ cpuUs, clientCpuUs }) =>
    cpuUs === undefined || clientCpuUs === undefined ? undefined : cpuUs + clientCpuUs,
  );
  return sums.every((sum) => sum !== undefined) ? figureOf(sums) : undefined;
}

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
