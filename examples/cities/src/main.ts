#!/usr/bin/env node
/** The command of the example. */
import { isIsochronError } from '@isochron/sdk';
import { Command, InvalidArgumentError } from 'commander';
import { importCities } from './import.js';
import { memoryMb, ProgressBar } from './progress.js';
import { resultText } from './result.js';
import { cityRows } from './source.js';

const DEFAULT_ENDPOINTS = ['http://127.0.0.1:7101', 'http://127.0.0.1:7102', 'http://127.0.0.1:7103'];

interface Options {
  readonly rows?: number;
  readonly endpoint?: readonly string[];
  readonly from?: string;
  readonly collection?: string;
  readonly batch: number;
  readonly concurrency: number;
  readonly json: boolean;
}

function atLeastOne(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number above 0.');
}

const command = new Command('cities')
  .description('Imports the cities of the world into one region, and reads them in one snapshot from every region.')
  .option('--rows <n>', 'only the first cities (default: all)', atLeastOne)
  .option(
    '--endpoint <urls>',
    `at least one node of every region, with commas between or repeated (default: ${DEFAULT_ENDPOINTS.join(',')})`,
    (text: string, before: readonly string[] | undefined) => [...(before ?? []), ...text.split(',')],
  )
  .option('--from <region>', 'region that is written to (default: that of the first endpoint)')
  .option('--collection <name>', 'where the cities go (default: cities, or cities-<n> with --rows)')
  .option('--batch <n>', 'cities of one transaction', atLeastOne, 100)
  .option('--concurrency <n>', 'transactions in flight', atLeastOne, 16)
  .option('--json', 'print the result as JSON', false)
  .action(run);

async function run(options: Options): Promise<void> {
  const rows = cityRows(options.rows);
  const progress = new ProgressBar();
  const report = await importCities({
    endpoints: options.endpoint ?? DEFAULT_ENDPOINTS,
    rows,
    batch: options.batch,
    concurrency: options.concurrency,
    // A part of the cities must not be counted together with all of them.
    collection: options.collection ?? (options.rows === undefined ? 'cities' : `cities-${rows.length}`),
    ...(options.from === undefined ? {} : { from: options.from }),
    onProgress: (state) => progress.update(state),
  }).finally(() => progress.end());
  console.log(options.json ? JSON.stringify({ ...report, memoryMb: memoryMb() }) : resultText(report, memoryMb()));
  if (!report.ok) process.exitCode = 1;
}

try {
  await command.parseAsync();
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  console.error(`error: ${isIsochronError(error) ? `${error.code}: ` : ''}${message}`);
  process.exitCode = 1;
}
