/** One session's write cache on the node that keeps it. */
import {
  type Content,
  contentLength,
  type KeyWrite,
  type QualifiedKey,
  type Timestamp,
  type TxId,
} from '@isochron/core';
import type { Session, SessionState, Snapshot } from '@isochron/protocols';
import type { CacheEntry } from './messages.js';

/** Opens a session of the cluster's protocol. */
export type OpenSession = (id: string, state?: SessionState) => Session;

/** The initial state of a session of the store. */
export interface KeptState {
  readonly seen: Snapshot;
  readonly hwt: Timestamp;
  readonly complete: Timestamp;
  /** As in the session; absent for 0. */
  readonly map?: number | undefined;
}

/** Another node's copy of a session that goes on here. */
export interface CacheCopy {
  /** The highest snapshot that the session has seen on the other node. */
  readonly seen: Snapshot;
  readonly hwt: Timestamp;
  readonly complete: Timestamp;
  readonly map?: number | undefined;
  /** How many changes of the original the entries contain. */
  readonly changes: number;
  readonly entries: readonly CacheEntry[];
}

/** A transaction that has committed. */
export interface CommittedWrites {
  readonly txId: TxId;
  readonly writes: readonly KeyWrite[];
  readonly commit: Snapshot;
  /** Version of the map of the commit; absent under protocols without maps. */
  readonly map?: number | undefined;
  /** The snapshot that it was sent with: what it depends on. */
  readonly sent: Snapshot;
}

export class KeptSession {
  /** No map up to this version has deferred a write of the session (M10). */
  map: number;
  readonly #maxBytes: number;
  readonly #open: OpenSession;
  #session: Session;
  #complete: Timestamp;
  #bytes = 0;
  #changes = 0;
  #contained = 0;
  /** Commit timestamps of own writes that may still be in the cache, and the highest of those that have left it. */
  #cached: Timestamp[] = [];
  #pruned: Timestamp = 0;

  constructor(
    readonly id: string,
    { seen, hwt, complete, map = 0 }: KeptState,
    { maxSessionBytes }: { readonly maxSessionBytes: number },
    open: OpenSession,
  ) {
    this.#maxBytes = maxSessionBytes;
    this.#open = open;
    this.#session = open(id, { ust: seen.ts, deps: seen.deps, hwt, cache: [] });
    this.#complete = complete;
    this.map = map;
  }

  /** The highest snapshot that it has seen. */
  get seen(): Snapshot {
    return this.#session.seen;
  }

  get hwt(): Timestamp {
    return this.#session.hwt;
  }

  /** On this node the cache holds every own write above this; a snapshot from here on shows the ones before. */
  get complete(): Timestamp {
    return this.#complete;
  }

  /**
   * As `complete`, on a node whose stable time may be lower: a write that has left the cache because every snapshot
   * here shows it is missing there.
   */
  get completeElsewhere(): Timestamp {
    return Math.max(this.#complete, this.#pruned);
  }

  /** How many times own writes were added. A token names the cache together with this number. */
  get changes(): number {
    return this.#changes;
  }

  /** How many changes of the session that it was copied from it contains; 0 when it began here. */
  get contained(): number {
    return this.#contained;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The session itself: for `begin`, `started`, `end` around a read. */
  get session(): Session {
    return this.#session;
  }

  /** Raises the highest snapshot that the session has seen, and takes a stable time. */
  observe(seen: Snapshot, ust: Timestamp): void {
    this.#session.observe(seen);
    this.#session.stable(ust);
    if (this.#session.cacheSize === 0) this.#bytes = 0;
    this.#notePruned();
  }

  /** Adds a finished commit. Commits may come in any order. */
  committed({ txId, writes, commit, sent: { ts: snapshot, deps } }: CommittedWrites): void {
    this.#session.learn({ txId, snapshot, deps, writes }, commit);
    for (const { key, value } of writes) this.#bytes += sizeOf(key, value);
    this.#changed([commit.ts]);
  }

  /** Merges another node's copy: afterwards it has the own writes of both. */
  merge({ seen, hwt, complete, changes, entries, map = 0 }: CacheCopy): void {
    const { rules } = this.#session;
    this.#reopen([...this.entries(), ...entries], hwt, rules.adopted?.(this.seen, seen) ?? this.seen);
    if (complete > this.#complete) this.#complete = complete;
    if (changes > this.#contained) this.#contained = changes;
    this.map = Math.min(this.map, map);
    this.#changed(entries.map(({ ct }) => ct));
  }

  entries(): CacheEntry[] {
    return this.#session.export().cache.map(([key, write]) => ({ key, ...write }));
  }

  #changed(cts: readonly Timestamp[]): void {
    this.#changes++;
    this.#cached.push(...cts);
    this.#notePruned();
    if (this.#bytes <= this.#maxBytes) return;
    this.#reopen([], this.hwt, this.seen);
    this.#complete = this.hwt;
  }

  #notePruned(): void {
    if (this.#cached.length === 0) return;
    const covered = this.#session.rules.covers(this.seen);
    for (const ct of this.#cached) if (ct <= covered && ct > this.#pruned) this.#pruned = ct;
    this.#cached = this.#cached.filter((ct) => ct > covered);
  }

  #reopen(entries: readonly CacheEntry[], hwt: Timestamp, { ts: ust, deps }: Snapshot): void {
    const { hwt: before } = this.#session;
    const sorted = [...entries].sort((a, b) => a.ct - b.ct || (a.txId < b.txId ? -1 : 1));
    const cache = sorted.map(({ key, ct, txId, value }) => [key, { ct, txId, value }] as const);
    this.#session = this.#open(this.id, { ust, deps, hwt: Math.max(hwt, before), cache });
    this.#bytes = entriesSize(this.entries()) - EMPTY_BYTES;
  }
}

const EMPTY_BYTES = 256;

const sizeOf = (key: QualifiedKey, value: Content): number => key.length + contentLength(value) + 64;

/** Approximate bytes of own writes in memory. */
export const entriesSize = (entries: readonly CacheEntry[]): number =>
  entries.reduce((sum, { key, value }) => sum + sizeOf(key, value), EMPTY_BYTES);
