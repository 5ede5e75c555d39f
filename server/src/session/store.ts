/**
 * Write caches that this node keeps for plain HTTP callers. Soft state: losing one costs a wait until the session's writes
 * are stable, never a wrong answer.
 */
import { randomBytes } from 'node:crypto';
import type { KeyWrite, QualifiedKey, Timestamp, TxId, Value } from '@isochron/core';
import { type Session, type SessionState, SessionTransaction, type Snapshot } from '@isochron/protocols';
import { LRUCache } from 'lru-cache';
import type { CacheEntry } from './messages.js';

/** Bounds of the store. */
export interface SessionStoreLimits {
  /** Sessions kept. */
  readonly maxSessions: number;
  /** Bytes of keys and values of one session; above it, its cache is dropped. */
  readonly maxSessionBytes: number;
  /** Bytes over all sessions. */
  readonly maxBytes: number;
}

export const DEFAULT_SESSION_LIMITS: SessionStoreLimits = {
  maxSessions: 10_000,
  maxSessionBytes: 2 * 2 ** 20,
  maxBytes: 32 * 2 ** 20,
};

/** How much longer than its lease an open transaction is kept, ms. */
const TRANSACTION_GRACE_MS = 5000;

/** Opens a session of the cluster's protocol. */
export type OpenSession = (id: string, state?: SessionState) => Session;

/** Where a session of the store begins. */
export interface KeptState {
  readonly seen: Snapshot;
  readonly hwt: Timestamp;
  readonly complete: Timestamp;
}

/** One session of the store. */
export class KeptSession {
  readonly #limits: SessionStoreLimits;
  readonly #open: OpenSession;
  #session: Session;
  #complete: Timestamp;
  #bytes = 0;

  constructor(
    readonly id: string,
    { seen, hwt, complete }: KeptState,
    limits: SessionStoreLimits,
    open: OpenSession,
  ) {
    this.#limits = limits;
    this.#open = open;
    this.#session = open(id, { ust: seen.ts, deps: seen.deps, hwt, cache: [] });
    this.#complete = complete;
  }

  /** The highest snapshot that it has seen. */
  get seen(): Snapshot {
    return this.#session.seen;
  }

  get hwt(): Timestamp {
    return this.#session.hwt;
  }

  /** The cache holds every own write above this; a snapshot from here on shows the ones before. */
  get complete(): Timestamp {
    return this.#complete;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The session itself: for `begin`, `started`, `record`, `end` around a read. */
  get session(): Session {
    return this.#session;
  }

  /** What the session has seen, as far as this node knows, and a stable time. */
  observe(seen: Snapshot, ust: Timestamp): void {
    this.#session.observe(seen);
    this.#session.stable(ust);
    if (this.#session.cacheSize === 0) this.#bytes = 0;
  }

  /** Takes a finished commit into the cache. `snapshot` is what its transaction read from. */
  committed(writes: readonly KeyWrite[], commit: Snapshot, snapshot: Snapshot): void {
    const tx = new SessionTransaction(this.#session.nextTxId(), snapshot, new Map());
    for (const { key, value } of writes) tx.write(key, value);
    this.#session.commit(tx);
    this.#session.committed(commit.ts, commit.deps);
    for (const { key, value } of writes) this.#bytes += sizeOf(key, value);
    if (this.#bytes > this.#limits.maxSessionBytes) this.#drop();
  }

  /** Takes over the entries that another node kept. */
  restore(entries: readonly CacheEntry[]): void {
    this.#reopen(entries.map(({ key, ct, txId, value }) => [key, { ct, txId, value }] as const));
    for (const { key, value } of entries) this.#bytes += sizeOf(key, value);
  }

  entries(): CacheEntry[] {
    return this.#session.export().cache.map(([key, write]) => ({ key, ...write }));
  }

  #drop(): void {
    this.#reopen([]);
    this.#complete = this.#session.hwt;
    this.#bytes = 0;
  }

  #reopen(cache: SessionState['cache']): void {
    const { ust, deps, hwt } = this.#session.export();
    this.#session = this.#open(this.id, { ust, deps, hwt, cache });
  }
}

/** What the caller saw of its own writes when it opened an interactive transaction (P7: frozen at the start). */
export interface OpenTransaction {
  readonly snapshot: Snapshot;
  /** What the caller had seen before. */
  readonly seen: Snapshot;
  readonly hwt: Timestamp;
  /** Own writes above the snapshot. */
  readonly overlay: ReadonlyMap<QualifiedKey, CacheEntry>;
  /** The session whose transaction it is; undefined for a caller without one, or on another node. */
  readonly session?: string | undefined;
}

/** Bounded sets of sessions, open transactions and listings. */
export class SessionStore {
  readonly limits: SessionStoreLimits;
  readonly #sessions: LRUCache<string, KeptSession>;
  readonly #transactions: LRUCache<TxId, OpenTransaction>;
  readonly #listings: LRUCache<string, readonly CacheEntry[]>;
  /** Where sessions that came from another node continue here. */
  readonly #moved = new LRUCache<string, string>({ max: 10_000 });

  constructor(
    readonly open: OpenSession,
    limits: Partial<SessionStoreLimits> = {},
  ) {
    this.limits = { ...DEFAULT_SESSION_LIMITS, ...limits };
    const { maxSessions, maxBytes } = this.limits;
    this.#sessions = new LRUCache({ max: maxSessions, maxSize: maxBytes, sizeCalculation: (s) => s.bytes + 512 });
    this.#transactions = new LRUCache({
      max: 100_000,
      maxSize: maxBytes,
      sizeCalculation: (t) => overlaySize([...t.overlay.values()]),
    });
    this.#listings = new LRUCache({ max: 10_000, maxSize: maxBytes, sizeCalculation: overlaySize });
  }

  /** Sessions kept now. */
  get size(): number {
    return this.#sessions.size;
  }

  get(id: string): KeptSession | undefined {
    return this.#sessions.get(id);
  }

  /** A new session under a new id (P8), incomplete up to `complete`. */
  create(state: KeptState): KeptSession {
    const session = new KeptSession(newSessionId(), state, this.limits, this.open);
    this.#sessions.set(session.id, session);
    return session;
  }

  /** Goes on with a session that another node kept, under an id of its own (P8). */
  adopt(from: string, state: KeptState, entries: readonly CacheEntry[]): KeptSession {
    const session = this.create(state);
    session.restore([...entries].sort((a, b) => a.ct - b.ct));
    this.touch(session);
    this.#moved.set(from, session.id);
    return session;
  }

  /** The session that goes on here under another id. */
  adopted(from: string): KeptSession | undefined {
    const id = this.#moved.get(from);
    return id === undefined ? undefined : this.#sessions.get(id);
  }

  /** Sessions whose own writes are not all visible at this stable time. */
  unstable(ust: Timestamp): KeptSession[] {
    return [...this.#sessions.values()].filter((session) => session.entries().some(({ ct }) => ct > ust));
  }

  /** Open transactions that show own writes above their snapshot. */
  overlaid(): [TxId, OpenTransaction][] {
    return [...this.#transactions.entries()].filter(([, { overlay }]) => overlay.size > 0);
  }

  /** Counts a session's bytes anew after it changed. It comes back in if it was evicted meanwhile: it is complete in itself. */
  touch(session: KeptSession): void {
    this.#sessions.delete(session.id);
    this.#sessions.set(session.id, session);
  }

  openTransaction(id: TxId): OpenTransaction | undefined {
    return this.#transactions.get(id);
  }

  /** Keeps it longer than its lease: its coordinator ends it, and is the one to say that it has expired. */
  keepTransaction(id: TxId, transaction: OpenTransaction, lifetimeMs: number): void {
    this.#transactions.set(id, transaction, { ttl: lifetimeMs + TRANSACTION_GRACE_MS });
  }

  dropTransaction(id: TxId): void {
    this.#transactions.delete(id);
  }

  /** Own writes that later pages of a listing still have to show. */
  keepListing(overlay: readonly CacheEntry[]): string {
    const id = newSessionId();
    this.#listings.set(id, overlay);
    return id;
  }

  listing(id: string): readonly CacheEntry[] | undefined {
    return this.#listings.get(id);
  }
}

/** 128 random bits as text. */
export const newSessionId = (): string => randomBytes(16).toString('base64url');

const sizeOf = (key: QualifiedKey, value: Value | null): number => key.length + (value?.length ?? 0) + 64;

const overlaySize = (entries: readonly CacheEntry[]): number =>
  entries.reduce((sum, { key, value }) => sum + sizeOf(key, value), 256);
