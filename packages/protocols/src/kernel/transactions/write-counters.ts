/**
 * Write counters (OF1, OF2): what a cohort knows of a commit whose outcome is not kept any more. The counter of a queue
 * in a partition has the number of the last commit of the queue there. A queue sends a commit when the commit before is
 * decided, so a higher number shows that all lower ones are.
 */
import {
  type CommitCounter,
  counterIn,
  counterKey,
  counterValueOf,
  counterWrite,
  IsochronError,
  isCounterKey,
  type KeyWrite,
  MAX_TIMESTAMP,
  type PartitionId,
  type QualifiedKey,
  type Timestamp,
  type Topology,
  TransientMap,
  type TxId,
} from '@isochron/core';
import type { WriteSeq } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import type { CommitReq } from './messages.js';

/** A commit of a queue, as a counter names it: committed at this timestamp, or proposed. */
interface CountedCommit {
  readonly n: number;
  readonly tx: TxId;
  readonly ts: Timestamp;
}

/** What the counter shows of a commit: of a higher number, only an upper bound of its timestamp. */
export type Counted =
  | { readonly is: 'committed'; readonly ts: Timestamp; readonly shownBy: 'equal' | 'above' }
  | { readonly is: 'reused' }
  | { readonly is: 'new' };

/** The writes of each partition; in a counted commit, the last is the counter. */
export function slicesOf(request: SlicedRequest, topology: Topology): Map<PartitionId, KeyWrite[]> {
  const { txId, principal, writes, queue, digests } = request;
  const slices = new Map<PartitionId, KeyWrite[]>();
  for (const write of writes) {
    // A deferred transaction has its counters among its writes.
    if (digests === undefined && isCounterKey(write.key))
      throw new IsochronError('KEYSPACE_UNKNOWN', 'No client writes a counter.');
    const partition = topology.partitionOf(write.key);
    const slice = slices.get(partition);
    if (slice === undefined) slices.set(partition, [write]);
    else slice.push(write);
  }
  if (queue !== undefined)
    for (const [partition, slice] of slices)
      slice.push(counterWrite(counterKey(partition, principal, queue.id), queue.n, txId));
  return slices;
}

type SlicedRequest = Pick<CommitReq, 'txId' | 'principal' | 'writes' | 'queue' | 'digests'>;

/** The counters of some transactions of a partition. */
export class CounterIndex {
  readonly #byKey = new TransientMap<QualifiedKey, readonly CountedCommit[]>();

  constructor(readonly partition: PartitionId) {}

  add(tx: TxId, writes: readonly KeyWrite[], ts: Timestamp): void {
    const counter = counterIn(writes, this.partition);
    if (counter !== undefined) this.addAt(counter.key, { n: counter.n, tx, ts });
  }

  addAt(key: QualifiedKey, commit: CountedCommit): void {
    this.#byKey.set(key, [...this.at(key), commit]);
  }

  remove(tx: TxId, writes: readonly KeyWrite[]): void {
    const counter = counterIn(writes, this.partition);
    if (counter !== undefined) this.removeAt(counter.key, tx);
  }

  removeAt(key: QualifiedKey, tx: TxId): void {
    const left = this.at(key).filter((one) => one.tx !== tx);
    if (left.length === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, left);
  }

  at(key: QualifiedKey): readonly CountedCommit[] {
    return this.#byKey.get(key) ?? [];
  }
}

/** Counters whose records are on their way to the store, which does not show them yet. */
class WrittenCounters {
  readonly index: CounterIndex;
  /** In the order of their records. */
  readonly #waiting: { readonly key: QualifiedKey; readonly tx: TxId; readonly seq: WriteSeq }[] = [];

  constructor(partition: PartitionId) {
    this.index = new CounterIndex(partition);
  }

  add(key: QualifiedKey, commit: CountedCommit, seq: WriteSeq): void {
    this.index.addAt(key, commit);
    this.#waiting.push({ key, tx: commit.tx, seq });
  }

  persisted(upTo: WriteSeq): void {
    let durable = 0;
    while (durable < this.#waiting.length && this.#waiting[durable]!.seq <= upTo) durable++;
    for (const { key, tx } of this.#waiting.splice(0, durable)) this.index.removeAt(key, tx);
  }
}

export class WriteCounters {
  readonly #applied: WrittenCounters;
  readonly #takenBack: WrittenCounters;

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    /** Of the transactions that are undecided or not applied. */
    readonly undecided: readonly CounterIndex[],
  ) {
    this.#applied = new WrittenCounters(partition);
    this.#takenBack = new WrittenCounters(partition);
  }

  /** A transaction is applied, with the record of this number. */
  applied(tx: TxId, writes: readonly KeyWrite[], ct: Timestamp, seq: WriteSeq): void {
    const counter = counterIn(writes, this.partition);
    if (counter !== undefined) this.#applied.add(counter.key, { n: counter.n, tx, ts: ct }, seq);
  }

  /** The versions of a transaction are removed, with records up to this number. */
  takenBack(tx: TxId, keys: readonly QualifiedKey[], ts: Timestamp, seq: WriteSeq): void {
    const key = keys.find(isCounterKey);
    if (key === undefined) return;
    this.#applied.index.removeAt(key, tx);
    this.#takenBack.add(key, { n: 0, tx, ts }, seq);
  }

  persisted(upTo: WriteSeq): void {
    this.#applied.persisted(upTo);
    this.#takenBack.persisted(upTo);
  }

  /** What the newest version of its counter shows of a commit that has no outcome here (OF2). */
  judge({ key, n }: CommitCounter, txId: TxId): Counted {
    let newest = this.#stored(key);
    for (const counters of [this.#applied.index, ...this.undecided])
      for (const other of counters.at(key)) if (newest === undefined || other.n > newest.n) newest = other;
    if (newest === undefined || newest.n < n) return { is: 'new' };
    // The commit of the higher number lies above all that its client had seen, so also above this one.
    if (newest.n > n) return { is: 'committed', ts: newest.ts - 1, shownBy: 'above' };
    return newest.tx === txId ? { is: 'committed', ts: newest.ts, shownBy: 'equal' } : { is: 'reused' };
  }

  #stored(key: QualifiedKey): CountedCommit | undefined {
    const { partition, state } = this;
    const gone = this.#takenBack.index.at(key);
    const version =
      gone.length === 0
        ? state.reader.read(partition, key, MAX_TIMESTAMP)
        : state.reader.find(partition, key, ({ ts, txId }) => !gone.some((one) => one.tx === txId && one.ts === ts));
    const value = version && counterValueOf(version.value);
    return value && { ...value, ts: version.ts };
  }
}
