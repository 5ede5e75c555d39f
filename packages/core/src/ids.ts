/** The names of entities. All are plain strings and numbers on the wire and on disk; the aliases distinguish them. */
import { Update } from './updates/update.js';

/** A region's id in the cluster file, for example `virginia` (the papers' DC m). */
export type RegionId = string;
/** One server process, for example `virginia-1`. */
export type NodeId = string;
/** Position of a partition (the papers' n) among all partitions of all keyspaces, in the order of the cluster file. */
export type PartitionId = number;
/** A transaction's id: 128 random session bits and a counter, made by the client (P8). */
export type TxId = string;
/** A hybrid logical timestamp, see {@link ./hlc.ts}. A safe integer. */
export type Timestamp = number;
/**
 * The dependencies of a version or a snapshot beside its timestamp: entries whose meaning a protocol fixes (Wren: the
 * remote dependency time; Cure: one entry for each region). Protocols with one timestamp have none: then it is absent,
 * never empty.
 */
export type Deps = readonly Timestamp[];
/** A version that another version depends on, where dependencies name keys: `source` wrote it at `ts`. */
export interface Dependency {
  readonly key: QualifiedKey;
  /** Position of its region in the cluster file. */
  readonly source: number;
  readonly ts: Timestamp;
  /** No other dependency is known to depend on it: a region with all nearest dependencies has all dependencies. */
  readonly near?: boolean | undefined;
}
/** Wall-clock milliseconds since 1970. */
export type WallMs = number;
/**
 * A key with its keyspace in front: `default/todos/1`. A keyspace name holds no slash, so the first slash divides the
 * two.
 */
export type QualifiedKey = string;
/** A stored value: JSON text as a string, or raw bytes. Protocols never look inside. */
export type Value = string | Uint8Array;
/** What a write stores: a value, an update of the document below it, or null, which deletes. */
export type Content = Value | Update | null;

/**
 * One version of a key as replicas store it: the paper's item `<k, v, ut, id_T, sr>` without its key. A `null` value is
 * a tombstone.
 */
export interface StoredVersion {
  readonly ts: Timestamp;
  readonly txId: TxId;
  readonly region: RegionId;
  readonly value: Content;
  readonly deps?: Deps | undefined;
  /** Absent, never empty. */
  readonly depends?: readonly Dependency[] | undefined;
  /**
   * Other partitions that its transaction wrote on the same node, ascending; absent, never empty. When that node loses
   * its disk, its peers find by this which of their versions belong to a transaction that lost a part (D10).
   */
  readonly siblings?: readonly PartitionId[] | undefined;
  /**
   * The time by which a late write is judged (F9): the first commit timestamp of its transaction. In a fold, the time
   * of the last change. Absent where it is `ts`.
   */
  readonly at?: Timestamp | undefined;
}

/**
 * A version as reads return it: if the newest one of the snapshot is an update, its identity with the document that the
 * fold of the snapshot gives; null without a document.
 */
export interface Version extends StoredVersion {
  readonly value: Value | null;
  /** The version that made the document which later updates changed; absent when this version is itself the origin. */
  readonly origin?: Origin | undefined;
}

/** Whether the value of a version does not depend on the versions below it: neither an update nor a late write. */
export const isPlain = (version: StoredVersion): version is Version =>
  version.at === undefined && !(version.value instanceof Update);

/** The time of the change that a version makes (F9). */
export const timeOf = ({ ts, at = ts }: Pick<StoredVersion, 'ts' | 'at'>): Timestamp => at;

/** The identity of a version within its key. */
export type Origin = Pick<StoredVersion, 'ts' | 'txId'>;

/** Total order of versions, last writer wins: `(ts, txId, region)`. Negative when `a` is older. */
export function compareVersions(
  a: Pick<StoredVersion, 'ts' | 'txId' | 'region'>,
  b: Pick<StoredVersion, 'ts' | 'txId' | 'region'>,
): number {
  if (a.ts !== b.ts) return a.ts - b.ts;
  if (a.txId !== b.txId) return a.txId < b.txId ? -1 : 1;
  if (a.region !== b.region) return a.region < b.region ? -1 : 1;
  return 0;
}

/** Joins keyspace and key. */
export const qualify = (keyspace: string, key: string): QualifiedKey => `${keyspace}/${key}`;

/** Splits a qualified key at its first slash. */
export function unqualify(qualified: QualifiedKey): { keyspace: string; key: string } {
  const slash = qualified.indexOf('/');
  return { keyspace: qualified.slice(0, slash), key: qualified.slice(slash + 1) };
}

/** Builds the id of a session's `counter`-th transaction. */
export const txIdOf = (session: string, counter: number): TxId => `${session}.${counter.toString(36)}`;

const TX_ID = /^[A-Za-z0-9_-]{16,64}\.[0-9a-z]{1,11}$/;
/** Whether a string from outside is shaped like a transaction id. */
export const isTxId = (text: string): boolean => TX_ID.test(text);
