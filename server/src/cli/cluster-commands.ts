/** The commands that run nodes: `dev` and `node`. */
import { DEFAULT_PROTOCOL, PROTOCOL_NAMES } from '@isochron/protocols/session-rules';
import { type Command, Option } from 'commander';
import { PORTS } from '../tls/exposure.js';
import type { DevOptions } from './dev/plan.js';
import { examples } from './help.js';
import type { NodeOptions } from './node/options.js';
import {
  hostNames,
  insecurePorts,
  integer,
  nodeIds,
  nodeLimits,
  origins,
  peerDial,
  regionList,
  signedInteger,
} from './options.js';

const MAX_PORT = 65_535;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

const logLevel = () =>
  new Option('--log-level <level>', 'least level that is logged').choices(LOG_LEVELS).default('info');

export function clusterCommands(program: Command): void {
  program
    .command('dev')
    .description('run a cluster on this machine, one process per node')
    .option('--regions <names>', 'regions, with commas between them', regionList, ['virginia', 'oregon', 'ireland'])
    .option('--nodes-per-region <n>', 'nodes in each region', integer(1, 16), 1)
    .option('--partitions <n>', 'partitions of the keyspace "default"', integer(1, 4096), 6)
    .option(
      '--replication <n>',
      'in how many regions each partition is held (default: 2; all of them where the protocol needs that)',
      integer(1, 64),
    )
    .addOption(
      new Option('--wan <delays>', 'delays between regions: as measured on AWS, or none')
        .choices(['aws', 'none'])
        .default('none'),
    )
    .addOption(
      new Option('--protocol <name>', 'replication protocol').choices(PROTOCOL_NAMES).default(DEFAULT_PROTOCOL),
    )
    .option('--data <folder>', 'folder of cluster file, secret, data and logs', './data')
    .option('--port-base <port>', 'first port: API; +100: peering; +200: metrics', integer(1, MAX_PORT), 7101)
    .addOption(
      new Option('--durability <kind>', 'synced: commits wait for the disk')
        .choices(['synced', 'memory'])
        .default('synced'),
    )
    .option('--tls', 'serve API and links over TLS, with certificates in <data>/certs', false)
    .option('--keep-config', 'use <data>/cluster.yaml as it is, when there is one', false)
    .addOption(logLevel())
    .option('--json', 'print the endpoints as JSON, on one line', false)
    .addHelpText(
      'after',
      examples(
        'isochron dev',
        'isochron dev --wan aws',
        'isochron dev --tls',
        'isochron dev --protocol wren --data ./wren',
        'isochron dev --regions virginia,mumbai --nodes-per-region 2 --data /tmp/two',
      ),
    )
    .action(async (options: DevOptions) => (await import('./dev/command.js')).runDev(options));
  program
    .command('node')
    .description('run a node of a cluster, or several nodes of one machine')
    .requiredOption('--config <file>', 'cluster file')
    .requiredOption(
      '--node <ids>',
      'which node of the file this is; several with commas between them have a process each, and are kept running',
      nodeIds,
    )
    .option(
      '--data <folder>',
      'folder of the node\'s data; {node} stands for its id in every path (default: "data/{node}")',
    )
    .option(
      '--secret-file <file>',
      'file with the secret of the cluster; a second line is accepted too (default: environment ISOCHRON_SECRET)',
    )
    .option(
      '--auth <file>',
      'file of the issuers of tokens and the hashes of API keys that callers may use (docs/security.md)',
    )
    .option('--audit-log <file>', 'append what operators do, and refusals, to this file (default: to the log)')
    .option(
      '--metrics-port <port>',
      'serve /metrics, /livez and /readyz on this port, without keys; of several nodes on this one and the next ones',
      integer(1, MAX_PORT),
    )
    .addOption(
      new Option(
        '--metrics-host <address>',
        'address that --metrics-port listens on, such as 0.0.0.0 for a scraper elsewhere',
      )
        .env('ISOCHRON_METRICS_HOST')
        .default('127.0.0.1'),
    )
    .option('--rules <file>', 'access rules: who may do what with which documents; followed while the node runs')
    .option('--tls-cert <file>', 'serve the API over TLS 1.3 with this certificate, where its URL is https')
    .option('--tls-key <file>', 'private key of --tls-cert')
    .option(
      '--peer-cert <file>',
      'link to peers over mutual TLS 1.3 with this certificate, where the peer URLs are wss',
    )
    .option('--peer-key <file>', 'private key of --peer-cert')
    .option('--peer-ca <file>', 'certificate authorities of the peers; two while one replaces the other')
    .addOption(
      new Option(
        '--insecure [ports]',
        'let other machines reach these ports without TLS or keys: api, peer, metrics, with commas between them (default: all)',
      )
        .preset(PORTS.join(','))
        .argParser(insecurePorts),
    )
    .option('--api-host <address>', "address to listen on (default: the host of the node's api URL)")
    .addOption(
      new Option(
        '--cors-origin <origin>',
        'let web pages of this origin call; may be repeated, or a list with commas (default: with API keys all, without only those of this machine)',
      )
        .env('ISOCHRON_CORS_ORIGIN')
        .argParser(origins),
    )
    .addOption(
      new Option(
        '--allow-host <name>',
        'serve the API under this host name; may be repeated, or a list with commas (default: with API keys all, without only loopback names)',
      )
        .env('ISOCHRON_ALLOW_HOST')
        .argParser(hostNames),
    )
    .addOption(
      new Option(
        '--peer-listen <host:port>',
        "address to listen on for peers (default: that of the node's peer URL)",
      ).env('ISOCHRON_PEER_LISTEN'),
    )
    .addOption(
      new Option(
        '--peer-dial <node=url>',
        'dial this peer at another URL than its peer URL; may be repeated, or a list with commas',
      )
        .env('ISOCHRON_PEER_DIAL')
        .argParser(peerDial),
    )
    .addOption(
      new Option(
        '--limit <name=number>',
        'bound the use of the node by callers, such as connections=1000; may be repeated, or a list with commas (names and defaults: server/src/http/README.md)',
      )
        .env('ISOCHRON_LIMITS')
        .argParser(nodeLimits),
    )
    .option('--accept-loss', 'let partitions that no node has a copy of any more come back empty', false)
    .option(
      '--accept-future-timestamps',
      'serve data of the future for export, and write nothing (see docs/clocks.md)',
      false,
    )
    .option('--clock-skew-ms <n>', 'add this to the clock, for experiments', signedInteger, 0)
    .addOption(logLevel())
    .addHelpText(
      'after',
      `\nLogs go to stderr as JSON lines. SIGTERM closes the node in order: sessions move to other nodes, requests that have begun are finished; a second one ends it at once. SIGHUP reads the files of credentials, rules and certificates again. ISOCHRON_API_KEYS holds API keys with all roles, with commas between them; without it and without --auth the API is open. Without TLS and credentials a port listens on loopback only, unless --insecure names it. Files of certificates and credentials are read again when they change. Of two nodes, the one with the lower id dials the other.\n${examples(
        'ISOCHRON_SECRET=… isochron node --config cluster.yaml --node virginia-1 --data /var/lib/isochron',
        'isochron node --config cluster.yaml --node virginia-1 --tls-cert api.pem --tls-key api-key.pem --peer-cert peer.pem --peer-key peer-key.pem --peer-ca ca.pem',
        'isochron node --config cluster.yaml --node oregon-1,oregon-2 --data /var/lib/isochron/{node}',
        'isochron node --config cluster.yaml --node ireland-1 --insecure peer --peer-listen 0.0.0.0:7201 --peer-dial virginia-1=ws://10.0.0.7:7201',
      )}`,
    )
    .action(async (options: NodeOptions) => (await import('./node/command.js')).runNode(options));
}
