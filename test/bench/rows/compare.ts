/** Comparisons as data: contenders that take turns, and the lines that their samples make. */
import type { Cluster } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import type { Line } from '../figures.js';
import { type Contender, rowParts, type Sample, takeTurns } from '../rounds.js';

/** A line about the rate of one contender. */
export interface RateLine<Name extends string> extends Pick<Line, 'what' | 'target' | 'point' | 'details'> {
  readonly of: Name;
  /** The limit: a contender of the same comparison, and its name in the result. */
  readonly beside?: readonly [Name, string];
}

/** The line of a contender's samples. */
export function rateLine<Name extends string>(
  { of, beside, ...line }: RateLine<Name>,
  samples: Readonly<Record<Name, readonly Sample[]>>,
): Line {
  return { ...line, ...rowParts(samples[of], beside && { what: beside[1], samples: samples[beside[0]] }) };
}

/** Lets the contenders take turns. */
export async function compare<Name extends string>(
  context: Context,
  contenders: Readonly<Record<Name, Contender>>,
  lines: readonly RateLine<NoInfer<Name>>[],
): Promise<Line[]> {
  const samples = await takeTurns(contenders, context.roundOptions);
  return lines.map((line) => rateLine(line, samples));
}

/** A benchmark that is one comparison on the main cluster, filled with the keys of the workload. */
export interface ComparedBenchmark<Name extends string> extends Pick<Benchmark, 'name' | 'about'> {
  contenders(
    context: Context,
    cluster: Cluster,
  ): Readonly<Record<Name, Contender>> | Promise<Readonly<Record<Name, Contender>>>;
  readonly lines: readonly RateLine<NoInfer<Name>>[];
}

/** Makes the benchmark of a comparison on the main cluster. */
export const compared = <Name extends string>({ contenders, lines, ...named }: ComparedBenchmark<Name>): Benchmark => ({
  ...named,
  run: async (context) => compare(context, await contenders(context, await context.filledCluster()), lines),
});
