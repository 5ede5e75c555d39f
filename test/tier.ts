/** The tier of tests that runs: `npm run test:quick`, `npm test` or `npm run test:all`. */

const TIERS = ['quick', 'default', 'all'] as const;

/** How much runs. What a smaller tier leaves out stands in `test/README.md`. */
export type Tier = (typeof TIERS)[number];

/** The tier of this process, from the environment variable `ISOCHRON_TEST_TIER`. */
export const TIER: Tier = tierOf(process.env.ISOCHRON_TEST_TIER ?? 'default');

function tierOf(name: string): Tier {
  const tier = TIERS.find((known) => known === name);
  if (tier === undefined) throw new Error(`ISOCHRON_TEST_TIER is ${name}, not one of ${TIERS.join(', ')}`);
  return tier;
}
