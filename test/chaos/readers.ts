/** The readers of a run: live queries and followers of the change feed, which go on until everything is compared. */
import { until } from '../e2e/until.js';
import type { Contents } from './convergence.js';
import { Follower } from './follower.js';
import { differences, type Reader, type ReadersFound, type ReadersOptions } from './reader.js';
import { Watcher } from './watcher.js';

const WATCHERS = 3;
const FOLLOWERS = 2;
/** How long readers may take for the rest, once nothing is written any more, ms. */
const LIMIT_MS = 60_000;

export class Readers {
  readonly #found: ReadersFound = { ended: [], wrong: [] };
  readonly #stopping = new AbortController();
  readonly #watchers: readonly Watcher[];
  readonly #followers: readonly Follower[];
  /** Resolves or rejects with the first reader that ends. */
  readonly ended: Promise<unknown>;

  constructor(options: Omit<ReadersOptions, 'signal' | 'found'>) {
    const shared = { ...options, signal: this.#stopping.signal, found: this.#found };
    this.#watchers = Array.from({ length: WATCHERS }, (_, i) => new Watcher(shared, i));
    this.#followers = Array.from({ length: FOLLOWERS }, (_, i) => new Follower(shared, i));
    this.ended = Promise.all(this.#all.map((reader) => reader.run()));
  }

  get #all(): readonly Reader[] {
    return [...this.#watchers, ...this.#followers];
  }

  /** Resolves when every follower has its position: what is written from now on reaches all of them. */
  async begun(): Promise<void> {
    await until('the followers begin', () => this.#followers.every(({ hasBegun }) => hasBegun));
  }

  /** Waits until every reader has what the cluster has, and reports those that do not come there. */
  async compare(contents: Contents): Promise<void> {
    const [everything = new Map<string, unknown>()] = contents.values();
    const behind = () => this.#all.flatMap((reader) => differences(reader, everything));
    try {
      await until('every reader has what the cluster has', () => behind().length === 0, { timeoutMs: LIMIT_MS });
    } catch {
      this.#found.wrong.push(...behind());
    }
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.ended;
  }

  figures(): [string, string][] {
    const results = this.#watchers.reduce((sum, watcher) => sum + watcher.results, 0);
    const transactions = this.#followers.reduce((sum, follower) => sum + follower.transactions, 0);
    return [
      ['results of live queries', String(results)],
      ['transactions that followers of the feed received', String(transactions)],
    ];
  }

  violations(): Record<string, readonly string[]> {
    return {
      'live queries that ended by themselves': this.#found.ended,
      'readers that differ from the cluster': this.#found.wrong,
    };
  }
}
