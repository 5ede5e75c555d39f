/** Every command with its options and examples. What a command does is loaded when it is asked for. */
import { Command, CommanderError, Option } from 'commander';
import { VERSION } from '../version.js';
import { failureOf } from './failures.js';
import { endpoint, endpointList, integer, nameList, positive, signedInteger } from './options.js';
import type { BenchOptions } from './bench/command.js';
import type { DataOptions } from './data/client.js';
import type { DevOptions } from './dev/plan.js';
import type { NodeOptions } from './node/command.js';
import type { StatusOptions } from './status/command.js';

/** Where `isochron dev` puts its first node. */
export const DEFAULT_ENDPOINT = 'http://127.0.0.1:7101';
const MAX_PORT = 65_535;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/**
 * Runs the command line.
 * @param args what follows the program's name
 * @returns the exit code; the failure's line has been written to stderr
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
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(`${text.trim().replaceAll(/\s*\n\s*/g, ' ')}\n`) });
  clusterCommands(program);
  keyCommands(program);
  transferCommands(program);
  observeCommands(program);
  return program;
}

const examples = (...lines: string[]): string => `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;

const logLevel = () => new Option('--log-level <level>', 'least level that is logged').choices(LOG_LEVELS).default('info');

function clusterCommands(program: Command): void {
  program
    .command('dev')
    .description('run a cluster on this machine, one process per node')
    .option('--regions <names>', 'regions, with commas between them', nameList, ['virginia', 'oregon', 'ireland'])
    .option('--nodes-per-region <n>', 'nodes in each region', integer(1, 16), 1)
    .option('--partitions <n>', 'partitions of the keyspace "default"', integer(1, 4096), 6)
    .option('--replication <n>', 'in how many regions each partition is held', integer(1, 64), 2)
    .addOption(new Option('--wan <delays>', 'delays between regions: as measured on AWS, or none').choices(['aws', 'none']).default('none'))
    .addOption(new Option('--protocol <name>', 'replication protocol').choices(['paris']).default('paris'))
    .option('--data <folder>', 'folder of cluster file, secret, data and logs', './data')
    .option('--port-base <port>', 'first port: API; +100: peering; +200: metrics', integer(1, MAX_PORT), 7101)
    .addOption(new Option('--durability <kind>', 'synced: commits wait for the disk').choices(['synced', 'memory']).default('synced'))
    .option('--keep-config', 'use <data>/cluster.yaml as it is, when there is one', false)
    .addOption(logLevel())
    .option('--json', 'print the endpoints as JSON, on one line', false)
    .addHelpText('after', examples('isochron dev', 'isochron dev --wan aws', 'isochron dev --regions virginia,mumbai --nodes-per-region 2 --data /tmp/two'))
    .action(async (options: DevOptions) => (await import('./dev/command.js')).runDev(options));
  program
    .command('node')
    .description('run one node of a cluster')
    .requiredOption('--config <file>', 'cluster file')
    .requiredOption('--node <id>', 'which node of the file this is')
    .option('--data <folder>', 'folder of this node\'s data (default: "data/<id>")')
    .option('--secret-file <file>', 'file with the secret of the cluster (default: environment ISOCHRON_SECRET)')
    .option('--metrics-port <port>', 'serve /metrics on this port of 127.0.0.1', integer(1, MAX_PORT))
    .option('--api-host <address>', "address to listen on (default: the host of the node's api URL)")
    .option('--clock-skew-ms <n>', 'add this to the clock, for experiments', signedInteger, 0)
    .addOption(logLevel())
    .addHelpText('after', `\nLogs go to stderr as JSON lines. SIGTERM closes the node in order.\n${examples('ISOCHRON_SECRET=… isochron node --config cluster.yaml --node virginia-1 --data /var/lib/isochron')}`)
    .action(async (options: NodeOptions) => (await import('./node/command.js')).runNode(options));
}

/** The options of every command that speaks to a cluster. */
const connected = (command: Command): Command =>
  command.addOption(
    new Option('--endpoint <url>', 'node to speak to; may be repeated')
      .argParser((text: string, before: string[] | undefined) => endpoint(text, before))
      .default(undefined, process.env.ISOCHRON_ENDPOINT ?? DEFAULT_ENDPOINT),
  )
    .option('--api-key <key>', 'API key, where the cluster asks for one (default: environment ISOCHRON_API_KEY)');

/** The options of every command that reads and writes data. */
const session = (command: Command): Command =>
  connected(command)
    .option('--keyspace <name>', 'keyspace', 'default')
    .option('--session-file <file>', 'continue the session in this file, and leave it there for the next command')
    .option('--token <token>', 'session token to start from, for instance of an HTTP answer')
    .option('--json', 'print JSON', false);

/** Options with the endpoints that were given, or else those of the environment. */
const withEndpoints = <T extends { endpoint?: readonly string[] }>(options: T): T & { endpoint: readonly string[] } => ({
  ...options,
  endpoint: options.endpoint ?? endpointList(process.env.ISOCHRON_ENDPOINT ?? DEFAULT_ENDPOINT),
});
