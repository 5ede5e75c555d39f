import { IsochronError } from '@isochron/core/errors';
import type { Timestamp } from '@isochron/core/ids';
import { checkOptions } from '../check-options.js';
import type { Driver, Handle } from '../driver.js';
import { ReadCollection } from './read-collection.js';
import type { HandleSource } from './scope.js';
import { collectionScope, type KeyScope, keyspaceScope } from './scope.js';

/** Options of a snapshot. */
export interface SnapshotOptions {
  /**
   * Exactly this timestamp: the same in every region. The session's own writes above it are not part of it. The server
   * waits a moment for a timestamp that is not stable yet, then SNAPSHOT_UNAVAILABLE; one whose versions were collected
   * is SNAPSHOT_TOO_OLD. Under protocols without such snapshots, NOT_SUPPORTED_BY_PROTOCOL.
   */
  readonly at?: Timestamp;
  readonly signal?: AbortSignal;
}

class SnapshotState implements HandleSource {
  #closed = false;

  constructor(
    readonly driver: Driver,
    readonly opened: Handle,
  ) {}

  handle(): Handle {
    if (this.#closed) throw new IsochronError('TRANSACTION_FINISHED', 'the snapshot has ended');
    return this.opened;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.driver.end(this.opened);
  }
}

/** Documents under one prefix, in a snapshot. */
export class SnapshotCollection<T = unknown> extends ReadCollection<T> {}

/**
 * Many reads of one snapshot. It holds garbage collection back until it is closed, even while it is idle:
 * close it when it is not needed any more (`await using` does). Its versions may be gone after a time without a
 * connection that is longer than a transaction may be open.
 */
export class Snapshot extends SnapshotCollection<unknown> implements AsyncDisposable {
  readonly #state: SnapshotState;

  /** @internal */
  constructor(state: SnapshotState, scope: KeyScope) {
    super(state, scope);
    this.#state = state;
  }

  /** The timestamp of the snapshot: `snapshot({ at })` with it reads the same, in any region. */
  get timestamp(): Timestamp {
    const { tx } = this.#state.opened;
    return tx.snapshot ?? tx.seen.ts;
  }

  /**
   * Age of its timestamp in ms, by the node's clock: grows while the snapshot is held. Undefined before the first
   * stable time.
   */
  get stalenessMs(): number | undefined {
    return this.source.driver.ageMs(this.timestamp);
  }

  /** The same snapshot of another keyspace. */
  keyspace(name: string): Snapshot {
    return new Snapshot(this.#state, keyspaceScope(name));
  }

  /** The same snapshot of the documents under `name/<id>`. */
  collection<T = unknown>(name: string): SnapshotCollection<T> {
    return new SnapshotCollection<T>(this.source, collectionScope(this.scope, name));
  }

  /** Releases the snapshot. Later reads reject with TRANSACTION_FINISHED. */
  async close(): Promise<void> {
    this.#state.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#state.close();
  }
}

/** Opens a snapshot: one round trip. */
export async function openSnapshot(driver: Driver, scope: KeyScope, options: SnapshotOptions): Promise<Snapshot> {
  checkOptions(options, 'at', 'signal');
  const { at, signal } = options;
  const { core } = driver.machine;
  if (!core.can('snapshots')) throw core.unsupported('has no snapshots');
  const handle = driver.begin('snapshot', at);
  try {
    await driver.call({ f: 'open', handle: handle.id }, signal);
  } catch (error) {
    driver.end(handle);
    throw error;
  }
  return new Snapshot(new SnapshotState(driver, handle), scope);
}
