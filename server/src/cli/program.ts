/** Every command with its options and examples. The code of a command is loaded when it is run. */

import { Command, CommanderError, Option } from 'commander';
import { VERSION } from '../version.js';
import type { BenchOptions } from './bench/command.js';
import { certificateCommands } from './certs/commands.js';
import { clusterCommands } from './cluster-commands.js';
import { type CredentialOptions, credentialsOf } from './credentials.js';
import type { ChangesOptions } from './data/changes.js';
import type { DataOptions } from './data/client.js';
import type { ListOptions, ReadOptions, WriteOptions } from './data/keys.js';
import type { OutcomeOptions } from './data/outcome.js';
import type { ExportOptions, ImportOptions } from './data/transfer.js';
import type { DrainOptions } from './drain/command.js';
import { failureOf, UsageError } from './failures.js';
import { examples } from './help.js';
import { apiKeyCommands } from './keys/commands.js';
import type { LossesOptions } from './losses/command.js';
import { nodesCommands } from './nodes/commands.js';
import { endpoint, endpointList, integer, positive } from './options.js';
import { remark } from './output.js';
import { rulesCommands } from './rules/commands.js';
import type { StatusOptions } from './status/command.js';

/** The address of the first node of `isochron dev`. */
export const DEFAULT_ENDPOINT = 'http://127.0.0.1:7101';

/**
 * Runs the command line.
 * @param args the arguments after the program's name
 * @returns the exit code; the line of a failure has been written to stderr
 */
export async function runCli(args: readonly string[]): Promise<number> {
  try {
    await buildProgram().parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has printed its own line, or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const { line, exitCode } = failureOf(error);
    process.stderr.write(`error: ${line}\n`);
    if (process.env.ISOCHRON_DEBUG && error instanceof Error) process.stderr.write(`${error.stack}\n`);
    return exitCode;
  }
}

export function buildProgram(): Command {
  const program = new Command('isochron')
    .description('A geo-replicated transactional store: transactions that never wait and never abort on conflict.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .addHelpText('afterAll', '\nExit code: 0 done, 1 a failure, 2 a wrong command line, 130 interrupted.')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(`${text.trim().replaceAll(/\s*\n\s*/g, ' ')}\n`) });
  clusterCommands(program);
  keyCommands(program);
  feedCommand(program);
  outcomeCommand(program);
  transferCommands(program);
  observeCommands(program);
  certificateCommands(program);
  rulesCommands(program);
  apiKeyCommands(program);
  return program;
}

/** The options of every command that connects to a cluster. */
const connected = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--endpoint <url>',
        `node to connect to; may be repeated (default: environment ISOCHRON_ENDPOINT, else ${DEFAULT_ENDPOINT})`,
      ).argParser(endpoint),
    )
    .option(
      '--api-key-file <file>',
      'file with the API key or token, where the cluster asks for one; read again when that expires (default: environment ISOCHRON_API_KEY)',
    )
    .option('--api-key <key>', 'the API key itself: other users of this machine can read it')
    .option(
      '--ca <file>',
      'file with the certificate authorities that https endpoints are checked by (default: environment ISOCHRON_CA, else those that Node knows)',
    )
    .option('--json', 'print JSON', false);

/** The options of every command that reads and writes data. */
const session = (command: Command): Command =>
  connected(command)
    .option('--keyspace <name>', 'keyspace', 'default')
    .option('--session-file <file>', 'continue the session in this file, and leave it there for the next command')
    .option(
      '--token-file <file>',
      'file with a session token to start from, for instance of an HTTP answer (default: environment ISOCHRON_TOKEN)',
    )
    .option('--token <token>', 'the session token itself: other users of this machine can read it');

const at = () =>
  new Option('--at <timestamp>', 'read exactly the snapshot of this timestamp').argParser(
    integer(1, Number.MAX_SAFE_INTEGER),
  );
const stable = () => new Option('--stable', 'wait until it is visible in every region').default(false);

/** Options with the endpoints and secrets that were given, else those of the environment. */
function connecting<T>(options: Given<T>): T {
  const { endpoint: given, ...secrets } = options as CredentialOptions & { endpoint?: readonly string[] };
  const endpoints = { endpoint: given ?? environmentEndpoints(), endpointGiven: given !== undefined };
  return { ...options, ...endpoints, ...credentialsOf(secrets, process.env, remark) } as T;
}

/** The options as commander gives them, before defaults are filled in here. */
type Given<T> = Omit<T, 'endpoint' | 'endpointGiven'>;

function environmentEndpoints(): string[] {
  const text = process.env.ISOCHRON_ENDPOINT;
  if (text === undefined || text === '') return [DEFAULT_ENDPOINT];
  try {
    return endpointList(text);
  } catch (error) {
    throw new UsageError(`ISOCHRON_ENDPOINT is not valid: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function keyCommands(program: Command): void {
  session(program.command('get').description('print the document of a key').argument('<key>'))
    .addOption(at())
    .addHelpText(
      'after',
      examples('isochron get todos/1', 'isochron get todos/1 --endpoint http://127.0.0.1:7102 --json'),
    )
    .action(async (key: string, options: Given<ReadOptions>) =>
      (await import('./data/keys.js')).runGet(key, connecting(options)),
    );
  session(
    program
      .command('set')
      .description('store a JSON document')
      .argument('<key>')
      .argument('<json>', 'the document, or - for stdin'),
  )
    .addOption(stable())
    .addHelpText(
      'after',
      examples(`isochron set todos/1 '{"title":"buy milk"}'`, 'isochron set config - < config.json'),
    )
    .action(async (key: string, json: string, options: Given<WriteOptions>) =>
      (await import('./data/keys.js')).runSet(key, json, connecting(options)),
    );
  changeCommands(program);
  session(program.command('delete').description('delete a key').argument('<key>'))
    .addOption(stable())
    .addHelpText('after', examples('isochron delete todos/1'))
    .action(async (key: string, options: Given<WriteOptions>) =>
      (await import('./data/keys.js')).runDelete(key, connecting(options)),
    );
  session(
    program
      .command('list')
      .description('list keys and documents, in key order, of one snapshot')
      .argument('[prefix]', 'only keys with this prefix', ''),
  )
    .addOption(at())
    .option('--start <key>', 'first key that may be listed')
    .option('--limit <n>', 'most entries', integer(1, 100_000), 1000)
    .option('--keys-only', 'print keys without documents', false)
    .addHelpText('after', examples('isochron list todos/', 'isochron list --keys-only --limit 20'))
    .action(async (prefix: string, options: Given<ListOptions>) =>
      (await import('./data/keys.js')).runList(prefix, connecting(options)),
    );
  session(
    program
      .command('commit')
      .description('write several keys in one transaction')
      .argument('<file>', 'JSON lines, or - for stdin'),
  )
    .addOption(stable())
    .addHelpText(
      'after',
      `\n${JSON_LINES}${examples(`printf '%s\\n' '{"key":"a","value":1}' '{"key":"b","delete":true}' | isochron commit -`)}`,
    )
    .action(async (file: string, options: Given<WriteOptions>) =>
      (await import('./data/keys.js')).runCommit(file, connecting(options)),
    );
}

function changeCommands(program: Command): void {
  session(
    program
      .command('update')
      .description('change a document, so that the change merges with those of others')
      .argument('<key>')
      .argument('<json>', 'a merge patch (an object) or operations (an array), or - for stdin'),
  )
    .addOption(stable())
    .addHelpText(
      'after',
      examples(
        `isochron update todos/1 '{"done":true}'`,
        `isochron update stock/tea '[{"op":"increment","path":"/left","by":-1}]'`,
      ),
    )
    .action(async (key: string, json: string, options: Given<WriteOptions>) =>
      (await import('./data/keys.js')).runUpdate(key, json, connecting(options)),
    );
  session(
    program
      .command('claim')
      .description('store a document where there is none, and print who was first')
      .argument('<key>')
      .argument('<json>', 'the document, or - for stdin'),
  )
    .addHelpText(
      'after',
      `\nPrints "won", or "lost to" with the document of the first claim, and exits with 1 then. Of all claims of a key
in all regions one wins. It takes a round trip over the slowest link.${examples(`isochron claim names/ann '{"user":7}'`)}`,
    )
    .action(async (key: string, json: string, options: Given<DataOptions>) =>
      (await import('./data/keys.js')).runClaim(key, json, connecting(options)),
    );
}

function feedCommand(program: Command): void {
  connected(
    program.command('changes').description('print committed transactions in their total order, and follow them'),
  )
    .option('--since <cursor>', 'go on behind the messages that were read before')
    .addOption(
      new Option('--at <timestamp>', 'begin behind the snapshot of this timestamp').argParser(
        integer(1, Number.MAX_SAFE_INTEGER),
      ),
    )
    .option('--keyspace <name>', 'only changes of this keyspace (default: all)')
    .option('--prefix <text>', 'only keys of the keyspace with this prefix')
    .option('--values', 'print the document after each update, too', false)
    .option('--before', 'print the document before each write, too', false)
    .option('--follow', 'go on with the changes that come, until interrupted', false)
    .addHelpText(
      'after',
      `\nPrints a line for each transaction up to stable time, and at the end "cursor" with the text for --since. Without
--since and --at it begins at the present end. With --json a line is a message of the feed, with the cursor behind it.
--follow goes on from the last cursor when a node does not answer, at the next --endpoint. A cursor that is older than
the cluster keeps changes ends it with CHANGES_GONE and exit code 1.${examples('isochron changes', 'isochron changes --since CURSOR --follow --json', 'isochron changes --at 195387383808000 --keyspace default --prefix todos/')}`,
    )
    .action(async (options: Given<ChangesOptions>) =>
      (await import('./data/changes.js')).runChanges(connecting(options)),
    );
}

function outcomeCommand(program: Command): void {
  connected(
    program
      .command('transaction')
      .description('print the outcome of a transaction, by its id')
      .argument('<id>', 'as a receipt, an error or an HTTP answer has it'),
  )
    .option(
      '--sent-after <timestamp>',
      'a timestamp from before it was committed, such as the "sentAfter" of an error: distinguishes forgotten from unknown',
      integer(0, Number.MAX_SAFE_INTEGER),
    )
    .addHelpText(
      'after',
      `\ncommitted: durable, at the timestamp that is printed. aborted: nothing of it was written, nor will be,
unless a client repeats its commit.
pending: being decided; ask again. open: not committed yet. unknown: no node that answers has its outcome.
forgotten: older than the outcomes that are kept. lost: a node that took part lost its disk.${examples('isochron transaction 3q2-7wEjRWeJq83vASNFZw.0')}`,
    )
    .action(async (id: string, options: Given<OutcomeOptions>) =>
      (await import('./data/outcome.js')).runOutcome(id, connecting(options)),
    );
}

function lossesCommand(program: Command): void {
  connected(program.command('losses').description('list the transactions of which a lost disk took a part'))
    .option('--acknowledge [transactions...]', 'acknowledge these, on every node: they are not listed any more')
    .option('--all', 'list those that are acknowledged too; with --acknowledge: acknowledge all of them', false)
    .addHelpText(
      'after',
      `\nEvery node is asked for its losses. "part is gone": some of its writes are lost and the others are visible;
write its keys anew. "taken back": none of its writes is visible. "undecided": no remaining node had committed it, so
that it may never have been acknowledged.${examples('isochron losses', 'isochron losses --acknowledge 3q2-7wEjRWeJq83vASNFZw.0', 'isochron losses --acknowledge --all')}`,
    )
    .action(async (options: Given<LossesOptions>) =>
      (await import('./losses/command.js')).runLosses(connecting(options)),
    );
}

function drainCommand(program: Command): void {
  connected(program.command('drain').description('let a node leave the members before it is stopped, or come back'))
    .argument('<node>', 'id of the node')
    .option('--end', 'become a member again', false)
    .addHelpText(
      'after',
      `\nStable time waits for every member: it goes on when a node that has left is stopped. Until it comes back, the node
serves reads and prepares no commits; other replicas take them. It comes back with --end, or when it starts again.
A node that is closed with SIGTERM leaves by itself.${examples('isochron drain ireland-1', 'isochron drain ireland-1 --end')}`,
    )
    .action(async (id: string, options: Given<DrainOptions>) =>
      (await import('./drain/command.js')).runDrain(id, connecting(options)),
    );
}

const JSON_LINES = 'A line is {"key": …, "value": …}, {"key": …, "delete": true} or {"key": …, "bytes": base64}.';

function transferCommands(program: Command): void {
  session(
    program
      .command('import')
      .description('write the rows of a file in many transactions')
      .argument('<file>', 'JSON lines or CSV, or - for stdin'),
  )
    .addOption(
      new Option('--format <format>', 'of the input (default: csv for *.csv, else jsonl)').choices(['jsonl', 'csv']),
    )
    .option('--key <column>', 'column of CSV that is the key')
    .option('--prefix <text>', 'put this in front of every key', '')
    .option('--batch <n>', 'rows in a transaction', integer(1, 10_000), 100)
    .option('--concurrency <n>', 'transactions in flight, each on its own session', integer(1, 256), 8)
    .option('--skip <n>', 'rows at the beginning to pass over', integer(0, Number.MAX_SAFE_INTEGER), 0)
    .option('--no-wait', 'do not wait until everything is visible in every region')
    .addHelpText(
      'after',
      `\n${JSON_LINES}\nRows of CSV become documents with a text per column; the first line names the columns.${examples('isochron import users.jsonl', 'isochron import users.csv --key id --prefix users/', 'isochron export | isochron import - --endpoint http://other:7101')}`,
    )
    .action(async (file: string, options: Given<ImportOptions>) =>
      (await import('./data/transfer.js')).runImport(file, connecting(options)),
    );
  session(
    program
      .command('export')
      .description('write all documents as JSON lines, from one snapshot')
      .argument('[prefix]', 'only keys with this prefix', ''),
  )
    .addOption(at())
    .option('--output <file>', 'write to this file instead of stdout; --json then prints a summary')
    .addHelpText('after', examples('isochron export > backup.jsonl', 'isochron export todos/ --output todos.jsonl'))
    .action(async (prefix: string, options: Given<ExportOptions>) =>
      (await import('./data/transfer.js')).runExport(prefix, connecting(options)),
    );
}

function observeCommands(program: Command): void {
  connected(program.command('status').description('show every region, node and link'))
    .option('--partitions', 'also show every replica of a partition', false)
    .option('--watch [seconds]', 'repeat until interrupted', positive)
    .addHelpText(
      'after',
      examples(
        'isochron status --partitions',
        'isochron status --watch 2',
        "isochron status --json | jq '.nodes[].status.stalenessMs'",
      ),
    )
    .action(async (options: Given<StatusOptions>) =>
      (await import('./status/command.js')).runStatus(connecting(options)),
    );
  lossesCommand(program);
  drainCommand(program);
  nodesCommands(program, { connected, connecting });
  connected(
    program
      .command('bench')
      .description('put a quick load on a cluster: it overwrites the keys key-0, key-1, … of the keyspace'),
  )
    .option('--sessions <n>', 'sessions, each with one transaction at a time', integer(1, 10_000), 32)
    .option('--duration <seconds>', 'how long', positive, 10)
    .addOption(
      new Option('--mix <mix>', 'transactions: 19 reads and 1 write, 10 and 10, or one operation')
        .choices(['read-heavy', 'write-heavy', 'get', 'set'])
        .default('read-heavy'),
    )
    .option('--keyspace <name>', 'keyspace', 'default')
    .option('--keys <n>', 'keys in each partition', integer(20, 1_000_000), 1000)
    .addHelpText(
      'after',
      `\nWithout --endpoint, sessions are spread over all nodes of the cluster.${examples('isochron bench', 'isochron bench --mix set --sessions 64 --duration 5 --json')}`,
    )
    .action(async (options: Given<BenchOptions>) => (await import('./bench/command.js')).runBench(connecting(options)));
}
