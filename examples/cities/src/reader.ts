/** A session in another region that reads while the import runs, and checks what it sees. */
import type { IsochronClient } from '@isochron/sdk';
import { canonicalJson } from './checksum.js';
import type { City, CityRow } from './source.js';

/** What the reader saw. */
export interface ReaderReport {
  readonly region: string;
  /** Reads, each of all cities of one transaction. */
  readonly reads: number;
  /** Cities among them that were there. */
  readonly citiesSeen: number;
  /** Transactions that were seen in part: always 0. */
  readonly torn: number;
  /** Transactions that were seen and then not any more: always 0. */
  readonly vanished: number;
  /** Cities that were not as they were written: always 0. */
  readonly wrong: number;
  /** Highest age of the stable snapshot that was noticed, ms. */
  readonly maxStalenessMs: number;
}

export class Reader {
  readonly #report = { reads: 0, citiesSeen: 0, torn: 0, vanished: 0, wrong: 0, maxStalenessMs: 0 };
  readonly #complete = new Set<readonly CityRow[]>();
  #stopped = false;

  /**
   * @param batches the transactions of the import
   * @param random uniform numbers in [0, 1): which transaction is read next
   */
  constructor(
    readonly client: IsochronClient,
    readonly collection: string,
    readonly batches: readonly (readonly CityRow[])[],
    readonly random: () => number,
  ) {}

  get report(): ReaderReport {
    return { region: this.client.status.region ?? 'unknown', ...this.#report };
  }

  /** Reads until `stop` is called. @throws what reads throw */
  async run(): Promise<void> {
    while (!this.#stopped && this.batches.length > 0) await this.#readOne();
  }

  stop(): void {
    this.#stopped = true;
  }

  async #readOne(): Promise<void> {
    const batch = this.batches[Math.floor(this.random() * this.batches.length)]!;
    const cities = await this.client.collection<City>(this.collection).getMany(batch.map(({ key }) => key));
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

const isSame = (a: City, b: City): boolean => canonicalJson(a) === canonicalJson(b);
