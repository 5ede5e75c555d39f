/**
 * The PaRiS session (Algorithm 1): pure state, no clock, no I/O. The SDKs hold one; the server holds one for a plain HTTP caller.
 *
 * Deviations: P7 (the read set remembers absent keys; a cache entry is used exactly when its `ct` is above this
 * transaction's snapshot; the cache is frozen at a transaction's start and pruned at the minimum snapshot of the
 * open transactions), P8 (several transactions open, one commit in flight; the client makes the transaction ids).
 *
 * Invariants: PS1 `ust` and `hwt` never fall. PS2 every transaction's snapshot is at least the `ust` known at its start. PS3 no cache
 * entry that an open transaction may need is pruned. PS4 at most one commit is in flight.
 */
import {
  invariant,
  type KeyWrite,
  type QualifiedKey,
  type Timestamp,
  type TxId,
  txIdOf,
  type Value,
  type Version,
} from '@isochron/core';
import { type CachedWrite, type CacheView, WriteCache } from '../kernel/write-cache.js';

/** The whole session: valid in every region (D9). */
export interface SessionState {
  readonly ust: Timestamp;
  readonly hwt: Timestamp;
  readonly cache: readonly (readonly [QualifiedKey, CachedWrite])[];
}

/** What a read returns: where no version exists, or a tombstone, `value` is null. */
export interface ReadResult {
  readonly value: Value | null;
  /** Commit timestamp of the version; null for an absent key and for a write of this very transaction. */
  readonly ts: Timestamp | null;
}

/** What every send of one commit carries, unchanged in retries (D4, D5). */
export interface CommitAttempt {
  readonly txId: TxId;
  readonly snapshot: Timestamp;
  readonly hwt: Timestamp;
  readonly birth: Timestamp;
  readonly writes: readonly KeyWrite[];
}

/** One transaction of a session. */
export class SessionTransaction {
  readonly #cache: CacheView;
  readonly #reads = new Map<QualifiedKey, ReadResult>();
  readonly #writes = new Map<QualifiedKey, Value | null>();
  #snapshot: Timestamp | undefined;

  constructor(
    readonly id: TxId,
    /** Lowest snapshot that the session may be given: its `ust` at the start. */
    readonly floor: Timestamp,
    cache: CacheView,
  ) {
    this.#cache = cache;
  }

  /** The snapshot, once the coordinator has assigned it. */
  get snapshot(): Timestamp | undefined {
    return this.#snapshot;
  }

  get hasWrites(): boolean {
    return this.#writes.size > 0;
  }

  get writes(): readonly KeyWrite[] {
    return [...this.#writes].map(([key, value]) => ({ key, value }));
  }

  /** Alg. 1 lines 3–4. */
  started(snapshot: Timestamp): void {
    invariant(snapshot >= this.floor, () => `snapshot ${snapshot} is below the session's ust ${this.floor}`);
    invariant(this.#snapshot === undefined || this.#snapshot === snapshot, 'a snapshot never changes');
    this.#snapshot = snapshot;
  }

  /** Alg. 1 line 11: write set, read set, write cache. Undefined: ask the coordinator. */
  lookup(key: QualifiedKey): ReadResult | undefined {
    const written = this.#writes.get(key);
    if (written !== undefined) return { value: written, ts: null };
    return this.#reads.get(key) ?? this.#cached(key);
  }

  /** Alg. 1 lines 16–19: takes the coordinator's answer for a key into the read set and returns what the transaction sees. */
  record(key: QualifiedKey, version: Version | null): ReadResult {
    const written = this.#writes.get(key);
    if (written !== undefined) return { value: written, ts: null };
    const served = { value: version?.value ?? null, ts: version?.ts ?? null };
    const seen = this.#reads.get(key) ?? this.#cached(key) ?? served;
    this.#reads.set(key, seen);
    return seen;
  }

  /** Alg. 1 lines 21–25. Null deletes. */
  write(key: QualifiedKey, value: Value | null): void {
    this.#writes.set(key, value);
  }

  /** Own writes, in this transaction and before it, that lie above the snapshot: what a listing lays over its pages. */
  overlay(): Map<QualifiedKey, ReadResult> {
    const overlay = new Map<QualifiedKey, ReadResult>();
    for (const key of this.#cache.keys()) {
      const cached = this.#cached(key);
      if (cached !== undefined) overlay.set(key, cached);
    }
    for (const [key, value] of this.#writes) overlay.set(key, { value, ts: null });
    return overlay;
  }

  #cached(key: QualifiedKey): ReadResult | undefined {
    const cached = this.#cache.get(key);
    if (cached === undefined || this.#snapshot === undefined || cached.ct <= this.#snapshot) return undefined;
    return { value: cached.value, ts: cached.ct };
  }
}

export class ParisSession {
  #ust: Timestamp;
  #hwt: Timestamp;
  readonly #cache: WriteCache;
  readonly #open = new Set<SessionTransaction>();
  #committing: { tx: SessionTransaction; attempt: CommitAttempt } | undefined;
  #counter = 0;

  /** @param id 128 random bits as text, never used by another session: a session that is imported gets a new one (P8). */
  constructor(
    readonly id: string,
    state: SessionState = { ust: 0, hwt: 0, cache: [] },
  ) {
    this.#ust = state.ust;
    this.#hwt = state.hwt;
    this.#cache = new WriteCache(state.cache);
    this.#cache.prune(this.#ust);
  }

  /** Highest stable snapshot the session has seen. */
  get ust(): Timestamp {
    return this.#ust;
  }

  /** Commit timestamp of its last write. */
  get hwt(): Timestamp {
    return this.#hwt;
  }

  /** Own writes that may not be stable yet. */
  get cacheSize(): number {
    return this.#cache.size;
  }

  /** An id that no other transaction has. */
  nextTxId(): TxId {
    return txIdOf(this.id, this.#counter++);
  }

  /** Alg. 1 lines 1–5, the client's half: the snapshot follows with `started`. */
  begin(): SessionTransaction {
    const tx = new SessionTransaction(this.nextTxId(), this.#ust, this.#cache.freeze());
    this.#open.add(tx);
    return tx;
  }

  /** The coordinator's answer to a start (Alg. 1 lines 3–6). */
  started(tx: SessionTransaction, snapshot: Timestamp): void {
    tx.started(snapshot);
    this.observe(snapshot);
  }

  /** A stable time learned from anywhere trustworthy. */
  observe(ust: Timestamp): void {
    if (ust > this.#ust) this.#ust = ust;
    this.#prune();
  }

  /** The transaction ended, with or without a commit. */
  end(tx: SessionTransaction): void {
    this.#open.delete(tx);
    if (this.#open.size === 0) this.#cache.thaw();
    this.#prune();
  }

  /** Alg. 1 line 27. What it returns is sent, and sent again, until the outcome is known. */
  commit(tx: SessionTransaction): CommitAttempt {
    invariant(this.#committing === undefined, 'one commit in flight (P8)');
    const attempt: CommitAttempt = {
      txId: tx.id,
      snapshot: tx.snapshot ?? tx.floor,
      hwt: this.#hwt,
      birth: this.#ust,
      writes: tx.writes,
    };
    this.#committing = { tx, attempt };
    return attempt;
  }

  /** Alg. 1 lines 28–31. */
  committed(ct: Timestamp): void {
    invariant(this.#committing !== undefined, 'no commit is in flight');
    const { tx, attempt } = this.#committing;
    this.#committing = undefined;
    if (ct > this.#hwt) this.#hwt = ct;
    for (const { key, value } of attempt.writes) this.#cache.add(key, { ct, txId: attempt.txId, value });
    this.end(tx);
  }

  /** The commit is known to have had no effect. */
  refused(): void {
    invariant(this.#committing !== undefined, 'no commit is in flight');
    const { tx } = this.#committing;
    this.#committing = undefined;
    this.end(tx);
  }

  /** The whole session, to continue elsewhere (D9). */
  export(): SessionState {
    return { ust: this.#ust, hwt: this.#hwt, cache: [...this.#cache.entries()] };
  }

  #prune(): void {
    if (this.#cache.size === 0) return;
    let floor = this.#ust;
    for (const tx of this.#open) floor = Math.min(floor, tx.snapshot ?? tx.floor);
    this.#cache.prune(floor);
  }
}
