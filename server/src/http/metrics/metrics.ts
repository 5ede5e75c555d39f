/**
 * `/metrics` in the Prometheus text format, on a server of its own. Times are in seconds, sizes in bytes; counters end
 * in `_total`.
 */

import { Serving } from '@isochron/sessions';
import fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { FollowedRules, RulesCounts } from '../../access/followed-rules.js';
import type { AuthFile } from '../../auth/auth-file.js';
import type { DiskStatus, RunningNode } from '../../node/api.js';
import type { Certificates } from '../../tls/certificates.js';
import type { SessionCounts } from '../../ws/session-route.js';
import { Connections } from '../connections/connections.js';
import { sendProblem } from '../errors/problem.js';
import { obstaclesOf, READINESS_CHECKS } from '../health/readiness.js';
import { isStale, replicationAges, stabilityOf } from '../health/stability.js';
import { DEFAULT_NODE_LIMITS, type NodeLimits } from '../limits/limits.js';
import { addRoutes } from '../routes/route.js';
import { HEALTH_ROUTES } from '../routes/status.js';
import { CLOSE_MS, servers, timesOf } from '../server.js';
import { certificateMetrics } from './certificate-metrics.js';
import { connectionMetrics } from './connection-metrics.js';
import { costMetrics } from './cost-metrics.js';
import type { HttpLatency } from './latency.js';
import { mapMetrics } from './map-metrics.js';

/** The files that a node follows, where it has them. */
export interface FollowedFiles {
  readonly rules?: Pick<FollowedRules, 'counts'> | undefined;
  readonly credentials?: Pick<AuthFile, 'counts'> | undefined;
  /** Of the API and of the links. */
  readonly certificates?: readonly Certificates[];
}

export interface MetricsOptions {
  /** The API's request durations, where they are measured. */
  readonly latency?: HttpLatency;
  /** The API's, so that both report the same readiness. */
  readonly serving?: Serving;
  /** The API, where it is served in this process. */
  readonly api?: Pick<FastifyInstance, 'sessionCounts' | 'connectionCounts'>;
  readonly files?: FollowedFiles;
  readonly limits?: Partial<NodeLimits> | undefined;
  /** Takes lines about the connections of this port. */
  readonly logger?: Pick<FastifyBaseLogger, 'info' | 'warn'>;
}

export function buildMetrics(node: RunningNode, options: MetricsOptions = {}): FastifyInstance {
  const { latency, api, files: { rules, credentials, certificates = [] } = {}, logger } = options;
  const { serving = new Serving(node, node.config.settings.maxTransactionMs) } = options;
  const limits = { ...DEFAULT_NODE_LIMITS, ...options.limits };
  const registry = new Registry();
  registry.setDefaultLabels({ node: node.id, region: node.region });
  // The delay monitor wakes the process at this interval, in ms: its default would cost an idle node a percent of a
  // core.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  // Gauges with the names of counters: the metric without `_total`, by type, has the same figures.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`);
  nodeGauges(node, registry, serving);
  diskMetrics(node, registry);
  mapMetrics(node, registry);
  stabilityGauges(node, registry);
  costMetrics(node, registry);
  limitMetrics(node, serving, registry);
  if (api !== undefined) sessionGauges(api.sessionCounts, registry);
  if (rules !== undefined) rulesMetrics(rules, registry);
  if (credentials !== undefined) credentialsMetrics(credentials, registry);
  certificateMetrics(certificates, registry);
  const app = fastify({ logger: false, serverFactory: servers(undefined, timesOf(limits)) });
  const connections = metricsConnections(app, limits, serving, logger ?? app.log);
  connectionMetrics(node, { api: () => api?.connectionCounts(), metrics: () => connections.counts() }, registry);
  app.addHook('preClose', (done) => {
    connections.endAfter(CLOSE_MS);
    done();
  });
  app.setErrorHandler((error, request, reply) => sendProblem(reply, error, request.log));
  addRoutes(app, node, { node, serving }, HEALTH_ROUTES);
  app.get('/metrics', async (_request, reply) => {
    const text = await registry.metrics();
    return reply.header('content-type', registry.contentType).send(text + (latency?.text() ?? ''));
  });
  app.addHook('onClose', async () => registry.clear());
  return app;
}

/** The connections of this port, which are bounded as those of the API are. */
function metricsConnections(
  app: FastifyInstance,
  limits: NodeLimits,
  { reached }: Serving,
  log: Pick<FastifyBaseLogger, 'info' | 'warn'>,
): Connections {
  const places = { connections: limits.metricsConnections, connectionsPerAddress: limits.metricsConnections };
  const name = (limit: string): string => (limit === 'connections' ? 'metricsConnections' : limit);
  return new Connections(app.server, { ...limits, ...places }, (limit) => reached.reached(name(limit)), log);
}

/** The access rules and the credentials of a node beside those of its peers. */
function protectionGauges(node: RunningNode, registry: Registry): void {
  const parts = { rules: 'access rules', users: 'credentials, or their settings,' } as const;
  for (const part of ['rules', 'users'] as const) {
    const status = () => node.status().protection[part];
    gauge(
      registry,
      `isochron_${part}_differ`,
      `Nodes whose ${parts[part]} differ from those of this node.`,
      () => status().differsFrom.length,
    );
    gauge(
      registry,
      `isochron_${part}_missing`,
      `Whether the node serves no client, for a peer has ${parts[part]} and it has none.`,
      () => (status().missing ? 1 : 0),
    );
  }
}

function nodeGauges(node: RunningNode, registry: Registry, serving: Serving): void {
  gauge(registry, 'isochron_ready', 'Whether /readyz answers 200.', () =>
    serving.ready && obstaclesOf(node, serving).length === 0 ? 1 : 0,
  );
  new Gauge({
    name: 'isochron_unready',
    help: 'Whether a check of /readyz fails on a node that serves.',
    labelNames: ['check'],
    registers: [registry],
    collect() {
      const failing = obstaclesOf(node, serving).map(({ check }) => check);
      for (const check of READINESS_CHECKS) this.set({ check }, failing.includes(check) ? 1 : 0);
    },
  });
  gauge(
    registry,
    'isochron_cluster_file_differs',
    'Nodes that do not link because their cluster file differs from that of this node in parts that must agree.',
    () => node.status().clusterFile.differsFrom.length,
  );
  protectionGauges(node, registry);
  gauge(
    registry,
    'isochron_disk_verified',
    'Whether every peer replica has confirmed that the disk was not rolled back.',
    () => (node.verification().state === 'verified' ? 1 : 0),
  );
  gauge(
    registry,
    'isochron_disk_verify_timed_out',
    'Whether the node went on after verifyTimeoutMs without a report, and is still unverified.',
    () => (node.verification().timedOut ? 1 : 0),
  );
  gauge(
    registry,
    'isochron_open_transactions',
    'Transactions open on this node.',
    () => node.status().openTransactions,
  );
  gauge(
    registry,
    'isochron_losses_open',
    'Transactions of which a lost disk took a part, and that no operator has acknowledged.',
    () => node.losses().filter(({ acknowledged }) => !acknowledged).length,
  );
  gauge(
    registry,
    'isochron_links_up',
    'Peering links that are up.',
    () => node.status().links.filter(({ up }) => up).length,
  );
  gauge(registry, 'isochron_clock_trusted', 'Whether the wall clock may go into timestamps.', () =>
    node.clockProblem() === undefined ? 1 : 0,
  );
  gauge(
    registry,
    'isochron_clock_drift_seconds',
    'Median of the clocks of other nodes minus that of this one.',
    () => node.status().clock.driftMs / 1000,
  );
  gauge(registry, 'isochron_cache_bytes', 'Memory that keys take.', () => node.status().storage.cacheBytes);
  gauge(
    registry,
    'isochron_cache_limit_bytes',
    'Memory that keys may take.',
    () => node.status().storage.cacheLimitBytes,
  );
  gauge(
    registry,
    'isochron_last_sync_seconds',
    'How long the disk took for the latest batch.',
    () => node.status().storage.lastSyncMs / 1000,
  );
  new Counter({
    name: 'isochron_events_total',
    help: 'Counts of the node since its start.',
    labelNames: ['event'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [event, count] of Object.entries(node.status().counters)) this.inc({ event }, count);
    },
  });
}

function limitMetrics(node: RunningNode, { reached }: Serving, registry: Registry): void {
  new Counter({
    name: 'isochron_limited_total',
    help: 'How often a limit of the node was reached, and a request refused or a connection ended for it.',
    labelNames: ['limit'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [limit, count] of reached) this.inc({ limit }, count);
      const { crowded = 0 } = node.peerConnections() ?? {};
      if (crowded > 0) this.inc({ limit: 'peerStrangers' }, crowded);
    },
  });
}

function sessionGauges(counts: () => SessionCounts, registry: Registry): void {
  gauge(registry, 'isochron_sessions', 'Sessions over WebSocket.', () => counts().sessions);
  gauge(registry, 'isochron_session_sockets', 'Sockets of these sessions.', () => counts().sockets);
  gauge(
    registry,
    'isochron_shared_session_sockets',
    'Those among the sockets that sessions share.',
    () => counts().sharedSockets,
  );
}

function diskMetrics(node: RunningNode, registry: Registry): void {
  const disk = (name: string, help: string, read: (status: DiskStatus) => number) =>
    gauge(registry, `isochron_disk_${name}`, help, () => read(node.status().disk));
  disk('full', 'Whether writes are refused for want of room.', ({ full }) => (full ? 1 : 0));
  disk('used_bytes', 'Of the files in the data folder.', ({ usedBytes }) => usedBytes);
  disk('free_bytes', 'Free on the file system of the data folder.', ({ freeBytes }) => freeBytes ?? Number.NaN);
  disk('quota_bytes', 'Bytes that the data folder may take; 0 for no quota.', ({ quotaBytes }) => quotaBytes);
  const refused = 'Writes that were refused for want of room.';
  counter(registry, 'isochron_disk_refused_writes_total', refused, () => node.status().disk.refusedWrites);
}

function credentialsMetrics(file: Pick<AuthFile, 'counts'>, registry: Registry): void {
  const total = (name: string, help: string, read: (counts: AuthFile['counts']) => number) =>
    counter(registry, `isochron_credentials_file_${name}_total`, help, () => read(file.counts));
  total('reloads', 'Changed files of credentials that were taken.', ({ reloads }) => reloads);
  total('failures', 'Changed files of credentials that were refused.', ({ failures }) => failures);
}

function rulesMetrics(rules: Pick<FollowedRules, 'counts'>, registry: Registry): void {
  const total = (name: string, help: string, read: (counts: RulesCounts) => number) =>
    counter(registry, `isochron_access_rules_${name}_total`, help, () => read(rules.counts));
  gauge(registry, 'isochron_access_rules', 'Access rules in use.', () => rules.counts.rules);
  total('reloads', 'Changed files of access rules that were taken.', ({ reloads }) => reloads);
  total('failures', 'Changed files of access rules that were refused.', ({ failures }) => failures);
  total('refusals', 'Operations that access rules or roles refused.', ({ refusals }) => refusals);
  total('faults', 'Refusals by a condition that may not read what it asks for.', ({ faults }) => faults);
}

function stabilityGauges(node: RunningNode, registry: Registry): void {
  gauge(registry, 'isochron_ust_staleness_seconds', 'Age of the stable snapshot.', () => node.stalenessMs() / 1000);
  gauge(registry, 'isochron_ust_stale', 'Whether that is above stalenessAlertMs of the cluster file.', () =>
    isStale(node) ? 1 : 0,
  );
  new Gauge({
    name: 'isochron_replication_age_seconds',
    help: 'Age of the lowest version vector entry for each region whose writes this node holds: stable time is no younger.',
    labelNames: ['source'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [source, ageMs] of replicationAges(node)) this.set({ source }, ageMs / 1000);
    },
  });
  new Gauge({
    name: 'isochron_ust_held_back',
    help: 'While stale: 1 for the region and node that stable time waits for, by the data of this node.',
    labelNames: ['by_region', 'by_node', 'partition'],
    registers: [registry],
    collect() {
      this.reset();
      const { heldBackBy } = stabilityOf(node);
      if (heldBackBy === null) return;
      const { region, node: by, partition } = heldBackBy;
      this.set({ by_region: region, by_node: by ?? '', partition: partition ?? '' }, 1);
    },
  });
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

function counter(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}
