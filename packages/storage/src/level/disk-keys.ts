/**
 * Keys of LevelDB records: text, so that their order is the order of UTF-8 bytes, and so that `getSync` writes them
 * into its reused buffer.
 *
 * ```
 * b/<number>                       mark of the latest batch
 * c<partition>/                    counters
 * h<partition>/<end>/<own>/<bytes>/<first>/<file>/<offset>/<length>
 *                                  the name of a block of the log: entries of all regions, at `first` to `end`, the
 *                                  last own one at `own`; and its place in the files of blocks
 * m/<name>                         meta
 * o<partition>/<txId>              outcomes
 * p<partition>/<txId>              prepared transactions
 * t<partition>/<key>\0<segment>    older versions of a long chain
 * v<partition>/<key>               head of a chain: its newest versions
 * x<partition>/<ts>/<position>     outcomes of one checkpoint by the newest time among them, for `forgottenUpTo`
 * ```
 */
import type { PartitionId, QualifiedKey, Timestamp, TxId } from '@isochron/core';

/** Eleven digits of base 36 hold every safe integer; padded, their order is the order of the numbers. */
const digits = (ts: Timestamp): string => ts.toString(36).padStart(11, '0');
const fromDigits = (text: string): number => Number.parseInt(text, 36);

/** A half-open range of disk keys. */
export interface DiskRange {
  readonly gte: string;
  readonly lt: string;
}

/** The kind of a record. A `head` holds a key's newest versions, its `segment`s the older ones. */
export type RecordKind =
  | 'batch'
  | 'counters'
  | 'head'
  | 'logBlock'
  | 'meta'
  | 'outcome'
  | 'outcomeTime'
  | 'prepared'
  | 'segment';

const KINDS: Readonly<Record<string, RecordKind>> = {
  b: 'batch',
  c: 'counters',
  h: 'logBlock',
  m: 'meta',
  o: 'outcome',
  p: 'prepared',
  t: 'segment',
  v: 'head',
  x: 'outcomeTime',
};

/** The identity of a record. */
export interface RecordName {
  readonly kind: RecordKind | 'unknown';
  /** Null for records of the whole node (`ust`, `ceiling`), and when not even the key can be read. */
  readonly partition: PartitionId | null;
  /**
   * Qualified key of a head or segment, transaction id of an outcome or a prepare, the last timestamp of a block of
   * the log, name of a meta value.
   */
  readonly key: string;
  /** Its key in LevelDB. */
  readonly diskKey: string;
}

/** Everything that begins with a prefix that ends in `/`. */
const under = (prefix: string): DiskRange => ({ gte: prefix, lt: `${prefix.slice(0, -1)}0` });

/** Marks of batches. */
export const MARKS = under('b/');
export const markKey = (batch: number): string => MARKS.gte + digits(batch);
export const batchOf = (diskKey: string): number => fromDigits(diskKey.slice(MARKS.gte.length));

export const META = under('m/');
export const metaKey = (name: string): string => META.gte + name;
/** Position of the durable log that LevelDB covers. */
export const CHECKPOINT = metaKey('checkpoint');
export const metaName = (diskKey: string): string => diskKey.slice(META.gte.length);

/** All records of a kind, over all partitions. */
export const allOf = (kind: 'c' | 'h' | 'p'): DiskRange => ({
  gte: kind,
  lt: String.fromCharCode(kind.charCodeAt(0) + 1),
});
/** The partition that a disk key belongs to. */
export const partitionIn = (diskKey: string): PartitionId => fromDigits(diskKey.slice(1, 5));
/** The part of a disk key behind the partition. */
export const restOf = (diskKey: string): string => diskKey.slice(6);

/** The disk keys of one partition; prefixes are made once. */
export class PartitionKeys {
  readonly heads: DiskRange;
  readonly #blocks: string;
  readonly counters: string;
  readonly #tail: string;
  readonly #prepared: string;
  readonly #outcome: string;
  readonly #byTime: string;

  constructor(partition: PartitionId) {
    const id = `${partition.toString(36).padStart(4, '0')}/`;
    this.heads = under(`v${id}`);
    this.#blocks = `h${id}`;
    this.counters = `c${id}`;
    this.#tail = `t${id}`;
    this.#prepared = `p${id}`;
    this.#outcome = `o${id}`;
    this.#byTime = `x${id}`;
  }

  head(key: QualifiedKey): string {
    return this.heads.gte + key;
  }

  segment(key: QualifiedKey, segment: number): string {
    return `${this.#tail}${key}\0${segment.toString(36)}`;
  }

  prepared(txId: TxId): string {
    return this.#prepared + txId;
  }

  outcome(txId: TxId): string {
    return this.#outcome + txId;
  }

  /**
   * A list of outcomes, the newest of them at a timestamp: list number `list` of the checkpoint that covers a position.
   */
  outcomesUpTo(newest: Timestamp, covered: number, list: number): string {
    return `${this.#byTime}${digits(newest)}/${digits(covered)}/${list}`;
  }

  /** Lists of outcomes that are all below `upTo`. */
  outcomesBelow(upTo: Timestamp): DiskRange {
    return { gte: this.#byTime, lt: this.#byTime + digits(upTo) };
  }

  /** Names the content of a block. */
  blockContent({ end, own, bytes }: BlockContent): string {
    return `${this.#blocks}${digits(end)}/${digits(own)}/${bytes.toString(36)}`;
  }

  block(name: BlockName): string {
    const { file, offset, length } = name.place;
    const numbers = [name.first, file, offset, length].map((number) => number.toString(36));
    return `${this.blockContent(name)}/${numbers.join('/')}`;
  }

  /** Blocks of the log without an entry above `upTo`. */
  blocksUpTo(upTo: Timestamp): DiskRange {
    return { gte: this.#blocks, lt: this.#blocks + digits(upTo + 1) };
  }
}

/** Where the bytes of a block are: the number of the file, and the range in it. */
export interface BlockPlace {
  readonly file: number;
  readonly offset: number;
  readonly length: number;
}

/** Names the content of a block: first and last timestamp, that of the last own entry (0 without one), and size. */
export interface BlockContent {
  readonly first: Timestamp;
  readonly end: Timestamp;
  readonly own: Timestamp;
  readonly bytes: number;
}

/** The name of a block: its content, and where it is. */
export interface BlockName extends BlockContent {
  readonly place: BlockPlace;
}

/** The block that a disk key names. */
export function blockIn(diskKey: string): BlockName {
  const numbers = restOf(diskKey).split('/').map(fromDigits);
  const [end = 0, own = 0, bytes = 0, first = 0, file = 0, offset = 0, length = 0] = numbers;
  return { first, end, own, bytes, place: { file, offset, length } };
}

/** The record that a disk key names. The key may be damaged itself. */
export function recordNameOf(diskKey: string): RecordName {
  const kind = KINDS[diskKey[0] ?? ''] ?? 'unknown';
  if (kind === 'unknown') return { kind, partition: null, key: '', diskKey };
  if (kind === 'batch') return { kind, partition: null, key: String(batchOf(diskKey)), diskKey };
  if (kind === 'meta') {
    const key = metaName(diskKey);
    const partition = /\/(\d{1,9})$/.exec(key)?.[1];
    return { kind, partition: partition === undefined ? null : Number(partition), key, diskKey };
  }
  const partition = /^.[0-9a-z]{4}\//.test(diskKey) ? partitionIn(diskKey) : null;
  return { kind, partition, key: keyIn(kind, restOf(diskKey)), diskKey };
}

function keyIn(kind: RecordKind, rest: string): string {
  if (kind === 'segment') return rest.slice(0, rest.lastIndexOf('\0'));
  return kind === 'logBlock' || kind === 'outcomeTime' ? String(fromDigits(rest.slice(0, 11))) : rest;
}
