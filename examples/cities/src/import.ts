/** The whole example: import into one region, read in another meanwhile, compare all regions at one timestamp. */
import { type IsochronClient, isIsochronError, type WriteReceipt } from '@isochron/sdk';
import { Checksum } from './checksum.js';
import { Reader, type ReaderReport } from './reader.js';
import { type Connection, closeAll, findRegions, openSessions, type Region } from './regions.js';
import type { CityRow } from './source.js';
import { type RegionReport, verify } from './verify.js';

/** Progress of the example. */
export interface Progress {
  readonly phase: 'import' | 'wait' | 'verify';
  /** Rows done in this phase. */
  readonly rows: number;
  readonly total: number;
  /** Age of the snapshot that the reading session sees, ms. */
  readonly stalenessMs: number | undefined;
}

/** The cities to import, and the cluster. */
export interface CitiesOptions {
  /** At least one endpoint of every region; they may be given in any order. */
  readonly endpoints: readonly string[];
  /** Connection options without endpoints. */
  readonly connection?: Connection;
  readonly rows: readonly CityRow[];
  /** The region of the writes; by default that of the first endpoint. */
  readonly from?: string;
  /** The collection of the cities; it should hold nothing else. Default `cities`. */
  readonly collection?: string;
  /** Cities of one transaction. Default 100. */
  readonly batch?: number;
  /** Transactions in flight, each on a session of its own. Default 16. */
  readonly concurrency?: number;
  /** Uniform numbers in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
  readonly onProgress?: (progress: Progress) => void;
}

/** The result. */
export interface Report {
  readonly from: string;
  readonly rows: number;
  readonly transactions: number;
  /** From the first commit to the last one's acknowledgement, ms. */
  readonly importMs: number;
  readonly rowsPerSecond: number;
  /** From the last acknowledgement until it was visible in every region, ms. */
  readonly stableAfterMs: number;
  readonly source: { readonly count: number; readonly checksum: string };
  /** The timestamp at which all regions were read. */
  readonly timestamp: number;
  readonly regions: readonly RegionReport[];
  readonly reader: ReaderReport;
  /** Whether all regions agree with the source, and the reader found no violation. */
  readonly ok: boolean;
}

const STABLE_TIMEOUT_MS = 60_000;
/** Attempts of a transaction before its abort is a failure. */
const MAX_ATTEMPTS = 5;

/** Imports cities and verifies them. @throws the errors of the SDK; Error for a region without an endpoint */
export async function importCities(options: CitiesOptions): Promise<Report> {
  const { connection = {}, concurrency = 16 } = options;
  const regions = await findRegions(options.endpoints, connection);
  const from = homeOf(regions, options.from);
  const elsewhere = regions.find((region) => region !== from) ?? from;
  const writers = await openSessions(from, concurrency, connection);
  try {
    const [reading] = await openSessions(elsewhere, 1, connection);
    const reader = new Reader(reading!, elsewhere.id, options);
    return await run(options, regions, from, writers, reader).finally(() => reading!.close());
  } finally {
    await closeAll(writers);
  }
}

function homeOf(regions: readonly Region[], id: string | undefined): Region {
  const found = id === undefined ? regions[0] : regions.find((region) => region.id === id);
  if (found !== undefined) return found;
  throw new Error(`no endpoint leads to the region ${id}; there are ${regions.map((region) => region.id).join(', ')}`);
}

async function run(
  options: CitiesOptions,
  regions: readonly Region[],
  from: Region,
  writers: readonly IsochronClient[],
  reader: Reader,
): Promise<Report> {
  const { rows, connection = {} } = options;
  const reportProgress = (phase: Progress['phase'], done: number, total: number): void =>
    options.onProgress?.({ phase, rows: done, total, stalenessMs: reader.client.status.stalenessMs });
  const { batches, collection } = reader;
  const startMs = performance.now();
  const last = await whileReading(reader, () =>
    writeAll(writers, collection, batches, (done) => reportProgress('import', done, rows.length)),
  );
  const importMs = performance.now() - startMs;
  reportProgress('wait', rows.length, rows.length);
  await last?.receipt.stable({ timeoutMs: STABLE_TIMEOUT_MS });
  const stableAfterMs = performance.now() - startMs - importMs;
  const source = checksumOf(rows);
  const verified = await verify({
    regions,
    connection,
    collection,
    source,
    // The session that waited has a stable time at or above the last commit.
    newest: () => (last?.client ?? reader.client).status.ust,
    onProgress: (done) => reportProgress('verify', done, rows.length * regions.length),
  });
  const { report } = reader;
  return {
    from: from.id,
    rows: rows.length,
    transactions: batches.length,
    importMs,
    rowsPerSecond: (rows.length * 1000) / importMs,
    stableAfterMs,
    source: { count: source.count, checksum: source.hex },
    ...verified,
    reader: report,
    ok: verified.regions.every(({ agrees }) => agrees) && report.torn + report.vanished + report.wrong === 0,
  };
}

/** Keeps the reader running during other work. A failure of either ends both. */
async function whileReading<T>(reader: Reader, work: () => Promise<T>): Promise<T> {
  const reading = reader.run();
  const working = work().finally(() => reader.stop());
  const [result] = await Promise.all([working, reading]);
  return result;
}

/** The newest commit, and the session that made it. */
interface Last {
  readonly receipt: WriteReceipt;
  readonly client: IsochronClient;
}

/** Every session takes the next transaction that is not taken yet. */
async function writeAll(
  writers: readonly IsochronClient[],
  collection: string,
  batches: readonly (readonly CityRow[])[],
  onProgress: (rows: number) => void,
): Promise<Last | undefined> {
  let next = 0;
  let done = 0;
  let last: Last | undefined;
  const worker = async (client: IsochronClient): Promise<void> => {
    for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) {
      const receipt = await writeBatch(client, collection, batch);
      if (receipt.timestamp > (last?.receipt.timestamp ?? 0)) last = { receipt, client };
      done += batch.length;
      onProgress(done);
    }
  };
  await Promise.all(writers.map(worker));
  return last;
}

/**
 * Writes one transaction. A conflict aborts no transaction, but the crash of a node in the middle of a commit may; then
 * it wrote nothing, and it is run again as a new transaction.
 */
async function writeBatch(
  client: IsochronClient,
  collection: string,
  batch: readonly CityRow[],
): Promise<WriteReceipt> {
  for (let attempt = 1; ; attempt++) {
    try {
      const { write } = await client.transaction((tx) => {
        const cities = tx.collection(collection);
        for (const { key, city } of batch) cities.set(key, city);
      });
      return write!;
    } catch (error) {
      if (!isIsochronError(error, 'TRANSACTION_ABORTED') || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

function checksumOf(rows: readonly CityRow[]): Checksum {
  const checksum = new Checksum();
  for (const { key, city } of rows) checksum.add(key, city);
  return checksum;
}
