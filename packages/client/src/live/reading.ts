/**
 * The first read of some scopes, at one snapshot, and the changes that the feed brings for them meanwhile.
 *
 * `fed` is the position of the feed for these scopes: an answer counts when its request names a time at or below it. It
 * begins at what the session has seen: no snapshot of the read lies below, so no change between the two is missed.
 * Where the log may not go back that far, it begins at the snapshot. Changes at or below the snapshot are part of the
 * read, and are dropped (LQ1).
 */
import { fullJitterMs } from '@isochron/core/backoff';
import type { IsochronError } from '@isochron/core/errors';
import type { QualifiedKey, Timestamp, Value } from '@isochron/core/ids';
import { laidOver } from '@isochron/protocols/kernel/transactions/write-cache';
import { toIsochronError } from '../errors.js';
import type { Cancellable } from '../link/exchange.js';
import type { Timer } from '../loop.js';
import type { ClientCore } from '../session/core.js';
import type { OutcomeExchange } from '../session/outcome.js';
import { SnapshotHandle } from '../session/snapshot-handle.js';
import type { Change, KeyChanges } from './frames.js';
import type { Scope } from './scope.js';
import { readScope } from './scope-read.js';

const RETRY_BASE_MS = 50;
const RETRY_CAP_MS = 5000;
/** The snapshot is gone, not the scope: another one is read. */
const ANOTHER_SNAPSHOT = new Set(['SNAPSHOT_TOO_OLD', 'TRANSACTION_EXPIRED', 'TRANSACTION_UNKNOWN']);

export interface ReadingEvents {
  /** All scopes have been read. */
  complete(reading: Reading): void;
  /** A scope cannot be read. */
  failed(scope: Scope, error: IsochronError): void;
}

export class Reading {
  readonly scopes: Set<Scope>;
  /** Undefined: the feed begins at the snapshot. */
  fed: Timestamp | undefined;
  /** Its snapshot, once all scopes are read. */
  snapshot: Timestamp | undefined;
  /** Own writes that the snapshot may contain: their timestamps are to be known before it is shown. */
  doubts: readonly OutcomeExchange[] = [];
  #values = new Map<QualifiedKey, Value>();
  readonly #changes = new Map<QualifiedKey, Change[]>();
  #handle: SnapshotHandle | undefined;
  readonly #unread = new Set<Scope>();
  #calls: readonly Cancellable[] = [];
  #failures = 0;
  /** Whether it has read scopes that it does not have any more. */
  #isReduced = false;
  #pause: Timer | undefined;

  constructor(
    readonly core: ClientCore,
    scopes: Iterable<Scope>,
    fed: Timestamp | undefined,
    readonly events: ReadingEvents,
  ) {
    this.scopes = new Set(scopes);
    this.fed = fed;
    this.#read();
  }

  /** The time up to which it has all changes; undefined while the feed has not begun. */
  get position(): Timestamp | undefined {
    return this.fed === undefined ? undefined : Math.max(this.fed, this.snapshot ?? 0);
  }

  /** Whether one of the own writes that it may contain is still undecided. */
  get isInDoubt(): boolean {
    return this.doubts.some(isUndecided);
  }

  /** Takes the changes after a time up to another one. */
  take(changes: readonly KeyChanges[], after: Timestamp, to: Timestamp): void {
    const fed = this.position;
    if (fed === undefined || after > fed) return;
    for (const [key, all] of changes) {
      const later = all.filter(({ ct }) => ct > fed);
      if (later.length > 0 && this.#has(key)) this.#changes.set(key, [...(this.#changes.get(key) ?? []), ...later]);
    }
    this.fed = Math.max(fed, to);
  }

  /** The documents at its position. */
  documents(): ReadonlyMap<QualifiedKey, Value> {
    for (const [key, changes] of this.#changes) {
      const later = changes.filter(({ ct }) => ct > this.snapshot!);
      const value = laidOver(this.#values.get(key) ?? null, later) ?? null;
      if (value === null) this.#values.delete(key);
      else this.#values.set(key, value);
    }
    this.#changes.clear();
    if (this.#isReduced) for (const key of this.#values.keys()) if (!this.#has(key)) this.#values.delete(key);
    return this.#values;
  }

  /** A scope is not observed any more. Returns whether another one is left. */
  without(scope: Scope): boolean {
    if (this.scopes.delete(scope)) this.#isReduced = true;
    if (this.scopes.size === 0) this.end();
    else this.#hasRead(scope);
    return this.scopes.size > 0;
  }

  end(): void {
    this.core.loop.cancel(this.#pause);
    this.#stop();
  }

  #stop(): void {
    const calls = this.#calls;
    this.#calls = [];
    this.#handle?.end();
    this.#handle = undefined;
    for (const call of calls) call.cancel(undefined);
  }

  #has(key: QualifiedKey): boolean {
    for (const scope of this.scopes) if (scope.contains(key)) return true;
    return false;
  }

  #read(): void {
    this.#values = new Map();
    for (const scope of this.scopes) this.#unread.add(scope);
    const handle = new SnapshotHandle(this.core, 'snapshot');
    this.#handle = handle;
    this.#calls = [...this.scopes].map((scope) =>
      readScope(handle, scope, this.#values, {
        resolve: () => this.#hasRead(scope),
        reject: (reason) => {
          if (this.#handle === handle && this.scopes.has(scope)) this.#failed(scope, toIsochronError(reason));
        },
      }),
    );
  }

  #hasRead(scope: Scope): void {
    if (!this.#unread.delete(scope) || this.#unread.size > 0 || this.#handle === undefined) return;
    this.doubts = this.core.queue.inDoubt;
    this.snapshot = this.#handle.tx.snapshot!;
    this.fed ??= this.snapshot;
    this.#stop();
    this.events.complete(this);
  }

  /** Whether a later snapshot, with own writes that permit it, may have the scope (AR3). */
  #lacksOwnWrites({ code }: IsochronError): boolean {
    const { session, queue } = this.core;
    return code === 'PERMISSION_DENIED' && (queue.undecided.length > 0 || session.export().cache.length > 0);
  }

  #failed(scope: Scope, error: IsochronError): void {
    if (!error.retryable && !ANOTHER_SNAPSHOT.has(error.code) && !this.#lacksOwnWrites(error)) {
      this.events.failed(scope, error);
      return;
    }
    this.#stop();
    const { loop } = this.core;
    const pauseMs = fullJitterMs(loop.random, this.#failures++, RETRY_BASE_MS, RETRY_CAP_MS);
    this.#pause = loop.after(pauseMs, () => this.#read());
  }
}

/** Whether a write may have had an effect that the session waits for. */
export const isUndecided = (write: OutcomeExchange): boolean => write.inDoubt && !write.is('detached');
