/** Metrics of the cluster's map: who is no member, and what waits for the return of a node. */
import type { NodeId } from '@isochron/core';
import { Gauge, type Registry } from 'prom-client';
import type { MapStatus, RunningNode } from '../../node/api.js';

type Source = Pick<RunningNode, 'status'>;

/** Labels that name another node have names of their own: `node` is the node that reports. */
export function mapMetrics(node: Source, registry: Registry): void {
  const figure = (name: string, help: string, read: (map: MapStatus) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read(node.status().map));
      },
    });
  const nodes = (name: string, label: string, help: string, read: (map: MapStatus) => readonly NodeId[]) =>
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [registry],
      collect() {
        this.reset();
        for (const id of read(node.status().map)) this.set({ [label]: id }, 1);
      },
    });
  figure('isochron_map', 'Version of the map of the cluster that the node has adopted.', ({ version }) => version);
  nodes(
    'isochron_suspended',
    'suspended_node',
    '1 for each node that is no member because it did not answer, or by an order.',
    ({ suspended }) => suspended,
  );
  nodes('isochron_held', 'held_node', '1 for each node that an operator keeps away.', ({ held }) => held);
  figure(
    'isochron_deferred',
    'Parts of transactions on this node that need a suspended node, and are not visible until its return.',
    ({ deferred }) => deferred,
  );
  figure(
    'isochron_owes',
    'Whether this node has returned, and commits again what was deferred because of it.',
    ({ owes }) => (owes ? 1 : 0),
  );
}
