/**
 * Write counters (OF1): a client that queues its writes numbers the commits of a queue 1, 2, … A commit writes its
 * number beside its other writes, in each partition that it writes to. Keys of counters are no client's.
 */
import type { Content, PartitionId, QualifiedKey, TxId } from './ids.js';
import type { KeyWrite } from './versions.js';

/** The keyspace of counters: every topology has it, in all partitions, and no client may name it. */
export const COUNTERS = '~';
const PREFIX = `${COUNTERS}/`;

const QUEUE_ID = /^[A-Za-z0-9_-]{22}$/;
/** Whether a text has the form of a queue's id: 128 random bits. */
export const isQueueId = (text: string): boolean => QUEUE_ID.test(text);

/** The place of a commit in the queue of its client. */
export interface QueuePlace {
  readonly id: string;
  /** From 1 on. */
  readonly n: number;
}

/** The number of a commit, and the key of its counter in one partition. */
export interface CommitCounter {
  readonly key: QualifiedKey;
  readonly n: number;
}

/** The content of a counter: the last commit of the queue that has written to the partition. */
export interface CounterValue {
  readonly n: number;
  readonly tx: TxId;
}

/** @param holder the principal that sends the commits: no other principal can name its counters */
export const counterKey = (partition: PartitionId, holder: string, queue: string): QualifiedKey =>
  `${PREFIX}${partition}/${holder}/${queue}`;

/** Whether a key is that of a counter. */
export const isCounterKey = (key: QualifiedKey): boolean => key.startsWith(PREFIX);

/** The partition that the key of a counter names; undefined for any other key. */
export function counterPartition(key: QualifiedKey): PartitionId | undefined {
  const named = /^~\/(\d{1,9})\/.*\/[^/]+$/s.exec(key)?.[1];
  return named === undefined ? undefined : Number(named);
}

/** The write of a counter. */
export const counterWrite = (key: QualifiedKey, n: number, tx: TxId): KeyWrite => ({
  key,
  value: `{"n":${n},"tx":"${tx}"}`,
});

const VALUE = /^\{"n":(\d{1,10}),"tx":"([^"\\]*)"\}$/;

/** The content of a counter; undefined for any other value. */
export function counterValueOf(value: Content): CounterValue | undefined {
  const [, n, tx] = (typeof value === 'string' && VALUE.exec(value)) || [];
  return n === undefined || tx === undefined ? undefined : { n: Number(n), tx };
}

/** The counter in a slice, whose last write it is; undefined where the commit is not counted. */
export function counterIn(writes: readonly KeyWrite[], partition: PartitionId): CommitCounter | undefined {
  const last = writes.at(-1);
  if (last === undefined || !isCounterKey(last.key) || counterPartition(last.key) !== partition) return undefined;
  const value = counterValueOf(last.value);
  return value && { key: last.key, n: value.n };
}
