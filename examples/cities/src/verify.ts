/** Reads all regions in full, in one snapshot each, at one timestamp. */
import { type IsochronClient, isIsochronError, type Timestamp } from '@isochron/sdk';
import { Checksum } from './checksum.js';

/** What one region holds. */
export interface RegionReport {
  readonly region: string;
  readonly count: number;
  readonly checksum: string;
  /** Time for reading it, ms. */
  readonly readMs: number;
  /** Whether it is the same as the source. */
  readonly agrees: boolean;
}

/** What all regions hold at one timestamp. */
export interface Verification {
  readonly timestamp: Timestamp;
  readonly regions: readonly RegionReport[];
}

/** Entries of one page: large, because old snapshots are not kept for long. */
const PAGE_SIZE = 1000;
const MAX_ATTEMPTS = 5;

/**
 * Reads every region at the same timestamp. When versions of it have been collected meanwhile, all start again at a newer one.
 * @param clients one in each region
 * @param newest gives a timestamp that is stable and contains everything that is looked for
 * @throws what listings throw
 */
export async function verify(
  clients: readonly IsochronClient[],
  collection: string,
  source: Checksum,
  newest: () => Timestamp,
  onProgress: (entries: number) => void,
): Promise<Verification> {
  for (let attempt = 1; ; attempt++) {
    const timestamp = newest();
    const reading = new AbortController();
    let entries = 0;
    const onPage = (count: number) => {
      entries += count;
      onProgress(entries);
    };
    const reads = clients.map((client) => readRegion(client, collection, timestamp, source, reading.signal, onPage));
    try {
      return { timestamp, regions: await Promise.all(reads) };
    } catch (error) {
      if (!isIsochronError(error, 'SNAPSHOT_TOO_OLD') || attempt === MAX_ATTEMPTS) throw error;
    } finally {
      // The other regions' reads are of no use any more.
      reading.abort();
      await Promise.allSettled(reads);
    }
  }
}

async function readRegion(
  client: IsochronClient,
  collection: string,
  at: Timestamp,
  source: Checksum,
  signal: AbortSignal,
  onPage: (entries: number) => void,
): Promise<RegionReport> {
  const startMs = performance.now();
  const checksum = new Checksum();
  const snapshot = await client.snapshot({ at, signal });
  try {
    const listing = snapshot.collection(collection).list({ pageSize: PAGE_SIZE, signal });
    for (let more = true; more; ) {
      const page = await listing.page();
      more = page.more;
      for (const { key, value } of page.entries) checksum.add(key, value);
      onPage(page.entries.length);
    }
  } finally {
    await snapshot.close();
  }
  return {
    region: client.status.region ?? 'unknown',
    count: checksum.count,
    checksum: checksum.hex,
    readMs: performance.now() - startMs,
    agrees: checksum.count === source.count && checksum.hex === source.hex,
  };
}
