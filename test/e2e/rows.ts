/** Rows to import, and a summary of those in a region: a count and a checksum that does not depend on the order. */
import { createHash } from 'node:crypto';
import type { ConnectOptions, Entry, IsochronClient } from '@isochron/sdk';
import { connect, type Timestamp } from '@isochron/sdk';

export interface Row {
  readonly key: string;
  readonly document: { readonly name: string; readonly population: number; readonly at: readonly [number, number] };
}

/** The same rows every time. */
export const makeRows = (count: number): Row[] =>
  Array.from({ length: count }, (_, i) => ({
    key: `row/${String(i).padStart(6, '0')}`,
    document: { name: `Place ${i} – “é”`, population: (i * 7919) % 1_000_003, at: [(i % 180) - 90, (i % 360) - 180] },
  }));

/** The summary of a set of rows. */
export interface Digest {
  readonly count: number;
  /** Sum of the hashes of all rows, modulo 2^64, in hex. */
  readonly checksum: string;
}

/** Adds up rows in any order. */
export class DigestOf {
  #count = 0;
  #sum = 0n;

  add(key: string, document: unknown): void {
    const hash = createHash('sha256')
      .update(`${key}\n${JSON.stringify(document)}`)
      .digest();
    this.#sum = BigInt.asUintN(64, this.#sum + hash.readBigUInt64BE());
    this.#count++;
  }

  get digest(): Digest {
    return { count: this.#count, checksum: this.#sum.toString(16) };
  }
}

export function digestOf(rows: readonly Row[]): Digest {
  const sum = new DigestOf();
  for (const { key, document } of rows) sum.add(key, document);
  return sum.digest;
}

/** Everything under a prefix in the snapshot of one timestamp, as one region shows it. */
export async function* entriesAt(
  endpoints: readonly string[],
  region: string,
  prefix: string,
  at: Timestamp,
  connection: Pick<ConnectOptions, 'credentials' | 'ca'> = {},
): AsyncGenerator<Entry<unknown>> {
  const client = await connect({ ...connection, endpoints });
  try {
    const snapshot = await client.snapshot({ at });
    yield* snapshot.list({ prefix, pageSize: 1000 });
    if (snapshot.timestamp !== at) throw new Error(`asked for the snapshot ${at}, got ${snapshot.timestamp}`);
    if (client.status.region !== region) throw new Error(`${region} was asked, ${client.status.region} answered`);
  } finally {
    await client.close();
  }
}

/** The summary of {@link entriesAt}. */
export async function digestAt(endpoint: string, region: string, prefix: string, at: Timestamp): Promise<Digest> {
  const sum = new DigestOf();
  for await (const { key, value } of entriesAt([endpoint], region, prefix, at)) sum.add(key, value);
  return sum.digest;
}

/** An import over several sessions, which reports every acknowledged transaction. */
export interface Import {
  readonly clients: readonly IsochronClient[];
  readonly rows: readonly Row[];
  readonly rowsPerTransaction: number;
  /** Called after each acknowledgement, with the rows acknowledged so far. */
  readonly acknowledged: (rows: number) => void;
}

/**
 * Imports rows; each session also records under `progress/<session>` how many of its transactions are done. Resolves
 * with the highest commit timestamp.
 */
export async function importRows({ clients, rows, rowsPerTransaction, acknowledged }: Import): Promise<Timestamp> {
  const slices: Row[][] = [];
  for (let i = 0; i < rows.length; i += rowsPerTransaction) slices.push(rows.slice(i, i + rowsPerTransaction));
  let [done, last] = [0, 0];
  await Promise.all(
    clients.map(async (client, session) => {
      let count = 0;
      for (let slice = slices.shift(); slice !== undefined; slice = slices.shift()) {
        const chunk = slice;
        const progress = ++count;
        const { write } = await client.transaction((tx) => {
          for (const { key, document } of chunk) tx.set(key, document);
          tx.set(`progress/${session}`, progress);
        });
        last = Math.max(last, write!.timestamp);
        done += chunk.length;
        acknowledged(done);
      }
    }),
  );
  return last;
}
