import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { IsochronError } from '@isochron/core';
import { Serving } from '@isochron/sessions';
import { isOutOfRoom } from '@isochron/storage';
import { type Logger, pino } from 'pino';
import { FollowedRules } from '../../access/followed-rules.js';
import { protectionOf } from '../../access/protection.js';
import { auditFile } from '../../audit/audit.js';
import type { ClusterConfig } from '../../config/cluster-file.js';
import { buildApi } from '../../http/api.js';
import { DEFAULT_NODE_LIMITS, type NodeLimits } from '../../http/limits/limits.js';
import { HttpLatency } from '../../http/metrics/latency.js';
import { buildMetrics } from '../../http/metrics/metrics.js';
import { isLoopback } from '../../http/requests/origins.js';
import { listenAt } from '../../http/server.js';
import { memoryOf, processMemory } from '../../node/memory.js';
import { openNode } from '../../node/open.js';
import type { OwnProtection } from '../../node/protection.js';
import { isDiskFailure } from '../../node/quarantine.js';
import { isSupervised, notifyParent } from '../children/parent.js';
import { failureOf } from '../failures.js';
import { type FollowedFile, reloadOnHangup } from './hangup.js';
import { boundHeapGrowth } from './heap.js';
import { logOutput } from './log-output.js';
import { type NodeOptions, type OwnOptions, optionsOf } from './options.js';
import { type NodeSettings, readSettings } from './settings.js';
import { runNodes } from './several.js';
import { closeOnSignals, fatalExit } from './shutdown.js';
import { whenDecided } from './when-decided.js';

/** Pause before a node is opened again, ms: the cause of the failure may take a moment to pass. */
const RESTART_AFTER_MS = 1_000;

/**
 * Starts the node; resolves once it listens. It ends by a signal, see {@link closeOnSignals}. Several nodes: resolves
 * when all have ended.
 */
export async function runNode(options: NodeOptions): Promise<void> {
  const [node, ...others] = options.node;
  try {
    if (others.length === 0) await start(optionsOf(options, node!));
    else await runNodes(options);
  } catch (error) {
    await notifyParent(failureOf(error).line);
    // The channel would keep the process alive.
    if (isSupervised() && process.connected) process.disconnect();
    throw error;
  }
}

async function start(options: OwnOptions): Promise<void> {
  const logger = pino({ level: options.logLevel, base: { name: options.node } }, logOutput());
  const files: FollowedFile[] = [];
  reloadOnHangup(logger, files);
  const settings = readSettings(options, logger);
  const { config, auth, apiKeys, certificates, listen } = settings;
  boundHeapGrowth(memoryOf(config, options.node, processMemory()));
  const fatal = fatalExit(logger);
  process.on('uncaughtException', fatal);
  if (settings.isOpen) {
    const who = isLoopback(listen.host)
      ? 'every program that reaches it from this machine'
      : 'every program that reaches it';
    logger.warn(`the API is open: ${who} may read and write everything; give --auth or set ISOCHRON_API_KEYS`);
  }
  for (const one of Object.values(certificates)) one?.watch();
  const access = options.rules === undefined ? undefined : accessRules(options.rules, config, logger);
  auth?.watch();
  files.push(...[auth, access, ...Object.values(certificates)].filter((one) => one !== undefined));
  const protection = protectionOf({ access, auth, apiKeys });
  const parts = { ...settings, access, protection, logger };
  // A node whose disk must not be used is opened again: the verdict on its data was written down before it failed
  // (D10). So is a node that could not write because its disk was full (D11).
  const onFailure = (error: unknown): void => {
    if (!isDiskFailure(error) && !isOutOfRoom(error)) {
      fatal(error);
      return;
    }
    logger.error({ err: error }, 'the node starts again');
    serving = serving.then(async (close) => {
      await close();
      return serveWhenThereIsRoom(options, { ...parts, onFailure });
    });
    serving.catch(fatal);
  };
  let serving = serve(options, { ...parts, onFailure });
  closeOnSignals(logger, async () => (await serving)());
  await serving;
}

/** How long a node that closes waits for decisions on its prepared transactions, ms. */
const DECIDE_TIMEOUT_MS = 3000;
/** Longest wait, while closing, for a map without this node, ms. */
const LEAVE_TIMEOUT_MS = 3_000;

/** Parts of a node beside its options. */
interface NodeParts extends NodeSettings {
  readonly access: FollowedRules | undefined;
  readonly protection: OwnProtection;
  readonly logger: Logger;
  readonly onFailure: (error: unknown) => void;
}

/** Serves again, as soon as the disk has enough free space. */
async function serveWhenThereIsRoom(options: OwnOptions, parts: NodeParts): Promise<() => Promise<void>> {
  for (;;) {
    await delay(RESTART_AFTER_MS);
    try {
      return await serve(options, parts);
    } catch (error) {
      if (!isOutOfRoom(error)) throw error;
      parts.logger.error({ err: error }, 'the node cannot start again: its disk is full');
    }
  }
}

/** Opens all parts, and returns a function that closes them. */
async function serve(options: OwnOptions, parts: NodeParts): Promise<() => Promise<void>> {
  const { config, peering, secrets, apiKeys, auth, access, protection, certificates, logger, onFailure } = parts;
  const dataDir = options.data ?? join('data', options.node);
  const { node: id, clockSkewMs, acceptLoss, acceptFutureTimestamps: acceptFuture } = options;
  const common = { ...secrets, config, peering, peerCertificates: certificates.peer, protection, logger, onFailure };
  const { limit: limits = {} } = options;
  const peerLimits = peerLimitsOf(limits);
  const node = await openNode({ ...common, peerLimits, node: id, dataDir, clockSkewMs, acceptLoss, acceptFuture });
  const latency = new HttpLatency();
  const serving = new Serving(node, config.settings.maxTransactionMs, limits);
  const { corsOrigin: corsOrigins, allowHost: allowHosts } = options;
  const auditLog = options.auditLog === undefined ? undefined : auditFile(options.auditLog, id, onFailure);
  const shared = { ...secrets, apiKeys, auth, access, auditLog, certificates: certificates.api };
  const api = await buildApi(node, { ...shared, corsOrigins, allowHosts, limits, logger, serving, latency });
  const loaded = Object.values(certificates).filter((one) => one !== undefined);
  const files = { rules: access, credentials: auth, certificates: loaded };
  const metrics = buildMetrics(node, { latency, serving, api, files, limits, logger });
  const close = async () => {
    await api.drain();
    await api.close();
    const undecided = await whenDecided(node, DECIDE_TIMEOUT_MS);
    // Other nodes decide them, or this node after its restart (D2).
    if (undecided > 0) logger.warn({ undecided }, 'some transactions are not decided yet');
    const why = await node.leave(LEAVE_TIMEOUT_MS);
    if (why === undefined) logger.info('left the members: stable time goes on without this node');
    else logger.info({ why }, 'closes as a member');
    await Promise.all([node.close(), metrics.close()]);
  };
  try {
    await listenAt(api, { ...parts.listen, listenTextResolver: () => `API at ${parts.api}` });
    if (options.metricsPort !== undefined)
      await listenAt(metrics, { host: options.metricsHost, port: options.metricsPort });
  } catch (error) {
    await close();
    throw error;
  }
  logger.info({ api: parts.api, region: node.region, cluster: config.cluster, pid: process.pid }, 'listening');
  return close;
}

/** The access rules of the node, which follow their file. @throws IsochronError `CONFIG_INVALID` */
function accessRules(file: string, { protocol, keyspaces }: ClusterConfig, logger: Logger): FollowedRules {
  if (protocol !== 'paris')
    throw new IsochronError('CONFIG_INVALID', `access rules are judged in snapshots of paris, not of ${protocol}`);
  const names = keyspaces.map(({ name }) => name);
  const rules = new FollowedRules(file, names, logger);
  rules.watch();
  return rules;
}

/** The limits of the peering port. */
function peerLimitsOf(limits: Partial<NodeLimits>) {
  const { peerStrangers: maxStrangers, peerStrangersPerAddress: maxStrangersPerAddress } = {
    ...DEFAULT_NODE_LIMITS,
    ...limits,
  };
  return { maxStrangers, maxStrangersPerAddress };
}
