/** Draws HTTP callers: requests that fork their tokens, over all nodes. */
import type { QualifiedKey, Random, Topology } from '@isochron/core';
import { exponential, integer, logBetween, rounded, weighted } from '../engine/draws.js';
import type { HttpCallerPlan, HttpPlan, HttpRequestPlan } from './plan.js';

/** Undefined for runs without HTTP callers. */
export function drawHttp(random: Random, topology: Topology, keys: readonly QualifiedKey[]): HttpPlan | undefined {
  if (keys.length === 0 || !random.chance(0.35)) return undefined;
  const few = Array.from({ length: integer(random, 1, 5) }, () => random.pick(keys));
  const limits = random.chance(0.7)
    ? {}
    : { maxSessions: integer(random, 1, 6), maxSessionBytes: Math.round(logBetween(random, 100, 3_000)) };
  const callers = Array.from({ length: integer(random, 1, 3) }, (_, i) => drawCaller(random, topology, few, `h${i}`));
  return { limits, callers };
}

function drawCaller(random: Random, topology: Topology, keys: readonly QualifiedKey[], name: string): HttpCallerPlan {
  const region = topology.regionOf(random.pick(topology.nodes));
  const thinkMs = logBetween(random, 0.3, 60);
  const [writes, forks] = [0.2 + 0.6 * random.float(), integer(random, 1, 8)];
  // Forks need two nodes: of one region, where it has them.
  const alone = topology.nodesOf(region).length === 1;
  const [roams, stays] = [alone || random.chance(0.5) ? 0.4 : 0, random.float()];
  const request = (): HttpRequestPlan => ({
    thinkMs: random.chance(0.4) ? 0 : rounded(exponential(random, thinkMs)),
    region: random.chance(roams) ? random.pick(topology.regions) : region,
    node: random.chance(stays) ? 0 : random.below(4),
    back: weighted(random, [
      [null, 0.02],
      [0, 0.3],
      [random.below(forks), 0.68],
    ]),
    f: random.chance(writes) ? 'put' : 'get',
    keys: [...new Set(Array.from({ length: integer(random, 1, 2) }, () => random.pick(keys)))].sort(),
  });
  return { name, region, requests: Array.from({ length: integer(random, 20, 150) }, request) };
}
