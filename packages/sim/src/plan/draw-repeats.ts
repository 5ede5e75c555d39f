/** Draws the writes over HTTP that are sent again under their Idempotency-Key, to nodes of all regions. */
import type { Random, Topology } from '@isochron/core';
import { DEFAULT_SETTINGS } from '@isochron/protocols';
import { integer, logBetween, rounded } from '@isochron/simulated-world/draws';
import type { Settings } from '../protocols/adapter.js';
import type { HttpPlan, HttpRepeatPlan } from './plan.js';

/** Longest time until a repetition, ms: after it, most writes have been answered. */
const MOST_MS = 3_000;

/** Callers that repeat some of their writes, in a part of the runs. */
export const withRepeats = (random: Random, topology: Topology, http: HttpPlan, settings: Settings): HttpPlan =>
  random.chance(0.5) ? http : repeating(random, topology, http, settings);

/** Callers that repeat some of their writes, in this run. */
export function repeating(random: Random, topology: Topology, http: HttpPlan, settings: Settings): HttpPlan {
  const { outcomeRetentionMs = DEFAULT_SETTINGS.outcomeRetentionMs } = settings;
  const share = logBetween(random, 0.1, 1);
  // Repeating is safe for half of the retention.
  const mostMs = Math.min(MOST_MS, outcomeRetentionMs / 2);
  const repeat = (): HttpRepeatPlan => ({
    afterMs: rounded(logBetween(random, 0.1, mostMs)),
    region: random.pick(topology.regions),
    node: random.below(4),
  });
  const callers = http.callers.map((caller) => ({
    ...caller,
    requests: caller.requests.map((request) => {
      if (request.f === 'get' || !random.chance(share)) return request;
      const again = Array.from({ length: integer(random, 1, 3) }, repeat);
      return { ...request, again, named: random.chance(0.5) };
    }),
  }));
  return { ...http, callers };
}
