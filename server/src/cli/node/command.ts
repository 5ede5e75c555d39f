/** `isochron node`: one server process. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IsochronError } from '@isochron/core';
import { type Logger, pino } from 'pino';
import { type ClusterConfig, parseClusterFile } from '../../config/cluster-file.js';
import { loadSecret } from '../../config/secret.js';
import { buildApi } from '../../http/api.js';
import { apiKeysFromEnv } from '../../http/auth.js';
import { HttpLatency } from '../../http/latency.js';
import { buildMetrics } from '../../http/metrics.js';
import { openNode } from '../../node/open.js';
import { failureOf } from '../failures.js';
import { tellParent } from './parent.js';
import { closeOnSignals, fatalExit } from './shutdown.js';

/** Options of `isochron node`. */
export interface NodeOptions {
  readonly config: string;
  readonly node: string;
  readonly data?: string;
  readonly secretFile?: string;
  readonly metricsPort?: number;
  readonly apiHost?: string;
  readonly clockSkewMs: number;
  readonly logLevel: string;
}

/** Starts the node; resolves once it listens. It ends by a signal, see {@link closeOnSignals}. */
export async function runNode(options: NodeOptions): Promise<void> {
  const logger = pino(
    { level: options.logLevel, base: { name: options.node } },
    pino.destination({ fd: 2, sync: true }),
  );
  const fatal = fatalExit(logger);
  process.on('uncaughtException', fatal);
  const opening = serve(options, logger, fatal);
  closeOnSignals(logger, async () => (await opening)());
  try {
    await opening;
  } catch (error) {
    await tellParent(failureOf(error).line);
    // The channel would keep the process alive.
    if (process.connected) process.disconnect();
    throw error;
  }
}

/** Opens everything, and gives back what closes it again. */
async function serve(
  options: NodeOptions,
  logger: Logger,
  onFailure: (error: unknown) => void,
): Promise<() => Promise<void>> {
  const config = parseClusterFile(readFileSync(options.config, 'utf8'), options.config);
  const { api: url } = nodeConfig(config, options);
  const secret = loadSecret({ secretFile: options.secretFile });
  const dataDir = options.data ?? join('data', options.node);
  const { clockSkewMs } = options;
  const node = await openNode({ config, node: options.node, dataDir, secret, logger, clockSkewMs, onFailure });
  const latency = new HttpLatency();
  const apiKeys = apiKeysFromEnv(process.env);
  const api = await buildApi(node, { secret, apiKeys, logger, sessions: node.sessions, latency });
  const metrics = buildMetrics(node, latency);
  const close = async () => {
    await Promise.all([api.close(), metrics.close()]);
    await node.close();
  };
  try {
    await api.listen({ host: options.apiHost ?? new URL(url).hostname, port: portOf(url) });
    if (options.metricsPort !== undefined) await metrics.listen({ host: '127.0.0.1', port: options.metricsPort });
  } catch (error) {
    await close();
    throw error;
  }
  logger.info({ api: url, region: node.region, cluster: config.cluster }, 'listening');
  return close;
}

function nodeConfig(config: ClusterConfig, { node, config: file }: NodeOptions): { readonly api: string } {
  const nodes = config.regions.flatMap((region) => region.nodes);
  const found = nodes.find(({ id }) => id === node);
  if (found !== undefined) return found;
  const known = nodes.map(({ id }) => id).join(', ');
  throw new IsochronError('CONFIG_INVALID', `${file} has no node "${node}"; it has ${known}`);
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
