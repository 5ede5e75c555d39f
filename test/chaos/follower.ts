/**
 * A reader of the change feed that keeps a copy of the data during faults, transaction by transaction. It goes on from
 * its cursor in one region after the other, with a new connection.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '@isochron/core';
import { connect, type IsochronClient } from '@isochron/sdk';
import { FeedCopy } from './feed-copy.js';
import type { Reader, ReadersOptions } from './reader.js';

/** How long it follows the feed of one connection, ms: at least, and at most. */
const STAY_MS = [2_000, 15_000] as const;
const RETRY_MS = 200;

export class Follower implements Reader {
  readonly name: string;
  readonly #shared: ReadersOptions;
  readonly #random: Random;
  readonly #regions: readonly string[];
  readonly #copy: FeedCopy;

  constructor(shared: ReadersOptions, number: number) {
    this.#shared = shared;
    this.name = `follower/${number}`;
    this.#random = new Random(shared.seed + 30_000 + number);
    this.#regions = Object.keys(shared.endpoints);
    this.#copy = new FeedCopy((what) => shared.found.wrong.push(`${this.name} ${what}`));
  }

  /** Transactions so far. */
  get transactions(): number {
    return this.#copy.transactions;
  }

  /** Whether it has a position. */
  get hasBegun(): boolean {
    return this.#copy.cursor !== undefined;
  }

  /** Follows the feed until `signal` is aborted. */
  async run(): Promise<void> {
    const { signal, endpoints, connection, tally } = this.#shared;
    while (!signal.aborted) {
      let client: IsochronClient | undefined;
      try {
        client = await connect({ ...connection, endpoints: endpoints[this.#random.pick(this.#regions)]! });
        await this.#follow(client);
      } catch (error) {
        tally.failed(this.name, error);
        await delay(RETRY_MS);
      } finally {
        await client?.close();
      }
    }
  }

  /** What its copy has, at its position. */
  get documents(): ReadonlyMap<string, unknown> {
    return this.#copy.documents;
  }

  /** All documents are in its scope. */
  reads(): boolean {
    return true;
  }

  async #follow(client: IsochronClient): Promise<void> {
    const [least, most] = STAY_MS;
    const over = AbortSignal.timeout(least + this.#random.below(most - least));
    const signal = AbortSignal.any([over, this.#shared.signal]);
    const { cursor: since } = this.#copy;
    try {
      const feed = client.changes({ keyspace: 'default', signal, ...(since === undefined ? {} : { since }) });
      for await (const message of feed) this.#copy.take(message);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
