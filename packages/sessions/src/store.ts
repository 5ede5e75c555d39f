/**
 * Write caches that this node keeps for plain HTTP callers. Soft state: losing one costs a wait until the session's
 * writes are stable, never a wrong answer.
 */
import { RecentMap, type Timestamp, type TxId } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import { BoundedMap } from './bounded-map.js';
import type { Overlay } from './caller.js';
import { type CacheCopy, entriesSize, KeptSession, type KeptState, type OpenSession } from './kept-session.js';
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

/** The store's driver. */
export interface StoreOptions {
  readonly session: OpenSession;
  /** 128 random bits as text, never the same twice. */
  readonly newId: () => string;
  /** A steady clock, ms. */
  readonly now: () => number;
  readonly limits?: Partial<SessionStoreLimits>;
}

/** The caller's view of its own writes when it opened an interactive transaction (P7: frozen at the start). */
export interface OpenTransaction {
  readonly snapshot: Snapshot;
  /** The highest snapshot that the caller had seen before. */
  readonly seen: Snapshot;
  readonly hwt: Timestamp;
  /** Own writes above the snapshot. */
  readonly overlay: Overlay;
  /** The transaction's session; undefined for a caller without one, or on another node. */
  readonly session?: string | undefined;
}

/** The own writes of a listing, and whose they are. */
interface Listing {
  readonly overlay: readonly CacheEntry[];
  readonly holder: string;
}

/** Bounded sets of sessions, open transactions and listings. */
export class SessionStore {
  readonly limits: SessionStoreLimits;
  readonly #sessions: BoundedMap<string, KeptSession>;
  readonly #transactions: BoundedMap<TxId, { readonly transaction: OpenTransaction; readonly until: number }>;
  readonly #listings: BoundedMap<string, Listing>;
  /** The ids under which sessions of other nodes continue here. */
  readonly #moved = new RecentMap<string, string>(10_000);

  constructor(readonly options: StoreOptions) {
    this.limits = { ...DEFAULT_SESSION_LIMITS, ...options.limits };
    const { maxSessions, maxBytes: maxSize } = this.limits;
    this.#sessions = new BoundedMap({ max: maxSessions, maxSize, sizeOf: (s) => s.bytes + 512 });
    this.#transactions = new BoundedMap({
      max: 100_000,
      maxSize,
      sizeOf: ({ transaction }) => entriesSize([...transaction.overlay.values()].flat()),
    });
    this.#listings = new BoundedMap({ max: 10_000, maxSize, sizeOf: ({ overlay }) => entriesSize(overlay) });
  }

  /** Sessions kept now. */
  get size(): number {
    return this.#sessions.count;
  }

  get(id: string): KeptSession | undefined {
    return this.#sessions.get(id);
  }

  /** A new session under a new id (P8), incomplete up to `complete`; {@link touch} puts it into the store. */
  create(state: KeptState): KeptSession {
    return new KeptSession(this.options.newId(), state, this.limits, this.options.session);
  }

  /**
   * Goes on with a session that another node kept, under an id of its own (P8). Copies that this node has adopted
   * before, and writes made here since, stay.
   */
  adopt(from: string, seen: Snapshot, copy: CacheCopy): KeptSession {
    const session = this.adopted(from) ?? this.create({ ...copy, seen });
    session.merge(copy);
    this.touch(session);
    this.#moved.set(from, session.id);
    return session;
  }

  /** The session that goes on here under another id, if it contains at least `changes` changes of the original. */
  adopted(from: string, changes = 0): KeptSession | undefined {
    const id = this.#moved.get(from);
    const session = id === undefined ? undefined : this.#sessions.get(id);
    return session !== undefined && session.contained >= changes ? session : undefined;
  }

  /** Sessions whose own writes are not all visible at this stable time. */
  unstable(ust: Timestamp): KeptSession[] {
    const sessions = [...this.#sessions.entries()].map(([, session]) => session);
    return sessions.filter((session) => session.entries().some(({ ct }) => ct > ust));
  }

  /** Open transactions that show own writes above their snapshot. */
  overlaid(): [TxId, OpenTransaction][] {
    const all = [...this.#transactions.entries()].map(([id, { transaction }]) => [id, transaction] as const);
    return all.filter(([, { overlay }]) => overlay.size > 0).map(([id, transaction]) => [id, transaction]);
  }

  /**
   * Keeps a session that is new or has changed, and counts its bytes anew. A session evicted meanwhile comes back: it
   * is complete in itself.
   */
  touch(session: KeptSession): void {
    this.#sessions.set(session.id, session);
  }

  drop({ id }: KeptSession): void {
    this.#sessions.delete(id);
  }

  openTransaction(id: TxId): OpenTransaction | undefined {
    const entry = this.#transactions.get(id);
    if (entry === undefined || this.options.now() <= entry.until) return entry?.transaction;
    this.#transactions.delete(id);
    return undefined;
  }

  /** Keeps it longer than its lease: its coordinator ends it, and reports that it has expired. */
  keepTransaction(id: TxId, transaction: OpenTransaction, lifetimeMs: number): void {
    this.#transactions.set(id, { transaction, until: this.options.now() + lifetimeMs + TRANSACTION_GRACE_MS });
  }

  dropTransaction(id: TxId): void {
    this.#transactions.delete(id);
  }

  /** Own writes of a principal that later pages of its listing still have to show. */
  keepListing(overlay: readonly CacheEntry[], holder: string): string {
    const id = this.options.newId();
    this.#listings.set(id, { overlay, holder });
    return id;
  }

  /** Undefined for another principal's listing, too. */
  listing(id: string, holder: string): readonly CacheEntry[] | undefined {
    const listing = this.#listings.get(id);
    return listing?.holder === holder ? listing.overlay : undefined;
  }
}
