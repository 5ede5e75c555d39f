/** The figures of two builds that took turns, as ratios of their neighbouring rounds. */
import Table from 'cli-table3';
import { type Figure, figureOf } from '../figures.js';
import { ratesOf, type Sample } from '../rounds.js';
import { figureText, valueText } from '../table.js';

/** The rounds of one load between two starts of all processes. */
export interface Start {
  readonly own: readonly Sample[];
  readonly other: readonly Sample[];
}

/** The median over all rounds of own ÷ other, with the range of the starts' medians. */
export function ratioOfBuilds(starts: readonly Start[], part: (sample: Sample) => number): Figure {
  const ratios = starts.map(({ own, other }) => own.map((sample, i) => part(sample) / part(other[i]!)));
  const medians = ratios.map((ratio) => figureOf(ratio).median);
  return { ...figureOf(medians), median: figureOf(ratios.flat()).median };
}

/** A line for each load. */
export function comparisonTable(loads: ReadonlyMap<string, readonly Start[]>): string {
  const head = ['what', 'this build', 'the other', 'rate ÷ rate', 'CPU ÷ CPU of the nodes'];
  const table = new Table({ head, style: { head: [], border: [], compact: true } });
  for (const [what, starts] of loads) {
    const rate = (build: keyof Start) => ratesOf(starts.flatMap((start) => start[build]));
    const cpu = starts.flatMap(({ own, other }) => [...own, ...other]).every(({ cpuUs }) => cpuUs !== undefined);
    table.push([
      what,
      valueText(rate('own').median, '/s'),
      valueText(rate('other').median, '/s'),
      figureText(
        ratioOfBuilds(starts, ({ operations, elapsedMs }) => operations / elapsedMs),
        '',
      ),
      cpu
        ? figureText(
            ratioOfBuilds(starts, ({ cpuUs }) => cpuUs!),
            '',
          )
        : '',
    ]);
  }
  return table.toString();
}
