/**
 * A session of interactive transactions (PaRiS Algorithm 1): pure state, no clock, no I/O. The SDKs hold one; the
 * server holds one for a plain HTTP caller. Its record of the snapshots that it has seen is the protocol's
 * (`SessionRules`).
 *
 * Deviations: P7 (the read set includes absent keys; a cache entry is used exactly when its `ct` is above this
 * transaction's snapshot; the cache is frozen at a transaction's start and pruned at the minimum snapshot of the open
 * transactions), P8 (several transactions open, one commit in flight; the client makes the transaction ids).
 *
 * Invariants: PS1 neither the session's `seen` nor its `hwt` ever falls. PS2 every transaction's snapshot is at least
 * the session's `seen` at its start. PS3 no cache entry that an open transaction may need is pruned. PS4 at most one
 * commit is in flight.
 */
import {
  type Content,
  compose,
  type Deps,
  invariant,
  type KeyWrite,
  type QualifiedKey,
  type Timestamp,
  type TxId,
  txIdOf,
  Update,
  type Value,
  type Version,
} from '@isochron/core';
import {
  type CommitAttempt,
  type CommitPlace,
  type OwnCommit,
  OwnCommits,
  type OwnState,
  type SentPlace,
} from './own-commits.js';
import type { Snapshot } from './snapshots.js';
import { type CachedWrite, type CacheView, laidOver, type OwnWrite, WriteCache } from './write-cache.js';

/** The differences between the sessions of protocols. */
export interface SessionRules {
  /** What a session has seen after two observations. */
  merge(seen: Snapshot, more: Snapshot): Snapshot;
  /** What it has seen after its transaction, which read from `snapshot`, has committed at `commit.ts`. */
  committed(seen: Snapshot, commit: Snapshot, snapshot: Snapshot): Snapshot;
  /**
   * What the commit of its transaction, which read from `snapshot`, depends on once the session has seen `seen`, with
   * the commits before it. Absent: on the snapshot, because `hwt` orders it behind those commits in every region.
   */
  depending?(snapshot: Snapshot, seen: Snapshot): Snapshot;
  /**
   * What it has seen after taking over the own writes of a copy of it that has seen `copy`. Absent if the writes'
   * timestamps suffice.
   */
  adopted?(seen: Snapshot, copy: Snapshot): Snapshot;
  /** Own writes that committed up to here are part of a snapshot; those above come from the session's cache. */
  covers(snapshot: Snapshot): Timestamp;
  /** What it has seen after learning that everything up to `ust` is in every region. Absent if that changes nothing. */
  stable?(seen: Snapshot, ust: Timestamp): Snapshot;
}

/** The whole session. */
export interface SessionState {
  readonly ust: Timestamp;
  /** The other entries of `seen`, under protocols that have them. */
  readonly deps?: Deps | undefined;
  readonly hwt: Timestamp;
  readonly cache: readonly (readonly [QualifiedKey, CachedWrite])[];
  /** The commits, where the session judges them by cuts (M10). */
  readonly own?: readonly OwnState[];
}

/** The result of a read: without a version, or for a tombstone, `value` is null. */
export interface ReadResult {
  readonly value: Value | null;
  /** Commit timestamp of the version; null for an absent key and for a write of this very transaction. */
  readonly ts: Timestamp | null;
}

/** The part of a commit that the session remembers. */
export type SentCommit = Pick<CommitAttempt, 'txId' | 'snapshot' | 'deps' | 'writes'>;

/** For a snapshot of the past, which is read without own writes. */
const WITHOUT_CACHE = { covers: ({ ts }: Snapshot): Timestamp => ts };

/** One transaction of a session. */
export class SessionTransaction {
  readonly #cache: CacheView;
  readonly #reads = new Map<QualifiedKey, ReadResult>();
  readonly #writes = new Map<QualifiedKey, Content>();
  #snapshot: Snapshot | undefined;
  /** Own writes up to here are part of the snapshot. */
  #covered: Timestamp = 0;

  constructor(
    readonly id: TxId,
    /** Lowest snapshot that the transaction may be given: the session's `seen` at the start. */
    readonly seen: Snapshot,
    cache: CacheView,
    readonly rules: Pick<SessionRules, 'covers'> = WITHOUT_CACHE,
  ) {
    this.#cache = cache;
  }

  /** The snapshot, once the coordinator has assigned it. */
  get snapshot(): Timestamp | undefined {
    return this.#snapshot?.ts;
  }

  /** The snapshot, or the lowest one that the coordinator may assign. */
  get read(): Snapshot {
    return this.#snapshot ?? this.seen;
  }

  /** Own writes up to here are part of any snapshot that it has or will be given. */
  get covered(): Timestamp {
    return this.#snapshot === undefined ? this.rules.covers(this.seen) : this.#covered;
  }

  get hasWrites(): boolean {
    return this.#writes.size > 0;
  }

  get writes(): readonly KeyWrite[] {
    return [...this.#writes].map(([key, value]) => ({ key, value }));
  }

  /** Alg. 1 lines 3–4. */
  started(snapshot: Snapshot): void {
    invariant(snapshot.ts >= this.seen.ts, () => `snapshot ${snapshot.ts} is below what was seen, ${this.seen.ts}`);
    invariant(this.#snapshot === undefined || this.#snapshot.ts === snapshot.ts, 'a snapshot never changes');
    this.#snapshot = snapshot;
    this.#covered = this.rules.covers(snapshot);
  }

  /**
   * Alg. 1 line 11: write set, read set, write cache. Undefined: ask the coordinator, also for the document below own
   * updates (F5).
   */
  lookup(key: QualifiedKey): ReadResult | undefined {
    const written = this.#writes.get(key);
    if (written !== undefined && !(written instanceof Update)) return { value: written, ts: null };
    const below = this.#reads.get(key) ?? this.#cached(key);
    return below === undefined || written === undefined ? below : updated(below, written);
  }

  /**
   * Alg. 1 lines 16–19: takes the coordinator's answer for a key into the read set and returns the transaction's view
   * of it.
   */
  record(key: QualifiedKey, version: Version | null): ReadResult {
    const written = this.#writes.get(key);
    if (written !== undefined && !(written instanceof Update)) return { value: written, ts: null };
    const served = { value: version?.value ?? null, ts: version?.ts ?? null };
    const seen = this.#reads.get(key) ?? this.#cached(key, served.value) ?? served;
    this.#reads.set(key, seen);
    return written === undefined ? seen : updated(seen, written);
  }

  /** Alg. 1 lines 21–25. Null deletes; an update follows the writes of the key before it (F5). */
  write(key: QualifiedKey, value: Content): void {
    const older = value instanceof Update ? this.#writes.get(key) : undefined;
    this.#writes.set(key, older === undefined || !(value instanceof Update) ? value : compose(older, value));
  }

  /**
   * Own writes, in this transaction and before it, that lie above the snapshot, in their order: a listing lays them
   * over the documents of its pages (`laidOver`). Those of this transaction have no timestamp.
   */
  overlay(): Map<QualifiedKey, readonly OwnWrite[]> {
    const overlay = new Map<QualifiedKey, readonly OwnWrite[]>();
    for (const key of [...this.#cache.keys(), ...this.#writes.keys()]) {
      const own = this.own(key);
      if (own.length > 0) overlay.set(key, own);
    }
    return overlay;
  }

  /** The own writes of one key in {@link overlay}. */
  own(key: QualifiedKey): readonly OwnWrite[] {
    const value = this.#writes.get(key);
    return value === undefined ? this.#above(key) : [...this.#above(key), { value }];
  }

  /** The document that own writes before this transaction give over the one below them; undefined if that is needed. */
  #cached(key: QualifiedKey, below?: Value | null): ReadResult | undefined {
    const writes = this.#above(key);
    const value = writes.length === 0 ? undefined : laidOver(below, writes);
    return value === undefined ? undefined : { value, ts: writes.at(-1)!.ct };
  }

  /** Own writes of a key before this transaction that the snapshot does not contain. */
  #above(key: QualifiedKey): readonly CachedWrite[] {
    const cached = this.#snapshot === undefined ? undefined : this.#cache.get(key);
    if (cached === undefined || cached.at(-1)!.ct <= this.#covered) return NO_WRITES;
    return cached[0]!.ct > this.#covered ? cached : cached.filter(({ ct }) => ct > this.#covered);
  }
}

const NO_WRITES: readonly CachedWrite[] = [];

/** Absent without any commits. */
const ownOf = (own: OwnCommits): Pick<SessionState, 'own'> => {
  const commits = own.export();
  return commits.length === 0 ? {} : { own: commits };
};

/** A document after an update of this transaction. */
const updated = (below: ReadResult, update: Update): ReadResult => ({
  value: laidOver(below.value, [{ value: update }]) ?? null,
  ts: null,
});

export class Session {
  #seen: Snapshot;
  /** The highest stable time known to it: its commits are not older (D5). */
  #stable: Timestamp = 0;
  #hwt: Timestamp;
  readonly #cache: WriteCache;
  /** The commits above stable time, in a session that receives cuts. */
  readonly own: OwnCommits;
  readonly #open = new Set<SessionTransaction>();
  #committing: { tx: SessionTransaction; attempt: CommitAttempt } | undefined;
  #counter = 0;
  #id: string;

  /**
   * @param id 128 random bits as text, never used by another session: a session that is imported gets a new one (P8).
   */
  constructor(
    id: string,
    readonly rules: SessionRules,
    state: SessionState = { ust: 0, hwt: 0, cache: [] },
  ) {
    this.#id = id;
    this.#seen = { ts: state.ust, deps: state.deps };
    this.#hwt = state.hwt;
    this.#cache = new WriteCache(state.cache);
    const writesOf = (txId: TxId) => state.cache.flatMap(([, write]) => (write.txId === txId ? write : []));
    const { own = [] } = state;
    this.own = new OwnCommits(own.map((one) => ({ ...one, writes: writesOf(one.sent.txId) })));
    this.#cache.prune(rules.covers(this.#seen));
  }

  /** The prefix of every transaction id that it makes. */
  get id(): string {
    return this.#id;
  }

  /** What the session has seen: no later snapshot may lie below. */
  get seen(): Snapshot {
    return this.#seen;
  }

  /** Its timestamp: under PaRiS the highest stable snapshot. */
  get ust(): Timestamp {
    return this.#seen.ts;
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
    return txIdOf(this.#id, this.#counter++);
  }

  /** Alg. 1 lines 1–5, the client's half: the snapshot follows with `started`. */
  begin(): SessionTransaction {
    const tx = new SessionTransaction(this.nextTxId(), this.#seen, this.#cache.freeze(), this.rules);
    this.#open.add(tx);
    return tx;
  }

  /** The coordinator's answer to a start (Alg. 1 lines 3–6). */
  started(tx: SessionTransaction, ts: Timestamp, deps?: Deps): void {
    const snapshot = { ts, deps };
    tx.started(snapshot);
    this.observe(snapshot);
  }

  /** A snapshot from any trustworthy source. */
  observe(snapshot: Snapshot): void {
    if (!this.isBehind) this.#seen = this.rules.merge(this.#seen, snapshot);
    this.#prune();
  }

  /** A stable time from any trustworthy source. */
  stable(ust: Timestamp): void {
    if (ust > this.#stable) this.#stable = ust;
    if (!this.isBehind) this.#seen = this.rules.stable?.(this.#seen, ust) ?? this.#seen;
    this.#prune();
  }

  /** The transaction ended, with or without a commit. */
  end(tx: SessionTransaction): void {
    this.#open.delete(tx);
    if (this.#open.size === 0) this.#cache.thaw();
    this.#prune();
  }

  /**
   * The content of a commit that will follow the one in flight, above it. It begins with `commit` once that is decided.
   */
  attempt(tx: SessionTransaction): CommitAttempt {
    const { ts: snapshot, deps } = this.rules.depending?.(tx.read, this.#seen) ?? tx.read;
    return {
      txId: tx.id,
      snapshot,
      deps,
      hwt: this.#hwt,
      sentAfter: Math.max(this.#seen.ts, this.#stable),
      writes: tx.writes,
    };
  }

  /** Alg. 1 line 27. The result is sent, and sent again, until the outcome is known. */
  commit(tx: SessionTransaction): CommitAttempt {
    invariant(this.#committing === undefined, 'one commit in flight (P8)');
    const attempt = this.attempt(tx);
    this.#committing = { tx, attempt };
    return attempt;
  }

  /**
   * Whether commits of the session are deferred: until they are committed again, it reads what it has seen, and nothing
   * newer (M10).
   */
  get isBehind(): boolean {
    return this.own.deferred.length > 0;
  }

  /** Alg. 1 lines 28–31. @param place known under protocols whose sessions judge their commits by cuts (M10) */
  committed(ts: Timestamp, deps?: Deps, place?: SentPlace): void {
    const { tx, attempt } = this.#takeCommitting();
    const writes = this.#add(attempt, { ts, deps });
    if (place !== undefined)
      this.own.add({ ...place, sent: attempt, acknowledged: ts, ct: ts, writes, isDeferred: false });
    this.end(tx);
  }

  /** A deferred commit is committed again. */
  committedAgain(commit: OwnCommit, ts: Timestamp, place: CommitPlace): void {
    this.own.again(commit, ts, place);
    if (ts > this.#hwt) this.#hwt = ts;
    this.#prune();
  }

  /** Alg. 1 lines 28–31, of a commit as it was sent: by this session, or by another request that continues it. */
  learn(sent: SentCommit, commit: Snapshot): void {
    this.#add(sent, commit);
    this.#prune();
  }

  #add({ txId, snapshot: ts, deps, writes }: SentCommit, commit: Snapshot): readonly CachedWrite[] {
    const { ts: ct } = commit;
    if (ct > this.#hwt) this.#hwt = ct;
    this.#seen = this.rules.committed(this.#seen, commit, { ts, deps });
    return writes.map(({ key, value }) => {
      const write = { ct, txId, value };
      this.#cache.add(key, write);
      return write;
    });
  }

  /** The commit is known to have had no effect. */
  refused(): void {
    this.end(this.#takeCommitting().tx);
  }

  /**
   * Gives up the order behind the commit in flight: from now on this is another session, which has seen everything that
   * the old one has seen and written but does not follow that commit. The outcome of the commit changes nothing here.
   * @param id of the new session, as for a new one (P8)
   */
  detach(id: string): void {
    this.refused();
    this.#id = id;
    this.#counter = 0;
  }

  /** Ends the flight of a commit: its outcome is known, or given up. */
  #takeCommitting(): { readonly tx: SessionTransaction; readonly attempt: CommitAttempt } {
    const committing = this.#committing;
    invariant(committing !== undefined, 'no commit is in flight');
    this.#committing = undefined;
    return committing;
  }

  /** The whole session, to continue elsewhere (D9). */
  export(): SessionState {
    const { ts: ust, deps } = this.#seen;
    return { ust, deps, hwt: this.#hwt, cache: [...this.#cache.entries()], ...ownOf(this.own) };
  }

  #prune(): void {
    this.own.prune(Math.max(this.#stable, this.rules.covers(this.#seen)));
    if (this.#cache.size === 0) return;
    let floor = this.rules.covers(this.#seen);
    for (const tx of this.#open) floor = Math.min(floor, tx.covered);
    this.#cache.prune(floor);
  }
}
