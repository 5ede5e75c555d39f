/** Draws the writes over HTTP that are sent again under their Idempotency-Key, to nodes of all regions. */
import type { Random, Topology } from '@isochron/core';
import { DEFAULT_SETTINGS } from '@isochron/protocols';
import { integer, logBetween, rounded } from '@isochron/simulated-world/draws';
import type { Settings } from '../protocols/adapter.js';
import type { HttpPlan, HttpRepeatPlan } from './plan.js';

/** Longest time until a repetition, ms: after it, most writes have been answered. */
const MOST_MS = 3_000;
/** Longest time that a repetition is on its way, ms: nodes stand still for that long. */
const LATE_MS = 20_000;

/**
 * Callers that repeat some of their writes, in a part of the runs. Repeating is safe for half of the retention of
 * outcomes (D5, UST is the horizon of bookkeeping): where that is short, none does.
 */
export const withRepeats = (random: Random, topology: Topology, http: HttpPlan, settings: Settings): HttpPlan =>
  random.chance(0.5) || isShort(settings) ? http : repeating(random, topology, http);

const isShort = ({ outcomeRetentionMs = DEFAULT_SETTINGS.outcomeRetentionMs }: Settings): boolean =>
  outcomeRetentionMs / 2 < MOST_MS + LATE_MS;

/** Callers that repeat some of their writes, in this run. */
export function repeating(random: Random, topology: Topology, http: HttpPlan): HttpPlan {
  const share = logBetween(random, 0.1, 1);
  const repeat = (): HttpRepeatPlan => ({
    afterMs: rounded(logBetween(random, 0.1, MOST_MS)),
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
