/**
 * Plans for protocols whose partitions of a region ask one another. The races that they rule out happen while one
 * partition of a region answers and the message of another one is still in flight: so in most of these plans a region
 * has many nodes, messages inside it take longer than a client's operations meanwhile, and clients hardly rest.
 */
import type { ClusterSpec, NodeId, Random, RegionId, Topology } from '@isochron/core';
import { between, integer, logBetween, rounded } from '@isochron/simulated-world/draws';
import { type DrawMix, operationMix } from '../../plan/mix.js';
import type { Environment } from '../../plan/plan.js';
import { everywhere } from '../kernel.js';

/** Share of the plans, in each respect. */
const SHARE = 0.75;
/** The least number of nodes of a region, and of partitions. */
const NODES = 3;

/** Every region has several nodes, and enough partitions for them. */
function manyNodes(cluster: ClusterSpec, random: Random): ClusterSpec {
  const { regions, keyspaces } = everywhere(cluster);
  if (!random.chance(SHARE)) return { regions, keyspaces };
  return {
    regions: regions.slice(0, 2).map(({ id }) => {
      return { id, nodes: Array.from({ length: NODES }, (_, i) => ({ id: `${id}-${i + 1}` })) };
    }),
    keyspaces: keyspaces.map((keyspace) => ({
      ...keyspace,
      partitions: NODES,
      replication: Math.min(2, regions.length),
    })),
  };
}

/**
 * In every region one message takes far longer than the clients' operations on other links meanwhile; the streams
 * between regions overtake one another.
 */
function unevenTimes(environment: Environment, random: Random, topology: Topology): Environment {
  if (!random.chance(SHARE)) return environment;
  const { delayMs, syncMs } = environment;
  const { regions, nodes } = topology;
  const inside = between(random, 0.5, 1.5);
  const far = between(random, 10, 40);
  const of = (region: RegionId) => nodes.filter((node) => topology.regionOf(node) === region);
  const slow = (a: NodeId, b: NodeId, factor: number) => (a === b ? [] : [{ a, b, factor }]);
  return {
    ...environment,
    delayMs: delayMs.map((row, i) => row.map((_, j) => rounded(i === j ? inside : far))),
    jitter: 1,
    slowLinks: regions.flatMap((region) => [
      ...slow(random.pick(of(region)), random.pick(of(region)), integer(random, 15, 40)),
      ...slow(random.pick(of(region)), random.pick(of(region)), integer(random, 15, 40)),
      ...slow(random.pick(of(region)), random.pick(nodes), integer(random, 2, 8)),
    ]),
    syncMs: syncMs.map(() => 0.5),
    clientMs: 0.2,
  };
}

/** Many sessions' operations on few keys. */
const busyMix: DrawMix = (random) => {
  const mix = operationMix(10)(random);
  if (!random.chance(SHARE)) return mix;
  return {
    ...mix,
    reads: integer(random, 2, 4),
    thinkMs: logBetween(random, 0.2, 2),
    hot: between(random, 0, 1.5),
  };
};

export const RACES = { fit: manyNodes, drawTimes: unevenTimes, drawMix: busyMix } as const;
