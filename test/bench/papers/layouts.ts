/** The layouts of the papers' systems: their regions, with fewer and smaller machines. */

export const THREE_REGIONS = ['virginia', 'oregon', 'ireland'] as const;
export const FIVE_REGIONS = [...THREE_REGIONS, 'mumbai', 'sydney'] as const;

/** Clock offsets of servers under NTP, ms, in no order. */
export const NTP_SKEWS_MS = [0, 4, -3, 2, -5, 1] as const;

/** Clocks that run free for a while, ms, in no order. */
export const WIDE_SKEWS_MS = [0, 18, -12, 9, -20, 5] as const;

/** Each partition in two of three regions. */
export const PARTIAL = {
  regions: THREE_REGIONS,
  nodesPerRegion: 1,
  partitions: 6,
  replication: 2,
  wan: 'aws',
  skewsMs: NTP_SKEWS_MS,
} as const;

/** Each partition in two of five regions. */
export const PARTIAL_FIVE = { ...PARTIAL, regions: FIVE_REGIONS, partitions: 10 } as const;

/** Every partition in every region; two nodes in each, so that a region's clocks differ. */
export const FULL = { ...PARTIAL, nodesPerRegion: 2, partitions: 8, replication: THREE_REGIONS.length } as const;
export const FULL_FIVE = { ...FULL, regions: FIVE_REGIONS, replication: FIVE_REGIONS.length } as const;
/** The same with fewer nodes: five regions of two nodes leave too little of two cores for clients. */
export const FULL_FIVE_SINGLE = { ...FULL_FIVE, nodesPerRegion: 1 } as const;
/** One region. */
export const ALONE = { ...FULL, regions: ['virginia'], replication: 1, wan: 'none' } as const;
/** Two data centres with three partitions each (Orbe, section 7.4). */
export const PAIR = {
  ...FULL,
  regions: ['virginia', 'oregon'],
  replication: 2,
  partitions: 3,
  nodesPerRegion: 3,
} as const;
