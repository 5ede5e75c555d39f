#!/usr/bin/env node
/** The command of the example. */
import { isIsochronError } from '@isochron/sdk';
import { Command } from 'commander';
import { Copy } from './copy.js';
import { follow } from './follow.js';

const DEFAULT_ENDPOINTS = 'http://127.0.0.1:7101,http://127.0.0.1:7102,http://127.0.0.1:7103';

interface Options {
  readonly endpoint: string;
  readonly keyspaces: string;
  readonly database: string;
  readonly json: boolean;
}

const command = new Command('feed')
  .description('Keeps a SQLite database in step with keyspaces, transaction by transaction, until it is interrupted.')
  .option('--endpoint <urls>', 'nodes of any regions, with commas between', DEFAULT_ENDPOINTS)
  .option('--keyspaces <names>', 'with commas between', 'default')
  .option('--database <file>', 'made if it is missing', 'copy.sqlite')
  .option('--json', 'print a line of JSON for each step', false)
  .action(run);

async function run({ endpoint, keyspaces, database, json }: Options): Promise<void> {
  const copy = new Copy(database, keyspaces.split(','));
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  try {
    await follow(copy, {
      endpoints: endpoint.split(','),
      signal: interrupted.signal,
      onStep: ({ timestamp }, transactions) => {
        if (json) console.log(JSON.stringify({ timestamp, transactions }));
        else if (transactions > 0) console.log(`${transactions} transactions, now at ${timestamp}`);
      },
    });
  } finally {
    copy.close();
  }
}

try {
  await command.parseAsync();
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  console.error(`error: ${isIsochronError(error) ? `${error.code}: ` : ''}${message}`);
  process.exitCode = 1;
}
