/**
 * Plans for protocols whose updates wait in another region for their dependencies. This matters when an effect arrives
 * before its cause: so in most of these plans some links between regions are much slower than others, inside a region
 * everything is quick, and clients hardly rest.
 */
import type { ClusterSpec, Random, Topology } from '@isochron/core';
import { between, integer, logBetween, rounded } from '@isochron/simulated-world/draws';
import { type DrawMix, operationMix } from '../../plan/mix.js';
import type { Environment } from '../../plan/plan.js';
import { everywhere } from '../kernel.js';

/** Share of the plans, in each respect. */
const SHARE = 0.75;
/** Regions, nodes of each, and partitions. */
const SIZE = 3;

/** Every partition's stream between two regions has a link of its own. */
function manyLinks(cluster: ClusterSpec, random: Random): ClusterSpec {
  const { regions, keyspaces } = everywhere(cluster);
  if (!random.chance(SHARE)) return { regions, keyspaces };
  const some = regions.slice(0, SIZE);
  return {
    regions: some.map(({ id }) => ({
      id,
      nodes: Array.from({ length: SIZE }, (_, i) => ({ id: `${id}-${i + 1}` })),
    })),
    keyspaces: keyspaces.map((keyspace) => ({ ...keyspace, partitions: SIZE, replication: some.length })),
  };
}

/** Half of the links between regions are slow. */
function overtaking(environment: Environment, random: Random, topology: Topology): Environment {
  if (!random.chance(SHARE)) return environment;
  const { delayMs, syncMs } = environment;
  const far = logBetween(random, 3, 15);
  const inside = logBetween(random, 0.1, 0.5);
  const ways = topology.nodes.flatMap((a, i) =>
    topology.nodes
      .slice(i + 1)
      .filter((b) => topology.regionOf(a) !== topology.regionOf(b))
      .map((b) => ({ a, b })),
  );
  return {
    ...environment,
    delayMs: delayMs.map((row, i) => row.map((_, j) => rounded(i === j ? inside : far))),
    slowLinks: ways.filter(() => random.chance(0.5)).map((ends) => ({ ...ends, factor: integer(random, 3, 20) })),
    syncMs: syncMs.map(() => rounded(logBetween(random, 0.1, 1))),
    clientMs: rounded(logBetween(random, 0.1, 0.5)),
  };
}

/** Many operations on few keys. */
const busyMix =
  (readOnlyTransactions: number): DrawMix =>
  (random) => {
    const mix = operationMix(readOnlyTransactions)(random);
    if (!random.chance(SHARE)) return mix;
    return { ...mix, reads: integer(random, 2, 4), thinkMs: logBetween(random, 0.2, 2), hot: between(random, 0, 2) };
  };

/** @param readOnlyTransactions how often they occur, in comparison with other operations; 0: never */
export const overtakingPlans = (readOnlyTransactions: number) =>
  ({ fit: manyLinks, drawTimes: overtaking, drawMix: busyMix(readOnlyTransactions) }) as const;
