/** Draws HTTP callers: requests that fork their tokens, over all nodes. */
import type { QualifiedKey, Random, Topology } from '@isochron/core';
import { exponential, integer, logBetween, rounded, weighted } from '@isochron/simulated-world/draws';
import type { HttpCallerPlan, HttpPlan, HttpRequestPlan } from './plan.js';

/** Undefined for runs without HTTP callers. */
export function drawHttp(random: Random, topology: Topology, keys: readonly QualifiedKey[]): HttpPlan | undefined {
  return keys.length === 0 || !random.chance(0.35) ? undefined : drawCallers(random, topology, keys);
}

/** Callers for a run that has some. */
export function drawCallers(random: Random, topology: Topology, keys: readonly QualifiedKey[]): HttpPlan {
  const few = Array.from({ length: integer(random, 1, 5) }, () => random.pick(keys));
  const limits = random.chance(0.7)
    ? {}
    : { maxSessions: integer(random, 1, 6), maxSessionBytes: Math.round(logBetween(random, 100, 3_000)) };
  const callers = Array.from({ length: integer(random, 1, 3) }, (_, i) => drawCaller(random, topology, few, `h${i}`));
  return { limits, callers };
}

function drawCaller(random: Random, topology: Topology, keys: readonly QualifiedKey[], name: string): HttpCallerPlan {
  const region = topology.regionOf(random.pick(topology.nodes));
  // Forks need two nodes: of one region, if it has them.
  const alone = topology.nodesOf(region).length === 1;
  const style = {
    thinkMs: logBetween(random, 1, 100),
    writes: 0.2 + 0.6 * random.float(),
    forks: integer(random, 1, 8),
    roams: alone || random.chance(0.5) ? 0.4 : 0,
    stays: random.float(),
  };
  const bursts = Array.from({ length: integer(random, 8, 60) }, () => {
    const first = { thinkMs: rounded(exponential(random, style.thinkMs)), back: drawBack(random, style.forks) };
    return Array.from({ length: integer(random, 1, 4) }, (_, i): HttpRequestPlan => {
      // Simultaneous requests carry one token.
      const when = i === 0 ? first : { ...first, thinkMs: 0 };
      const node = random.chance(style.stays) ? null : random.below(4);
      const where = { region: random.chance(style.roams) ? random.pick(topology.regions) : region, node };
      const f = random.chance(style.writes) ? 'put' : 'get';
      return { ...when, ...where, f, keys: someOf(random, keys, f === 'put' ? 2 : 4) };
    });
  });
  return { name, region, requests: bursts.flat() };
}

const drawBack = (random: Random, forks: number): number | null =>
  weighted(random, [
    [null, 0.02],
    [0, 0.3],
    [random.below(forks), 0.68],
  ]);

const someOf = (random: Random, keys: readonly QualifiedKey[], most: number): QualifiedKey[] =>
  [...new Set(Array.from({ length: integer(random, 1, most) }, () => random.pick(keys)))].sort();
