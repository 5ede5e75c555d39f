/** A session in another region that reads while the import runs, and checks its results. */
import type { Timestamp } from '@isochron/sdk';
import { canonicalJson } from './checksum.js';
import type { City, CityRow } from './source.js';

/** The findings of the reader. */
export interface ReaderReport {
  readonly region: string;
  /** Reads, each of all cities of one transaction. */
  readonly reads: number;
  /** Cities among them that were there. */
  readonly citiesSeen: number;
  /** Transactions that were seen in part: always 0. */
  readonly torn: number;
  /** Transactions that were seen and then vanished: always 0. */
  readonly vanished: number;
  /** Cities that were not as they were written: always 0. */
  readonly wrong: number;
  /** Highest age of the stable snapshot that was noticed, ms. */
  readonly maxStalenessMs: number;
}

/** The part of a client that the reader needs. */
export interface ReadingClient {
  readonly status: { readonly ust: Timestamp; readonly stalenessMs: number | undefined };
  collection(name: string): { getMany(keys: readonly string[]): Promise<readonly unknown[]> };
}

/** The reader's view of the import. */
export interface Reading {
  readonly rows: readonly CityRow[];
  /** Default `cities`. */
  readonly collection?: string;
  /** Cities of one transaction. Default 100. */
  readonly batch?: number;
  /** Uniform numbers in [0, 1): which transaction is read next. Default `Math.random`. */
  readonly random?: () => number;
}

export class Reader {
  readonly collection: string;
  /** The transactions of the import. */
  readonly batches: readonly (readonly CityRow[])[];
  readonly #random: () => number;
  readonly #report = { reads: 0, citiesSeen: 0, torn: 0, vanished: 0, wrong: 0, maxStalenessMs: 0 };
  readonly #complete = new Set<readonly CityRow[]>();
  #stopped = false;

  /** @param region the client's first region; it may have to move, and its session must hold all the same */
  constructor(
    readonly client: ReadingClient,
    readonly region: string,
    { rows, collection = 'cities', batch = 100, random = Math.random }: Reading,
  ) {
    this.collection = collection;
    this.batches = batchesOf(rows, batch);
    this.#random = random;
  }

  get report(): ReaderReport {
    return { region: this.region, ...this.#report };
  }

  /** Reads until `stop` is called. @throws the errors of reads */
  async run(): Promise<void> {
    while (!this.#stopped && this.batches.length > 0) await this.#readOne();
  }

  stop(): void {
    this.#stopped = true;
  }

  async #readOne(): Promise<void> {
    const batch = this.batches[Math.floor(this.#random() * this.batches.length)]!;
    const cities = await this.client.collection(this.collection).getMany(batch.map(({ key }) => key));
    const seen = cities.filter((city) => city !== undefined).length;
    this.#report.reads++;
    this.#report.citiesSeen += seen;
    if (seen > 0 && seen < batch.length) this.#report.torn++;
    if (seen < batch.length && this.#complete.has(batch)) this.#report.vanished++;
    if (seen === batch.length) this.#complete.add(batch);
    this.#report.wrong += cities.filter((city, i) => city !== undefined && !isSame(city, batch[i]!.city)).length;
    this.#report.maxStalenessMs = Math.max(this.#report.maxStalenessMs, this.client.status.stalenessMs ?? 0);
  }
}

const isSame = (a: unknown, b: City): boolean => canonicalJson(a) === canonicalJson(b);

function batchesOf(rows: readonly CityRow[], size: number): CityRow[][] {
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, i) => rows.slice(i * size, (i + 1) * size));
}
