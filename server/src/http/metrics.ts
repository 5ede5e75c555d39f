/** `/metrics` in the Prometheus text format, on a server of its own that is bound to loopback. */
import fastify, { type FastifyInstance } from 'fastify';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { RunningNode } from '../node/api.js';
import type { HttpLatency } from './latency.js';
import { healthRoutes } from './routes-ops.js';

/** @param latency the API's request durations, when they are measured */
export function buildMetrics(node: RunningNode, latency?: HttpLatency): FastifyInstance {
  const registry = new Registry();
  registry.setDefaultLabels({ node: node.id, region: node.region });
  // The delay monitor wakes the process at this interval, in ms: its default would cost an idle node a percent of a core.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  nodeGauges(node, registry);
  const app = fastify({ logger: false });
  healthRoutes(app, node);
  app.get('/metrics', async (_request, reply) => {
    const text = await registry.metrics();
    return reply.header('content-type', registry.contentType).send(text + (latency?.text() ?? ''));
  });
  app.addHook('onClose', async () => registry.clear());
  return app;
}

function nodeGauges(node: RunningNode, registry: Registry): void {
  gauge(registry, 'isochron_ust_staleness_ms', 'Age of the stable snapshot.', () => node.stalenessMs());
  gauge(registry, 'isochron_ready', 'Whether the node serves.', () => (node.ready() ? 1 : 0));
  gauge(
    registry,
    'isochron_open_transactions',
    'Transactions open on this node.',
    () => node.status().openTransactions,
  );
  gauge(
    registry,
    'isochron_links_up',
    'Peering links that are up.',
    () => node.status().links.filter(({ up }) => up).length,
  );
  new Gauge({
    name: 'isochron_events',
    help: 'Counters of the node since its start.',
    labelNames: ['event'],
    registers: [registry],
    collect() {
      for (const [event, count] of Object.entries(node.status().counters)) this.set({ event }, count);
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
