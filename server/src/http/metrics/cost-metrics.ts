/** The costs of a protocol as metrics: waiting, bytes and messages, metadata, the time until updates are visible. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Costs, RunningNode } from '../../node/api.js';
import { SCOPES, TRAFFIC_KINDS } from '../../node/traffic.js';

/** Upper ends of the histogram of visibility, in seconds: from one round in a region to a region that is cut off. */
const VISIBILITY_BUCKETS = [0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 5, 10];

/** Registers them, each labelled with the node's protocol. */
export function costMetrics(node: RunningNode, registry: Registry): void {
  const protocol = node.protocol.name;
  const total = (name: string, help: string, read: (costs: Costs) => number): void => {
    new Counter({
      name,
      help,
      labelNames: ['protocol'],
      registers: [registry],
      collect() {
        this.reset();
        this.inc({ protocol }, read(node.costs()));
      },
    });
  };
  waits(node, registry, total);
  traffic(node, registry);
  total(
    'isochron_replicated_updates_total',
    'Updates sent to other regions, once for each region.',
    ({ replicatedUpdates }) => replicatedUpdates,
  );
  total(
    'isochron_metadata_bytes_total',
    'Bytes of timestamps and dependencies in them: all of an update but key, value and transaction id.',
    ({ metadataBytes }) => metadataBytes,
  );
  visibility(node, registry);
}

type Total = (name: string, help: string, read: (costs: Costs) => number) => void;

/** Always zero where the protocol does not block. */
function waits(node: RunningNode, registry: Registry, total: Total): void {
  for (const [kind, what] of [
    ['read', 'Reads that waited until a replica had their snapshot, or until it was chosen.'],
    ['write', 'Writes that waited for a clock or for their dependencies.'],
  ] as const) {
    const of = ({ blocked }: Costs) => (kind === 'read' ? blocked.reads : blocked.writes);
    total(`isochron_blocked_${kind}s_total`, what, (costs) => of(costs).count);
    total(
      `isochron_blocked_${kind}_seconds_total`,
      'How long they waited, in all.',
      (costs) => of(costs).totalMs / 1000,
    );
    new Gauge({
      name: `isochron_blocked_${kind}_longest_seconds`,
      help: 'How long the longest of them waited.',
      labelNames: ['protocol'],
      registers: [registry],
      collect() {
        this.set({ protocol: node.protocol.name }, of(node.costs()).longestMs / 1000);
      },
    });
  }
}

/** Traffic to other nodes, by kind. */
function traffic(node: RunningNode, registry: Registry): void {
  for (const [unit, help] of [
    ['bytes', 'Bytes sent to other nodes, without those of WebSocket.'],
    ['messages', 'Messages sent to other nodes; of kind framing: frames.'],
  ] as const) {
    new Counter({
      name: `isochron_sent_${unit}_total`,
      help,
      labelNames: ['kind', 'scope', 'protocol'],
      registers: [registry],
      collect() {
        this.reset();
        const { sent } = node.costs();
        for (const kind of TRAFFIC_KINDS) {
          for (const scope of SCOPES) this.inc({ kind, scope, protocol: node.protocol.name }, sent(kind, scope)[unit]);
        }
      },
    });
  }
}

/** Visibility of updates of other regions, at most one a second. */
function visibility(node: RunningNode, registry: Registry): void {
  const histogram = new Histogram({
    name: 'isochron_visibility_seconds',
    help: 'From the timestamp of a sampled update of another region until a new session reads it here; the clocks’ difference is in it.',
    labelNames: ['source', 'protocol'],
    buckets: VISIBILITY_BUCKETS,
    registers: [registry],
  });
  node.onVisible((source, ms) => histogram.observe({ source, protocol: node.protocol.name }, ms / 1000));
}
