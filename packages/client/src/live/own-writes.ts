/**
 * The client's own writes above the position, in the session's order (LQ2): those that wait or are under way, and
 * committed ones. A committed write stays until the position, not the session's snapshot, has passed it.
 */
import type { Content, QualifiedKey, Timestamp, TxId } from '@isochron/core/ids';
import type { CachedWrite, OwnWrite } from '@isochron/protocols/kernel/transactions/write-cache';
import type { QueueEntry, WriteFollower } from '../session/queue-entry.js';

/**
 * One own write. Until it has committed, its timestamp is the expected one: so `serverTimestamp` gives a document the
 * place in queries at once that it is going to have.
 */
class Own implements OwnWrite {
  constructor(
    readonly key: QualifiedKey,
    readonly value: Content,
    public ct: Timestamp,
    public txId: TxId = '',
  ) {}
}

const NONE: readonly Own[] = [];

export interface OwnWritesEvents {
  /** The timestamp that a write would get now, as far as the client knows: above all that it has seen. */
  expected(): Timestamp;
  /** The own writes of these keys have changed. */
  changed(keys: Iterable<QualifiedKey>): void;
  /** An outcome has become known, or does not matter any more. */
  decided(): void;
}

export class OwnWrites implements WriteFollower {
  readonly #byKey = new Map<QualifiedKey, readonly Own[]>();
  readonly #undecided = new Map<QueueEntry, readonly Own[]>();
  /** Committed writes above the position, in the order of their timestamps. */
  #committed: Own[] = [];
  #position: Timestamp = 0;

  /**
   * @param cache the session's committed writes that its snapshots may lack, each key's in their order
   * @param undecided the session's other writes, in their order
   */
  constructor(
    cache: Iterable<readonly [QualifiedKey, CachedWrite]>,
    undecided: Iterable<QueueEntry>,
    readonly events: OwnWritesEvents,
  ) {
    for (const [key, { ct, txId, value }] of cache) {
      const own = new Own(key, value, ct, txId);
      this.#add(own);
      this.#committed.push(own);
    }
    this.#committed.sort((a, b) => a.ct - b.ct);
    for (const entry of undecided) this.called(entry);
  }

  /** The own writes of a key, in their order. */
  of(key: QualifiedKey): readonly OwnWrite[] {
    return this.#byKey.get(key) ?? NONE;
  }

  /** The keys with own writes. */
  keys(): IterableIterator<QualifiedKey> {
    return this.#byKey.keys();
  }

  called(entry: QueueEntry): void {
    const ct = this.events.expected();
    const writes = (entry.writes ?? []).map(({ key, value }) => new Own(key, value, ct));
    if (writes.length === 0) return;
    for (const own of writes) this.#add(own);
    this.#undecided.set(entry, writes);
    this.events.changed(writes.map(({ key }) => key));
  }

  committed(entry: QueueEntry, ct: Timestamp, txId: TxId): void {
    const writes = this.#take(entry);
    for (const own of writes) {
      if (ct <= this.#position) this.#remove(own);
      else {
        Object.assign(own, { ct, txId });
        this.#committed.push(own);
      }
    }
    this.events.changed(writes.map(({ key }) => key));
    this.events.decided();
  }

  moved(txId: TxId, ct: Timestamp): void {
    for (const own of this.#committed) if (own.txId === txId) own.ct = ct;
    this.#committed.sort((a, b) => a.ct - b.ct);
  }

  resumed(): void {
    this.events.decided();
  }

  dropped(entry: QueueEntry): void {
    const writes = this.#take(entry);
    for (const own of writes) this.#remove(own);
    this.events.changed(writes.map(({ key }) => key));
    this.events.decided();
  }

  /** The documents contain everything up to here. Returns the keys of the own writes that are no longer above them. */
  passed(position: Timestamp): readonly QualifiedKey[] {
    this.#position = position;
    let passed = 0;
    while (passed < this.#committed.length && this.#committed[passed]!.ct <= position) passed++;
    const gone = this.#committed.splice(0, passed);
    for (const own of gone) this.#remove(own);
    return gone.map(({ key }) => key);
  }

  #take(entry: QueueEntry): readonly Own[] {
    const writes = this.#undecided.get(entry) ?? NONE;
    this.#undecided.delete(entry);
    return writes;
  }

  #add(own: Own): void {
    this.#byKey.set(own.key, [...(this.#byKey.get(own.key) ?? NONE), own]);
  }

  #remove(own: Own): void {
    const left = this.#byKey.get(own.key)!.filter((one) => one !== own);
    if (left.length === 0) this.#byKey.delete(own.key);
    else this.#byKey.set(own.key, left);
  }
}
