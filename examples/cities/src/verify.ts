/** Reads all regions in full, in one snapshot each, at one timestamp. */
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type IsochronClient, isIsochronError, type Timestamp } from '@isochron/sdk';
import { Checksum } from './checksum.js';
import { type Connection, closeAll, type Region } from './regions.js';

/** The contents of one region. */
export interface RegionReport {
  readonly region: string;
  readonly count: number;
  readonly checksum: string;
  /** Time for reading it, ms. */
  readonly readMs: number;
  /** Whether it is the same as the source. */
  readonly agrees: boolean;
}

/** The contents of all regions at one timestamp. */
export interface Verification {
  readonly timestamp: Timestamp;
  readonly regions: readonly RegionReport[];
}

/** The expected contents. */
export interface Expected {
  readonly regions: readonly Region[];
  readonly connection: Connection;
  readonly collection: string;
  readonly source: Checksum;
  /** A stable timestamp that contains all expected entries. */
  newest(): Timestamp;
  /** Entries read so far, in all regions together. */
  onProgress(entries: number): void;
}

/** Entries of one page: large, because old snapshots are not kept for long. */
const PAGE_SIZE = 1000;
const MAX_ATTEMPTS = 5;
/** How long a node may take to come back, ms. */
const REACHABLE_WITHIN_MS = 60_000;
const RETRY_INTERVAL_MS = 250;

/** The client failed over to another region while it read: its result is not of the intended region. */
class Moved extends Error {}

/**
 * Reads every region at the same timestamp. When versions of it have been collected meanwhile, or a client had to leave
 * its region, all start again at a newer one.
 * @throws the errors of `connect` and listings
 */
export async function verify(expected: Expected): Promise<Verification> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await verifyOnce(expected);
    } catch (error) {
      const again = error instanceof Moved || isIsochronError(error, 'SNAPSHOT_TOO_OLD');
      if (!again || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

async function verifyOnce(expected: Expected): Promise<Verification> {
  const clients: IsochronClient[] = [];
  const reading = new AbortController();
  const reads: Promise<RegionReport>[] = [];
  try {
    for (const region of expected.regions) clients.push(await connectIn(region, expected.connection));
    const timestamp = expected.newest();
    let entries = 0;
    const onPage = (count: number) => {
      entries += count;
      expected.onProgress(entries);
    };
    reads.push(
      ...clients.map((client, i) =>
        readRegion(client, expected.regions[i]!.id, timestamp, expected, reading.signal, onPage),
      ),
    );
    return { timestamp, regions: await Promise.all(reads) };
  } finally {
    // After one failure, the other reads are of no use.
    reading.abort();
    await Promise.allSettled(reads);
    await closeAll(clients);
  }
}

/**
 * A client in this very region: a new one goes to the endpoints that it is given. Waits for a node that is restarting.
 */
async function connectIn({ endpoints }: Region, connection: Connection): Promise<IsochronClient> {
  const giveUpMs = performance.now() + REACHABLE_WITHIN_MS;
  for (;;) {
    try {
      return await connect({ ...connection, endpoints });
    } catch (error) {
      if (!(isIsochronError(error) && error.retryable) || performance.now() > giveUpMs) throw error;
    }
    await delay(RETRY_INTERVAL_MS);
  }
}

async function readRegion(
  client: IsochronClient,
  region: string,
  at: Timestamp,
  { collection, source }: Expected,
  signal: AbortSignal,
  onPage: (entries: number) => void,
): Promise<RegionReport> {
  const startMs = performance.now();
  const checksum = new Checksum();
  let moved = client.status.region !== region;
  const unsubscribe = client.on('status', (status) => {
    moved ||= status.region !== undefined && status.region !== region;
  });
  const snapshot = await client.snapshot({ at, signal });
  try {
    const listing = snapshot.collection(collection).list({ pageSize: PAGE_SIZE, signal });
    for (let more = true; more; ) {
      const page = await listing.page();
      if (moved) throw new Moved(`the client for ${region} was served by another region`);
      more = page.more;
      for (const { key, value } of page.entries) checksum.add(key, value);
      onPage(page.entries.length);
    }
  } finally {
    unsubscribe();
    await snapshot.close();
  }
  return {
    region,
    count: checksum.count,
    checksum: checksum.hex,
    readMs: performance.now() - startMs,
    agrees: checksum.count === source.count && checksum.hex === source.hex,
  };
}
