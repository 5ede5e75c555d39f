/** Delays between regions as on AWS, for experiments with distance. */
import { UsageError } from '../failures.js';

/**
 * Round trips in ms between AWS regions, from row to column (Fig. 1 of the PaRiS paper). Both directions were measured,
 * and differ a little.
 */
export const AWS_ROUND_TRIP_MS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  oregon: { virginia: 85.72, ireland: 144.52, mumbai: 238.11, sydney: 157.13 },
  virginia: { oregon: 88.28, ireland: 80.4, mumbai: 190.13, sydney: 207.98 },
  ireland: { oregon: 139.32, virginia: 76.47, mumbai: 137.53, sydney: 279.75 },
  mumbai: { oregon: 253.07, virginia: 190.42, ireland: 132.74, sydney: 268.66 },
  sydney: { oregon: 148.69, virginia: 224, ireland: 291.34, mumbai: 307.53 },
};

/**
 * One-way delays for the cluster file: half of each round trip, by `from>to`.
 * @throws UsageError for a region that was not measured
 */
export function awsOneWayMs(regions: readonly string[]): Record<string, number> {
  const unknown = regions.find((region) => AWS_ROUND_TRIP_MS[region] === undefined);
  if (unknown !== undefined) {
    const known = Object.keys(AWS_ROUND_TRIP_MS).sort().join(', ');
    throw new UsageError(`--wan aws has no delays for the region "${unknown}"; it has ${known}`);
  }
  const oneWayMs: Record<string, number> = {};
  for (const from of regions) {
    for (const to of regions) {
      if (from !== to) oneWayMs[`${from}>${to}`] = Math.round(AWS_ROUND_TRIP_MS[from]![to]! * 500) / 1000;
    }
  }
  return oneWayMs;
}
