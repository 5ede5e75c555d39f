/** `npm run bench:scale`: the scale experiment alone. It needs no real node and no idle machine. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { table } from '../../markdown.js';
import { whole } from '../../options.js';
import { Progress } from '../../progress.js';
import { ROOT } from '../../root.js';
import { REPORT_FILE } from '../report.js';
import { QUICK_SCALE, SCALE } from './experiment.js';
import { runScaleExperiment } from './run.js';
import { CLAIM_HEAD, scaleClaimRows, scaleSection } from './section.js';

interface Options {
  readonly seed: number;
  readonly quick: boolean;
  readonly workers?: number;
  readonly out?: string;
}

const program = new Command('bench:scale')
  .description('Throughput of simulated clusters by nodes and regions, under the measured costs of bench:costs.')
  .option('--seed <n>', 'seed of the random numbers', whole, 1)
  .option('--workers <n>', 'configurations simulated at once (default: one for each core)', whole)
  .option('--quick', 'small clusters for a moment: shows that all of it runs, measures nothing', false)
  .option('--out <folder>', 'folder of the report (default: bench-results/<date>-scale)')
  .addHelpText('after', '\nExit code: 0 the report is written, 1 a failure or a wrong command line.');

async function main(): Promise<void> {
  const { out, ...options } = program.parse().opts<Options>();
  const experiment = options.quick ? QUICK_SCALE : SCALE;
  const progress = new Progress(experiment.configurations.length);
  const record = await runScaleExperiment(experiment, { ...options, onDone: (what) => progress.begin(what) });
  progress.end();
  const date = new Date().toISOString().replaceAll(':', '-');
  const folder = out ?? join(ROOT, 'bench-results', `${date}-scale`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'scale.json'), `${JSON.stringify(record)}\n`);
  const section = scaleSection(record, (file, svg) => writeFileSync(join(folder, file), svg));
  const claims = table(CLAIM_HEAD, scaleClaimRows(record));
  writeFileSync(join(folder, REPORT_FILE), `# Scale\n\n## Claims\n\n${claims}\n\n${section}\n`);
  console.log(join(folder, REPORT_FILE));
}

await main();
