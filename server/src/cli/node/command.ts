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
import { isSupervised, tellParent } from './parent.js';
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
  try {
    await start(options);
  } catch (error) {
    await tellParent(failureOf(error).line);
    // The channel would keep the process alive.
    if (isSupervised() && process.connected) process.disconnect();
    throw error;
  }
}

async function start(options: NodeOptions): Promise<void> {
  const config = parseClusterFile(readFileSync(options.config, 'utf8'), options.config);
  const { api } = nodeConfig(config, options);
  const secret = loadSecret({ secretFile: options.secretFile });
  const logger = pino(
    { level: options.logLevel, base: { name: options.node } },
    pino.destination({ fd: 2, sync: true }),
  );
  const onFailure = fatalExit(logger);
  process.on('uncaughtException', onFailure);
  const serving = serve(options, { config, secret, api, logger, onFailure });
  closeOnSignals(logger, async () => (await serving)());
  await serving;
}

/** What a node is opened with, beside the options. */
interface Parts {
  readonly config: ClusterConfig;
  readonly secret: string;
  /** URL of this node's API. */
  readonly api: string;
  readonly logger: Logger;
  readonly onFailure: (error: unknown) => void;
}

/** Opens everything, and gives back what closes it again. */
async function serve(options: NodeOptions, parts: Parts): Promise<() => Promise<void>> {
  const { config, secret, logger, onFailure } = parts;
  const dataDir = options.data ?? join('data', options.node);
  const { node: id, clockSkewMs } = options;
  const node = await openNode({ config, node: id, dataDir, secret, logger, clockSkewMs, onFailure });
  const latency = new HttpLatency();
  const apiKeys = apiKeysFromEnv(process.env);
  const api = await buildApi(node, { secret, apiKeys, logger, sessions: node.sessions, latency });
  const metrics = buildMetrics(node, latency);
  const close = async () => {
    await Promise.all([api.close(), metrics.close()]);
    await node.close();
  };
  try {
    await api.listen({ host: options.apiHost ?? new URL(parts.api).hostname, port: portOf(parts.api) });
    if (options.metricsPort !== undefined) await metrics.listen({ host: '127.0.0.1', port: options.metricsPort });
  } catch (error) {
    await close();
    throw error;
  }
  logger.info({ api: parts.api, region: node.region, cluster: config.cluster }, 'listening');
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
