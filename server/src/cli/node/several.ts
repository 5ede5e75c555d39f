/** `isochron node` for several nodes of a machine: processes of their own, which are kept running. */
import { pino } from 'pino';
import { stopOnSignals } from '../children/stop-on-signals.js';
import { Supervisor } from '../children/supervisor.js';
import { ReportedFailure, UsageError } from '../failures.js';
import { logOutput } from './log-output.js';
import { NODE_NAME, type NodeOptions, optionsOf } from './options.js';
import { type NodeSettings, readSettings } from './settings.js';

/** Options that name something which only one node can have. */
const OWN_FILES = { data: '--data', auditLog: '--audit-log' } as const;
const MAX_PORT = 65_535;

/**
 * Runs nodes until a signal stops all of them. A node that ends is started again after a pause; the others go on. What
 * can be checked without a node's data is checked before any node starts.
 *
 * @throws UsageError for options that the nodes cannot share; IsochronError as a single node; ReportedFailure for nodes
 * that did not close in order
 */
export async function runNodes(options: NodeOptions): Promise<void> {
  checkShared(options);
  const settings = options.node.map((id) => readSettings(optionsOf(options, id), pino({ level: 'silent' })));
  checkMetricsPorts(options, settings);
  const logger = pino({ level: options.logLevel, base: { name: 'isochron' } }, logOutput());
  const nodes = options.node.map((id, index) => ({ id, index }));
  const supervisor = new Supervisor(nodes, (node) => argsOf(node, options), {
    // Each node writes to the same log that it listens.
    untilReady: () => Promise.resolve(),
    ready: () => undefined,
    remark: (line) => logger.warn(line),
  });
  stopOnSignals(supervisor, ['SIGINT', 'SIGTERM'], () => logger.info('closing all nodes'));
  process.on('SIGHUP', () => supervisor.signal('SIGHUP'));
  logger.info({ nodes: options.node }, 'starting nodes');
  await supervisor.ended();
  const { unclean } = supervisor;
  if (unclean.length > 0) throw new ReportedFailure(`NODE_ENDED: not closed in order: ${unclean.join(', ')}`);
  logger.info('all nodes have ended');
}

/** The arguments of this process, and behind them the node's own arguments. */
function argsOf({ id, index }: { id: string; index: number }, { metricsPort }: NodeOptions): string[] {
  const metrics = metricsPort === undefined ? [] : ['--metrics-port', String(metricsPort + index)];
  return [...process.argv.slice(2), '--node', id, ...metrics];
}

function checkShared(options: NodeOptions): void {
  for (const [name, flag] of Object.entries(OWN_FILES) as [keyof typeof OWN_FILES, string][]) {
    const path = options[name];
    if (path !== undefined && !path.includes(NODE_NAME))
      throw new UsageError(`${flag} ${path} would be shared by several nodes; write ${NODE_NAME} in it`);
  }
  for (const [flag, value] of [
    ['--peer-listen', options.peerListen],
    ['--peer-dial', options.peerDial],
  ] as const)
    if (value) throw new UsageError(`${flag} is for one node; start the nodes one by one, or leave it out`);
}

/** No node serves metrics on a port that is too high, or that is another port of the nodes. */
function checkMetricsPorts({ metricsPort, node }: NodeOptions, settings: readonly NodeSettings[]): void {
  if (metricsPort === undefined) return;
  const taken = new Set(settings.flatMap(({ listen, peering }) => [listen.port, peering.listen.port]));
  for (const [index, id] of node.entries()) {
    const port = metricsPort + index;
    if (port <= MAX_PORT && !taken.has(port)) continue;
    const why = port > MAX_PORT ? 'there is no such port' : 'that is another port of these nodes';
    throw new UsageError(`--metrics-port ${metricsPort}: ${id} would serve metrics on ${port}, and ${why}`);
  }
}
