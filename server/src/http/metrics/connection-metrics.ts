/** Metrics of the connections of a node: those of each port by their state. */
import { Gauge, type Registry } from 'prom-client';
import type { RunningNode } from '../../node/api.js';

type Counts = () => Readonly<Record<string, number>> | undefined;

/** @param counts the connections of a port; undefined where the port is not served in this process */
export function connectionMetrics(
  node: RunningNode,
  counts: { readonly api: Counts; readonly metrics: Counts },
  registry: Registry,
): void {
  const ports = { ...counts, peer: () => node.peerConnections()?.states };
  new Gauge({
    name: 'isochron_connections',
    help: 'Connections to each port of the node, by their state.',
    labelNames: ['port', 'state'],
    registers: [registry],
    collect() {
      for (const [port, read] of Object.entries(ports))
        for (const [state, count] of Object.entries(read() ?? {})) this.set({ port, state }, count);
    },
  });
}
