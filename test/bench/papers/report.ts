/** The report of a run: Markdown and plots, made from its record. */

import { number, table } from '../markdown.js';
import { machineLines } from '../report.js';
import { type Claim, findingOf, isReached } from './claim.js';
import { experimentSection } from './experiment-section.js';
import { missingMetrics } from './measures.js';
import { reasonsOf } from './reasons.js';
import type { RunRecord } from './samples.js';
import { CLAIM_HEAD, scaleClaimRows, scaleSection } from './scale/section.js';

/** The files of a report, by name. */
export type ReportFiles = ReadonlyMap<string, string>;

export const REPORT_FILE = 'report.md';

/** @param command that repeats such a run */
export function renderReport(run: RunRecord, claims: readonly Claim[], command: string): ReportFiles {
  const plots = new Map<string, string>();
  const addPlot = (file: string, svg: string): void => void plots.set(file, svg);
  const sections = run.experiments.map((record) => experimentSection(record, addPlot));
  const parts = [
    '# The papers’ experiments',
    conditions(run, command),
    '## Claims',
    'Each figure is a ratio within one run, or in its unit. Where a bound is not reached, the figure stands as it is.',
    claimTable(run, claims),
    ...sections,
    ...(run.scale === undefined ? [] : [scaleSection(run.scale, addPlot)]),
    ...missing(run),
  ];
  return new Map([[REPORT_FILE, `${parts.join('\n\n')}\n`], ...plots]);
}

function conditions({ date, machine, settings }: RunRecord, command: string): string {
  const { rounds, durationMs, seed, quick, keysPerPartition } = settings;
  const rounded = `${rounds} ${rounds === 1 ? 'round' : 'rounds'} of ${durationMs / 1000} s`;
  return [
    ...(quick ? ['**A quick run: it shows that all of it runs, and measures nothing.**', ''] : []),
    ...[`Measured ${date}.`, ...machineLines(machine)].map((line) => `- ${line}`),
    `- ${rounded} at each point after a warm-up, systems in turn; medians over the rounds. Seed ${seed}; ${keysPerPartition.toLocaleString('en-US')} keys a partition, zipf 0.99, values of 8 bytes.`,
    '- Real processes on one machine; delays between regions as the PaRiS paper measured them on AWS (Fig. 1), clocks skewed by a few ms; sessions of the SDK in a closed loop, in the region of their node. The processes of the other systems of an experiment are stopped meanwhile.',
    `- Again: \`${command}\``,
  ].join('\n');
}

function claimTable(run: RunRecord, claims: readonly Claim[]): string {
  const chosen = claims.filter(({ experiment }) =>
    run.experiments.some((record) => record.experiment.name === experiment),
  );
  const rows = chosen.map((claim) => {
    const record = run.experiments.find(({ experiment }) => experiment.name === claim.experiment);
    const finding = record && findingOf(claim, record);
    const reached = isReached(claim, finding);
    const { layout } = record!.experiment;
    const conditions = [claim.experiment, `${layout.regions.length} regions`, finding?.conditions];
    return [
      claim.claim,
      claim.paper,
      finding === undefined ? 'not measured' : valueText(finding.value, claim.unit),
      boundText(claim),
      reached === undefined ? '' : reached ? 'yes' : '**no**',
      conditions.filter((part) => part !== undefined).join(', '),
      reasonsOf({ claim, run, record, finding, reached }),
    ];
  });
  return table(CLAIM_HEAD, [...rows, ...(run.scale === undefined ? [] : scaleClaimRows(run.scale))]);
}

const valueText = (value: number, unit: Claim['unit']): string => `${number(value)}${unit === '×' ? '' : ' '}${unit}`;

const boundText = ({ bound, unit }: Claim): string =>
  bound === undefined ? '' : `${bound.is === 'at least' ? '≥' : '≤'} ${valueText(bound.value, unit)}`;

/** Missing measurements, with the reasons. */
function missing({ experiments, failures }: RunRecord): string[] {
  const rounds = experiments.flatMap(({ points }) => points.flatMap((point) => point.rounds));
  const protocols = new Set(
    experiments.flatMap(({ experiment }) => experiment.systems.map(({ protocol }) => protocol)),
  );
  const metrics = rounds.length === 0 ? [] : missingMetrics(rounds, protocols);
  const lines = [
    ...failures.map(({ experiment, error }) => `- ${experiment} failed: ${error}`),
    ...experiments.flatMap(({ experiment, failures }) =>
      failures.map(({ point, error }) => `- ${experiment.name}: ${point} failed: ${error}`),
    ),
    ...metrics.map((name) => `- the nodes do not count \`${name}\``),
  ];
  return lines.length === 0 ? [] : ['## What is missing', lines.join('\n')];
}
