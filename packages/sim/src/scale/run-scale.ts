/**
 * One configuration under a growing number of clients, until its nodes are saturated. Everything is in virtual time.
 */
import { GROUPS, type Group } from './groups.js';
import { ScaleCluster, type ScaleClusterOptions } from './scale-cluster.js';

/** The growth of the number of clients. */
export interface Ramp {
  /** Clients beside each node, ascending. */
  readonly clientsPerNode: readonly number[];
  /** Time between the arrival of new clients and a measurement, ms. */
  readonly settleMs: number;
  readonly measureMs: number;
  /**
   * The ramp ends after a point whose throughput is not higher than the best before it by this share. Busy cores are no
   * sign of the end: with more to do in each turn, a turn, a frame and a batch serve more.
   */
  readonly leastGain: number;
}

/** The measurement with one number of clients. */
export interface ScalePoint {
  readonly clientsPerNode: number;
  /** Transactions that ended within the time. */
  readonly committed: number;
  readonly refused: number;
  readonly perSecond: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Share of the time in which the cores of a node worked. */
  readonly utilisation: { readonly mean: number; readonly least: number; readonly most: number };
  /** The same of the disks. */
  readonly diskUtilisation: { readonly mean: number; readonly most: number };
  /** CPU time of all nodes, µs a transaction, by group. */
  readonly cpuUs: Readonly<Record<Group, number>>;
  /** Turns of the event loops of all nodes for a transaction. */
  readonly turns: number;
}

export interface ScaleResult {
  readonly nodes: number;
  readonly points: readonly ScalePoint[];
  /** Transactions of the whole run; those that have begun have ended, or are under way. */
  readonly begun: number;
  readonly ended: number;
  readonly underWay: number;
}

export function runScale(options: ScaleClusterOptions, ramp: Ramp): ScaleResult {
  const counts = new TransactionCounts();
  const cluster = new ScaleCluster(options, counts);
  const points: ScalePoint[] = [];
  for (const clients of ramp.clientsPerNode) {
    cluster.raise(clients);
    cluster.run(ramp.settleMs);
    const best = Math.max(0, ...points.map(({ perSecond }) => perSecond));
    const point = measure(cluster, counts, clients, ramp.measureMs);
    points.push(point);
    if (point.perSecond < best * (1 + ramp.leastGain)) break;
  }
  const { begun, ended } = counts;
  return { nodes: cluster.nodes.length, points, begun, ended, underWay: cluster.underWay };
}

class TransactionCounts {
  begun = 0;
  ended = 0;
  refused = 0;
  /** Of the committed ones, ms. */
  latencies: number[] = [];

  begin(): void {
    this.begun++;
  }

  end(outcome: 'committed' | 'refused', ms: number): void {
    this.ended++;
    if (outcome === 'committed') this.latencies.push(ms);
    else this.refused++;
  }
}

function measure(cluster: ScaleCluster, counts: TransactionCounts, clientsPerNode: number, ms: number): ScalePoint {
  const busyBefore = cluster.nodes.map(({ loop }) => loop.busyMs);
  const disksBefore = cluster.nodes.map(({ diskMs }) => diskMs);
  const cpuBefore = cpuOf(cluster);
  const turnsBefore = turnsOf(cluster);
  counts.latencies = [];
  counts.refused = 0;
  cluster.run(ms);
  const { refused } = counts;
  const latencies = counts.latencies.sort((a, b) => a - b);
  const committed = latencies.length;
  const busy = cluster.nodes.map(({ loop }, i) => (loop.busyMs - busyBefore[i]!) / (ms * cluster.options.cores));
  const disks = cluster.nodes.map(({ diskMs }, i) => (diskMs - disksBefore[i]!) / ms);
  const cpuAfter = cpuOf(cluster);
  return {
    clientsPerNode,
    committed,
    refused,
    perSecond: (committed * 1000) / ms,
    meanMs: meanOf(latencies),
    p50Ms: latencies[committed >> 1] ?? 0,
    p99Ms: latencies[Math.floor(committed * 0.99)] ?? 0,
    utilisation: { mean: meanOf(busy), least: Math.min(...busy), most: Math.max(...busy) },
    diskUtilisation: { mean: meanOf(disks), most: Math.max(...disks) },
    cpuUs: byGroup((group) => (committed === 0 ? 0 : (cpuAfter[group] - cpuBefore[group]) / committed)),
    turns: committed === 0 ? 0 : (turnsOf(cluster) - turnsBefore) / committed,
  };
}

function cpuOf({ nodes }: ScaleCluster): Record<Group, number> {
  const sums = byGroup(() => 0);
  for (const { loop } of nodes) for (const [group, us] of loop.usByGroup) sums[group] += us;
  return sums;
}

const turnsOf = ({ nodes }: ScaleCluster): number => nodes.reduce((sum, { loop }) => sum + loop.turn, 0);

const byGroup = (value: (group: Group) => number): Record<Group, number> =>
  Object.fromEntries(GROUPS.map((group) => [group, value(group)])) as Record<Group, number>;

const meanOf = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
