/** `isochron node` for several nodes of a machine: processes of their own, which are kept running. */
import { pino } from 'pino';
import { stopOnSignals } from '../children/stop-on-signals.js';
import { Supervisor } from '../children/supervisor.js';
import { UsageError } from '../failures.js';
import { logOutput } from './log-output.js';
import { NODE_NAME, type NodeOptions } from './options.js';

/** Options that name something which only one node can have. */
const OWN_FILES = { data: '--data', auditLog: '--audit-log' } as const;

/**
 * Runs nodes until a signal stops all of them. A node that ends is started again after a pause; the others go on.
 *
 * @throws UsageError for options that the nodes cannot share
 */
export async function runNodes(options: NodeOptions): Promise<void> {
  checkShared(options);
  const logger = pino({ level: options.logLevel, base: { name: 'isochron' } }, logOutput());
  const nodes = options.node.map((id, index) => ({ id, index }));
  const supervisor = new Supervisor(nodes, (node) => argsOf(node, options), {
    // They report it themselves, in the same log.
    untilReady: () => Promise.resolve(),
    ready: () => undefined,
    remark: (line) => logger.warn(line),
  });
  stopOnSignals(supervisor, ['SIGINT', 'SIGTERM'], () => logger.info('closing all nodes'));
  process.on('SIGHUP', () => supervisor.signal('SIGHUP'));
  logger.info({ nodes: options.node }, 'starting nodes');
  await supervisor.ended();
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
  if (options.peerListen)
    throw new UsageError('--peer-listen is the address of one node; start the nodes one by one, or leave it out');
}
