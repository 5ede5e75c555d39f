import type {
  Content,
  Dependency,
  Deps,
  PartitionId,
  QualifiedKey,
  RegionId,
  StoredVersion,
  Timestamp,
  TxId,
  Value,
  Version,
} from './ids.js';
import { invariant } from './invariant.js';
import type { Need } from './needs.js';
import { Update } from './updates/update.js';

/** Part of a partition's key order (by UTF-8 bytes): from `start` on, below `end`, at most `limit` keys. */
export interface ListRange {
  /** First key that may be listed. */
  readonly start: QualifiedKey;
  /** First key that may no longer be listed; null for the end of the partition. */
  readonly end: QualifiedKey | null;
  /** Most keys to return, at least 1. */
  readonly limit: number;
  /** Only keys of this level, see {@link levelOf}; absent for all. */
  readonly level?: number | undefined;
}

/** The number of segments of a key without its keyspace: 2 for `default/boards/7`, a document of a collection. */
export function levelOf(key: QualifiedKey): number {
  let level = 0;
  for (let at = key.indexOf('/'); at >= 0; at = key.indexOf('/', at + 1)) level++;
  return level;
}

/** Whether a key is of a level; where that is absent, every key is. */
export const isOfLevel = (level: number | undefined, key: QualifiedKey): boolean =>
  level === undefined || levelOf(key) === level;

/** What a page of all levels has of the range's level; the next page begins behind what is below its last document. */
export function pageOfLevel({ entries, next }: ListPage, { level, end }: ListRange): ListPage {
  if (level === undefined) return { entries, next };
  const own = entries.filter(({ key }) => isOfLevel(level, key));
  if (next === null || levelOf(next) <= level) return { entries: own, next };
  const document = next.split('/', level + 1).join('/');
  // '0' is the character behind '/'.
  const behind = `${document}0`;
  return { entries: own, next: end !== null && compareKeys(behind, end) >= 0 ? null : behind };
}

/** Keys with a value in the snapshot, in order. `next` is where the following page starts, null after the last page. */
export interface ListPage {
  readonly entries: readonly { readonly key: QualifiedKey; readonly version: Version }[];
  readonly next: QualifiedKey | null;
}

/** One write of a transaction. */
export interface KeyWrite {
  readonly key: QualifiedKey;
  readonly value: Content;
}

/** Length of the text or the bytes of a content; 0 for a delete. */
export function contentLength(content: Content): number {
  if (content === null) return 0;
  return content instanceof Update ? content.operations.length : content.length;
}

/** The value of a content that is no update. */
export function plainValue(content: Content): Value | null {
  invariant(!(content instanceof Update), 'an update is folded before it is read');
  return content;
}

/** Estimate of the memory that writes take, in bytes. */
export const writesBytes = (writes: readonly KeyWrite[]): number =>
  writes.reduce((sum, { key, value }) => sum + key.length + contentLength(value) + 64, 0);

/** A transaction's writes on one partition, as they are logged and replicated. */
export interface LoggedTx {
  readonly txId: TxId;
  readonly writes: readonly KeyWrite[];
  /** Of all versions that it writes on the partition. */
  readonly deps?: Deps | undefined;
  readonly depends?: readonly Dependency[] | undefined;
  /** As in every version of it ({@link Version}). */
  readonly siblings?: readonly PartitionId[] | undefined;
  /**
   * The attempt that has committed, where each replica keeps the outcome: the request of the write may be repeated for
   * minutes under the same id (an Idempotency-Key), so that a cohort that loses its disk can ask for the outcome (D5,
   * D10), or a map may have deferred an earlier attempt (M8).
   */
  readonly attempt?: number | undefined;
  /** What the transaction needs beside the node that logs the slice; absent, never empty, without any. */
  readonly needs?: readonly Need[] | undefined;
  /** The first commit timestamp, of a late transaction (F9): each of its versions has it. */
  readonly at?: Timestamp | undefined;
}

/** All transactions of one commit timestamp on one partition: applied and replicated together (P4). */
export interface LogGroup {
  readonly ct: Timestamp;
  readonly txs: readonly LoggedTx[];
}

/** A range of a partition's replication log: every group with `after < ct <= upTo`, in order. */
export interface LogPage {
  readonly groups: readonly LogGroup[];
  /** The page is complete up to here; below the requested end when the page was cut to a limit. */
  readonly upTo: Timestamp;
}

/** A committed transaction in the log of a partition; `source` names another region that committed it. */
export interface Change {
  readonly ct: Timestamp;
  readonly tx: LoggedTx;
  readonly source?: RegionId | undefined;
}

/** A range of a partition's log with the transactions of all regions: all with `after < ct <= upTo`, in order. */
export interface ChangesPage {
  /** In the order of `(ct, txId)`. */
  readonly changes: readonly Change[];
  /** The page is complete up to here; below the requested end when the page was cut to a limit. */
  readonly upTo: Timestamp;
  /** The log lacks transactions at or below. */
  readonly truncatedUpTo: Timestamp;
}

/** Part of a partition with all its versions, for a replica that lost its disk (D10). */
export interface CopyPage {
  /** Whole chains in key order, each oldest first. */
  readonly chains: readonly { readonly key: QualifiedKey; readonly versions: readonly StoredVersion[] }[];
  /** Where the following page starts, null after the last page. */
  readonly next: QualifiedKey | null;
}

/**
 * Whether a version belongs to a snapshot that one timestamp does not describe. It is called only during the call that
 * it was passed to, in any order, perhaps more than once about the same version, and gives the same answer each time.
 */
export type Belongs = (version: StoredVersion) => boolean;

/**
 * The data that a message is going to read: the driver loads it into memory before it delivers the message.
 *
 * - `keys`: for `read`.
 * - `chains`: for `find`, which may look at any version of a key.
 * - `list`: for `list` with the same range; `any` for a list with a predicate.
 * - `log`, `changes`, `copy`: for the reads of the same names.
 */
export type ReadNeeds =
  | { readonly kind: 'keys'; readonly partition: PartitionId; readonly keys: readonly QualifiedKey[] }
  | { readonly kind: 'chains'; readonly partition: PartitionId; readonly keys: readonly QualifiedKey[] }
  | {
      readonly kind: 'list';
      readonly partition: PartitionId;
      readonly range: ListRange;
      readonly snapshot: Timestamp | 'any';
    }
  | {
      readonly kind: 'log' | 'changes';
      readonly partition: PartitionId;
      readonly after: Timestamp;
      readonly upTo: Timestamp;
    }
  | { readonly kind: 'copy'; readonly partition: PartitionId; readonly start: QualifiedKey };

/** The outcome of a transaction on a cohort. Kept until `forgottenUpTo` passes `ts` (D5). */
export interface OutcomeRecord {
  /** `deferred`: a map has taken the commit back (M4), and the transaction is undecided. */
  readonly status: 'committed' | 'aborted' | 'deferred';
  /** The commit timestamp; for an abort tombstone the clock at its writing. */
  readonly ts: Timestamp;
  /** The attempt that ended so (D4). */
  readonly attempt: number;
  /** Digest of the cohort's slice and principal; null for a tombstone of a transaction that never prepared here. */
  readonly digest: string | null;
}

/** The synchronous reads of a replica. A step never waits: all its data is in memory already. */
export interface VersionReader {
  /** The fold of the versions with `ts <= snapshot`, a tombstone included; undefined without such versions. */
  read(partition: PartitionId, key: QualifiedKey, snapshot: Timestamp): Version | undefined;
  /**
   * The fold of the versions that belong to a snapshot, in the order of `compareVersions`, a tombstone included;
   * undefined without such versions. It need not find versions that a rise of `gcFloor` may drop, by timestamp.
   */
  find(partition: PartitionId, key: QualifiedKey, belongs: Belongs): Version | undefined;
  /**
   * One page of the keys with a value (no tombstones) in the snapshot: those whose `read`, or `find`, would give one. A
   * page may be shorter than its limit, even empty, and yet name the next one.
   */
  list(partition: PartitionId, range: ListRange, snapshot: Timestamp | Belongs): ListPage;
  /** The partition's own committed transactions after a timestamp, which a peer may lack. */
  log(partition: PartitionId, after: Timestamp, upTo: Timestamp): LogPage;
  /** The committed transactions of all regions after a timestamp, where the protocol logs them. */
  changes(partition: PartitionId, after: Timestamp, upTo: Timestamp): ChangesPage;
  /**
   * All versions of the keys from `start` on, a page of them: at least all versions that were durable at the request.
   * It may still hold a version whose removal became durable after that.
   */
  copy(partition: PartitionId, start: QualifiedKey): CopyPage;
  /** The outcome of a transaction on this partition; undefined if not stored. */
  outcome(partition: PartitionId, txId: TxId): OutcomeRecord | undefined;
}

/** Order of keys by their UTF-8 bytes, the order of listings in memory and on disk. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    // A surrogate (a character above U+FFFF) sorts above every other code unit in UTF-8, but not in UTF-16.
    if (x !== y)
      return ((x & 0xf800) === 0xd800) !== ((y & 0xf800) === 0xd800) ? ((x & 0xf800) === 0xd800 ? 1 : -1) : x - y;
  }
  return a.length - b.length;
}

/** The first key above every key that begins with `prefix`; null when there is none. */
export function prefixEnd(prefix: string): string | null {
  const points = [...prefix];
  while (points.length > 0) {
    const last = points.pop()!.codePointAt(0)!;
    if (last < 0x10ffff) {
      const next = last + 1 === 0xd800 ? 0xe000 : last + 1;
      return points.join('') + String.fromCodePoint(next);
    }
  }
  return null;
}
