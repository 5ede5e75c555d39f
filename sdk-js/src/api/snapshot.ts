import { IsochronError } from '@isochron/core/errors';
import type { QualifiedKey, Timestamp, Value } from '@isochron/core/ids';
import type { SessionCore } from '../session/core.js';
import { readKeys } from '../session/reads.js';
import { SnapshotHandle } from '../session/snapshot-handle.js';
import { type CallOptions, type HandleSource, ReadCollection } from './read-collection.js';
import { collectionScope, keyspaceScope, type Scope } from './scope.js';

/** Options of a snapshot. */
export interface SnapshotOptions {
  /**
   * Exactly this timestamp: the same in every region. The session's own writes above it are not part of it. A timestamp that
   * is not stable yet is waited for by the server for a moment, then SNAPSHOT_UNAVAILABLE; one whose versions were collected
   * is SNAPSHOT_TOO_OLD. Where the cluster's protocol has no such snapshots, NOT_SUPPORTED_BY_PROTOCOL.
   */
  readonly at?: Timestamp;
  readonly signal?: AbortSignal;
}

class SnapshotState implements HandleSource {
  #closed = false;

  constructor(
    readonly core: SessionCore,
    readonly handle: SnapshotHandle,
  ) {}

  borrow(): SnapshotHandle {
    if (this.#closed) throw new IsochronError('TRANSACTION_FINISHED', 'the snapshot has been closed');
    return this.handle;
  }

  async read(keys: readonly QualifiedKey[], signal: AbortSignal | undefined): Promise<readonly (Value | null)[]> {
    return readKeys(this.borrow(), keys, signal);
  }

  giveBack(): void {}

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.handle.end();
  }
}

/** Documents under one prefix, in a snapshot. */
export class SnapshotCollection<T = unknown> extends ReadCollection<T> {}

/**
 * Many reads of one snapshot. It holds garbage collection back while it is in use; close it when it is not needed any more
 * (`await using` does). It may be read for longer than a transaction may be open, as long as its versions are kept.
 */
export class Snapshot extends SnapshotCollection<unknown> implements AsyncDisposable {
  readonly #state: SnapshotState;

  /** @internal */
  constructor(state: SnapshotState, scope: Scope) {
    super(state, scope);
    this.#state = state;
  }

  /** Its timestamp: `snapshot({ at })` with it reads the same, in any region. */
  get timestamp(): Timestamp {
    const { tx } = this.#state.handle;
    return tx.snapshot ?? tx.floor;
  }

  /** Age of its timestamp in ms, by the node's clock: grows while the snapshot is held. Undefined before anything was stable. */
  get stalenessMs(): number | undefined {
    return this.source.core.clock.ageMs(this.timestamp);
  }

  override get<U = unknown>(key: string, options?: CallOptions): Promise<U | undefined> {
    return super.get(key, options) as Promise<U | undefined>;
  }

  override getMany<U = unknown>(keys: readonly string[], options?: CallOptions): Promise<(U | undefined)[]> {
    return super.getMany(keys, options) as Promise<(U | undefined)[]>;
  }

  /** The same snapshot of another keyspace. */
  keyspace(name: string): Snapshot {
    return new Snapshot(this.#state, keyspaceScope(name));
  }

  /** The same snapshot of the documents under `name/<id>`. */
  collection<T = unknown>(name: string): SnapshotCollection<T> {
    return new SnapshotCollection<T>(this.source, collectionScope(this.scope, name));
  }

  /** Lets go of the snapshot. Reads that follow reject with TRANSACTION_FINISHED. */
  async close(): Promise<void> {
    this.#state.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#state.close();
  }
}

/** Opens a snapshot: one round trip. */
export async function openSnapshot(
  core: SessionCore,
  scope: Scope,
  { at, signal }: SnapshotOptions,
): Promise<Snapshot> {
  if (!core.can('snapshots')) {
    const message = `the protocol of this cluster, ${core.protocol}, has no snapshots`;
    throw new IsochronError('NOT_SUPPORTED_BY_PROTOCOL', message);
  }
  const handle = new SnapshotHandle(core, 'snapshot', at);
  try {
    await handle.open(signal);
  } catch (error) {
    handle.end();
    throw error;
  }
  return new Snapshot(new SnapshotState(core, handle), scope);
}
