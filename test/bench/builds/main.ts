/**
 * `npm run bench:builds -- FOLDER`: this build beside another, on the same work. Both have nodes and load generators of
 * their own, and take turns round by round: a machine's speed changes from one minute to the next. A process has its
 * own luck with compiled code, so all processes are started anew several times.
 */
import { resolve } from 'node:path';
import { READ_HEAVY, WRITE_HEAVY } from '@isochron/workload';
import { Command } from 'commander';
import type { Cluster } from '../cluster.js';
import { Context } from '../context.js';
import { addRunOptions, chosenFrom, endOnSignals, type RunOptions, settingsOf, whole } from '../options.js';
import { Progress } from '../progress.js';
import { machineLines, machineOf } from '../report.js';
import { type Contender, takeTurns } from '../rounds.js';
import { httpRequests } from '../rows/http.js';
import { commits, MIXES, reads, transactions } from '../rows/loads.js';
import { comparisonTable, type Start } from './comparison.js';

const WARM_UP_OPERATIONS = 3_000;
const QUICK_MS = 250;

interface BuildLoad {
  readonly name: string;
  readonly what: string;
  contender(context: Context, cluster: Cluster): Contender | Promise<Contender>;
}

const LOADS: readonly BuildLoad[] = [
  { name: 'get', what: 'GET one key', contender: (context, cluster) => httpRequests(context, cluster, 'http-get') },
  { name: 'put', what: 'PUT one key', contender: (context, cluster) => httpRequests(context, cluster, 'http-put') },
  { name: 'reads', what: 'SDK reads of one key', contender: reads },
  { name: 'commits', what: 'SDK commits of one key', contender: (context, cluster) => commits(context, cluster) },
  {
    name: 'read-heavy',
    what: MIXES.readHeavy.what,
    contender: (context, cluster) => transactions(context, cluster, READ_HEAVY),
  },
  {
    name: 'write-heavy',
    what: MIXES.writeHeavy.what,
    contender: (context, cluster) => transactions(context, cluster, WRITE_HEAVY),
  },
];

interface Options extends RunOptions {
  readonly only?: readonly BuildLoad[];
  readonly starts: number;
}

const program = addRunOptions(
  new Command('bench:builds')
    .description('Measures this build beside another: rates and CPU time of the same work.')
    .argument('<folder>', 'the other repository, built; its benchmarks must know the same jobs')
    .option('--only <names>', 'loads, or beginnings of their names, with commas between them', chosenFrom(LOADS))
    .option('--starts <n>', 'how often all processes are started anew', whole, 4),
  { duration: 2, rounds: 5, keys: 10_000 },
).addHelpText(
  'after',
  `\nLoads:\n${LOADS.map(({ name, what }) => `  ${name.padEnd(12)} ${what}`).join('\n')}

Exit code: 0 measured, 1 a failure or a wrong command line.`,
);

const [folder] = program.parse().processedArgs as [string];
const options = program.opts<Options>();
const settings = {
  ...settingsOf(options, QUICK_MS),
  warmUpOperations: options.quick ? 1 : WARM_UP_OPERATIONS,
};

/** The contexts of the current start. */
const open: Context[] = [];

async function main(): Promise<void> {
  endOnSignals(open);
  const starts = options.quick ? 1 : options.starts;
  const machine = machineOf(process.cwd());
  const progress = new Progress(starts);
  const measured = new Map<string, Start[]>();
  for (let start = 1; start <= starts; start++) {
    progress.begin(`start ${start} of ${starts}`);
    await measureStart(progress, start, measured);
  }
  progress.end();
  console.log([...machineLines(machine, []), comparisonTable(measured)].join('\n'));
}

/** Starts both builds, in turn this build or the other first, and measures each load. */
async function measureStart(progress: Progress, start: number, measured: Map<string, Start[]>): Promise<void> {
  const own = new Context(settings, progress);
  const other = new Context(settings, progress, resolve(folder));
  open.push(...(start % 2 === 1 ? [own, other] : [other, own]));
  try {
    const clusters = new Map<Context, Cluster>();
    for (const context of open) clusters.set(context, await context.filledCluster());
    for (const { what, contender } of options.only ?? LOADS) {
      const inOrder = {} as Record<keyof Start, Contender>;
      for (const context of open)
        inOrder[context === own ? 'own' : 'other'] = await contender(context, clusters.get(context)!);
      const all = measured.get(what) ?? [];
      all.push(await takeTurns(inOrder, own.roundOptions));
      measured.set(what, all);
    }
  } catch (error) {
    // The signal's handler ends the process without a report.
    throw own.isClosing ? await new Promise<never>(() => {}) : error;
  } finally {
    await Promise.all(open.splice(0).map((context) => context.close()));
  }
}

await main();
