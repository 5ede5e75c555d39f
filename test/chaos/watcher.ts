/**
 * A session whose live queries go on during faults. Each result is a transaction of the history that reads what has
 * changed since the last one, so the checker judges it as one snapshot that never goes back.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '@isochron/core';
import { type ConnectOptions, connect, type IsochronClient, type ResultDocument } from '@isochron/sdk';
import type { SessionRecorder } from '@isochron/workload';
import { LEDGER_PREFIX } from './ledger.js';
import type { Reader, ReadersOptions } from './reader.js';

/** How long a session stays in a region, ms: at least, and at most. */
const STAY_MS = [5_000, 20_000] as const;
const RETRY_MS = 200;
/** Keys that a result reads although they have not changed. */
const UNCHANGED = 3;

type Documents = ReadonlyMap<string, string>;

export class Watcher implements Reader {
  readonly #shared: ReadersOptions;
  readonly #random: Random;
  readonly #regions: readonly string[];
  readonly #recorder: SessionRecorder;
  /** The ranges that it watches. */
  readonly #prefixes: readonly string[];
  /** Its region. */
  #region: string;
  #exported: string | undefined;
  #shown: Documents = new Map();
  #results = 0;

  /** @param number its own: it also names the session whose entries it watches */
  constructor(shared: ReadersOptions, number: number) {
    this.#shared = shared;
    this.#random = new Random(shared.seed + 20_000 + number);
    this.#regions = Object.keys(shared.endpoints);
    this.#region = this.#regions[number % this.#regions.length]!;
    this.#recorder = shared.recorder.session(`watcher/${number}`);
    this.#prefixes = ['hot/', `${LEDGER_PREFIX}c${number}.`];
  }

  /** Results so far. */
  get results(): number {
    return this.#results;
  }

  /** Watches, in one region after the other, until `signal` is aborted. */
  async run(): Promise<void> {
    const { signal, found } = this.#shared;
    while (!signal.aborted) {
      const client = await this.#connect();
      if (client === undefined) continue;
      const end = client.live(
        Object.fromEntries(this.#prefixes.map((prefix) => [prefix, client.keyspace('default').watch({ prefix })])),
        (result) => this.#show(new Map(this.#prefixes.flatMap((name) => entriesOf(result[name]!)))),
        (error) => found.ended.push(`${this.name}: ${error.code}: ${error.message}`),
      );
      await this.#stay();
      end();
      this.#exported = JSON.stringify(client.session.export());
      this.#region = this.#random.pick(this.#regions);
      await client.close();
    }
  }

  get name(): string {
    return this.#recorder.name;
  }

  /** Its last result. */
  get documents(): Documents {
    return this.#shown;
  }

  /** Whether a key is in its ranges. */
  reads(key: string): boolean {
    return this.#prefixes.some((prefix) => key.startsWith(prefix));
  }

  async #connect(): Promise<IsochronClient | undefined> {
    const { endpoints, connection, tally } = this.#shared;
    const options: ConnectOptions = {
      ...connection,
      endpoints: endpoints[this.#region]!,
      random: () => this.#random.float(),
      ...(this.#exported === undefined ? {} : { session: this.#exported }),
    };
    try {
      return await connect(options);
    } catch (error) {
      tally.failed(this.name, error);
      this.#region = this.#random.pick(this.#regions);
      await delay(RETRY_MS);
      return undefined;
    }
  }

  #stay(): Promise<unknown> {
    const [least, most] = STAY_MS;
    const { signal } = this.#shared;
    return delay(least + this.#random.below(most - least), undefined, { signal }).catch(() => undefined);
  }

  /** Records a result: each key that is not as before, and some others. */
  #show(documents: Documents): void {
    const keys = [...new Set([...documents.keys(), ...this.#shown.keys()])];
    const read = keys.filter((key) => documents.get(key) !== this.#shown.get(key));
    for (let i = 0; i < UNCHANGED && keys.length > 0; i++) read.push(this.#random.pick(keys));
    this.#shown = documents;
    this.#results++;
    const open = this.#recorder.begin();
    for (const key of new Set(read)) open.read(key, documents.get(key) ?? null);
    open.committed();
  }
}

const entriesOf = ({ documents }: { readonly documents: readonly ResultDocument[] }): [string, string][] =>
  documents.map(({ key, value }) => [key, value as string]);
