/**
 * Albums under access rules, during faults: their owner removes a reader, adds a photo, deletes it, and invites the
 * reader again. In the causal order the photo is there only while the reader is not allowed to see it. So the reader
 * must not be shown it, in any region (AR1, in the snapshot). Strangers try to take albums over (AR8).
 */
import { until } from '../e2e/until.js';
import { AlbumOwner } from './album-owner.js';
import { AlbumReader } from './album-reader.js';
import type { AlbumSessionOptions } from './album-session.js';
import { AlbumStranger } from './album-stranger.js';
import { AlbumVerdict } from './album-verdict.js';
import { type ChaosCluster, endpointsOf } from './cluster.js';

/** How long the sessions go on after the faults, at most, until the verdict is conclusive, ms. */
const LIMIT_MS = 30_000;

export class Albums {
  /** Resolves or rejects with the first session that ends. */
  readonly ended: Promise<unknown>;
  readonly #verdict: AlbumVerdict;
  readonly #stopping: AbortController;

  private constructor(ended: Promise<unknown>, verdict: AlbumVerdict, stopping: AbortController) {
    this.ended = ended;
    this.#verdict = verdict;
    this.#stopping = stopping;
  }

  /** Makes the albums, and starts a session of the owner, one of the reader and a stranger in every region. */
  static async start(
    cluster: ChaosCluster,
    options: Pick<AlbumSessionOptions, 'tally' | 'gate' | 'seed'>,
  ): Promise<Albums> {
    const [verdict, stopping] = [new AlbumVerdict(), new AbortController()];
    const shared = {
      ...options,
      endpoints: endpointsOf(cluster),
      verdict,
      signal: stopping.signal,
      inUse: new Map(),
      former: [],
    };
    const owning = { ...shared, connection: cluster.connection('owner') };
    const looking = { ...shared, connection: cluster.connection('reader') };
    const owners = cluster.regions.map((_region, i) => new AlbumOwner(owning, i));
    const readers = cluster.regions.map((_region, i) => new AlbumReader(looking, i));
    const contested = { ...shared, owner: owning.connection, stranger: cluster.connection('stranger') };
    const strangers = cluster.regions.map((_region, i) => new AlbumStranger(contested, i));
    await Promise.all(owners.map((owner) => owner.make()));
    return new Albums(
      Promise.all([...owners, ...readers, ...strangers].map((session) => session.run())),
      verdict,
      stopping,
    );
  }

  /** Ends all sessions, once the verdict is conclusive. Resolves when the last one has ended. */
  async stop(): Promise<void> {
    const { signal } = this.#stopping;
    const isOver = () => signal.aborted || this.#verdict.isConclusive;
    // The verdict names what is missing at the limit.
    const conclusive = until('the albums are put to the test', isOver, { timeoutMs: LIMIT_MS }).catch(() => undefined);
    await Promise.race([conclusive, this.ended]);
    this.#stopping.abort();
    await this.ended;
  }

  figures(): [string, string][] {
    return this.#verdict.figures();
  }

  violations(): Record<string, readonly string[]> {
    return this.#verdict.violations();
  }
}
