import {
  type Belongs,
  type Content,
  compareVersions,
  contentLength,
  type QualifiedKey,
  type StoredVersion,
  type Timestamp,
  type TxId,
  Update,
} from '@isochron/core';
import type { Head } from '../level/records.js';
import { contentBytes, dependsBytes, depsBytes, insertSorted } from '../versions.js';
import type { KeptFolds } from './folds.js';
import type { Partition } from './partition.js';

/** Memory of a chain and of a version beside their texts, measured on V8 with 64-bit pointers. */
const CHAIN_BYTES = 370;
const VERSION_BYTES = 170;

/** Estimate of the heap that a version takes. */
function versionBytes(version: StoredVersion, wide: boolean): number {
  const { value } = version;
  const fixed = VERSION_BYTES + depsBytes(version.deps) + dependsBytes(version.depends);
  if (value === null) return fixed;
  if (value instanceof Uint8Array) return fixed + 100 + value.byteLength;
  return fixed + contentLength(value) * (wide ? 2 : 1);
}

/** Whether V8 keeps the text with two bytes a character. A sample decides: this is an estimate. */
const isWide = (text: string): boolean => /[^\0-\xff]/.test(text.length > 1024 ? text.slice(0, 1024) : text);

/** The text of a content; empty for bytes and deletes. */
function textOf(written: Content): string {
  if (written instanceof Update) return written.operations;
  return typeof written === 'string' ? written : '';
}

/**
 * A chain is measured anew when this part of it has come or gone: the chain of a hot key is long, and changes with
 * every write.
 */
const MEASURED_PART = 1 / 16;

/** Takes the version of a transaction out of a chain. */
export class Removal {
  constructor(
    readonly ts: Timestamp,
    readonly txId: TxId,
  ) {}

  /** Whether it takes out a version; the region makes no difference. */
  matches({ ts, txId }: StoredVersion): boolean {
    return ts === this.ts && txId === this.txId;
  }
}

/**
 * One key's versions in memory: its newest ones without a gap. The newest `headCount` of them are in the head record on
 * disk, older ones in numbered segments, `first` to `last`. None, some or all of the segments are in memory too.
 */
export class Chain {
  /** Oldest first, without the versions that are staged for a later batch. */
  versions: StoredVersion[] = [];
  headCount = 0;
  first = 0;
  last = -1;
  /** Versions in all segments together. */
  tailCount = 0;
  /** False until the head was read: before that only `staged` is valid. */
  loaded = false;
  /** Whether the key has versions. */
  stored = false;
  /** Whether LevelDB holds a head record, or will with the checkpoint on its way. */
  onDisk = false;
  /** The checkpoint on its way has to write the head. */
  unwritten = false;
  /** Whether the partition counts the chain as untidy, see `Counters`. */
  untidy = false;
  /** Versions and removals whose batch is not durable yet, in the order of the commits. */
  staged: (StoredVersion | Removal)[] | null = null;
  /** Folds of its updates; null before the first read that folds. */
  folds: KeptFolds | null = null;
  /** Number of removals in `staged`. */
  removals = 0;
  /** Whether the cache has the chain. */
  isCached = false;
  /** Reasons not to evict the chain. */
  pins = 0;
  /** Read since eviction last considered it. */
  hot = false;
  bytes: number;
  /** Bytes written since the chain was measured, and how many versions it had then. */
  #unmeasured = 0;
  #measured = 0;
  /** Neighbours in the cache's list; null while pinned or evicted. */
  newer: Chain | null = null;
  older: Chain | null = null;
  /** Number of the batch that counted the chain last, and how many versions and removals that batch stages in it. */
  batch = 0;
  batchCount = 0;

  constructor(
    readonly partition: Partition,
    readonly key: QualifiedKey,
  ) {
    this.bytes = CHAIN_BYTES + key.length;
  }

  get segments(): number {
    return this.last - this.first + 1;
  }

  /** Index in `versions` of the oldest one in the head record. */
  get headStart(): number {
    return this.versions.length - this.headCount;
  }

  /** Whether every version of the key is in memory. */
  get whole(): boolean {
    return this.tailCount === 0 || this.versions.length >= this.headCount + this.tailCount;
  }

  /** Takes over the content of the head record; undefined when there is no record. */
  fill(head: Head | undefined): void {
    this.loaded = true;
    this.stored = head !== undefined;
    this.onDisk = this.stored;
    if (head === undefined) return;
    this.versions = head.versions;
    this.headCount = head.versions.length;
    this.first = head.first;
    this.last = head.last;
    this.tailCount = head.tailCount;
    this.untidy = this.isUntidy();
  }

  /** The version of the key, if the key has no other. */
  get only(): StoredVersion | undefined {
    return this.versions.length === 1 && this.segments === 0 ? this.versions[0] : undefined;
  }

  /** Whether garbage collection will have work here later. */
  isUntidy(): boolean {
    if (this.segments > 0 || this.headCount !== 1) return this.segments > 0 || this.headCount > 1;
    const { value } = this.versions.at(-1)!;
    return value === null || value instanceof Update;
  }

  /** A version so old that it belongs in a segment. */
  isDeep(version: StoredVersion): boolean {
    return this.segments > 0 && compareVersions(version, this.versions[this.headStart]!) < 0;
  }

  /** Takes over the versions of all segments, oldest first. */
  complete(older: readonly StoredVersion[]): void {
    this.versions = [...older, ...this.versions.slice(this.headStart)];
  }

  /** A change is written. */
  changed(change: StoredVersion | Removal): void {
    this.#unmeasured += change instanceof Removal ? this.bytes : VERSION_BYTES + contentBytes(change);
  }

  /** Whether `bytes` is no longer a good estimate. */
  get needsMeasuring(): boolean {
    const haveGone = this.versions.length < this.#measured * (1 - MEASURED_PART);
    return haveGone || this.#unmeasured >= this.bytes * MEASURED_PART;
  }

  stage(change: StoredVersion | Removal): void {
    if (this.staged === null) this.staged = [change];
    else this.staged.push(change);
    if (change instanceof Removal) this.removals++;
  }

  /** The oldest staged change is durable. */
  unstage(): void {
    if (this.staged!.shift() instanceof Removal) this.removals--;
    if (this.staged!.length === 0) this.staged = null;
  }

  /** The fresher of a version and the staged versions that belong to a snapshot. */
  withStaged(base: StoredVersion | undefined, belongs: Belongs): StoredVersion | undefined {
    let best = base;
    const staged = this.staged ?? [];
    for (let i = 0; i < staged.length; i++) {
      const change = staged[i]!;
      if (change instanceof Removal || this.#isRemoved(change, i) || !belongs(change)) continue;
      if (best === undefined || compareVersions(change, best) > 0) best = change;
    }
    return best;
  }

  /** The staged versions that belong to a snapshot, oldest first. */
  stagedIn(belongs: Belongs): StoredVersion[] {
    const found: StoredVersion[] = [];
    this.staged?.forEach((change, i) => {
      if (!(change instanceof Removal || this.#isRemoved(change, i)) && belongs(change)) insertSorted(found, change);
    });
    return found;
  }

  /** The predicate for stored versions: those that belong to a snapshot and that no staged removal takes out. */
  belonging(belongs: Belongs): Belongs {
    return this.removals === 0 ? belongs : (version) => !this.#isRemoved(version, 0) && belongs(version);
  }

  /** Whether a removal staged at position `from` or later takes a version out. */
  #isRemoved(version: StoredVersion, from: number): boolean {
    if (this.removals === 0) return false;
    return this.staged!.some((change, i) => i >= from && change instanceof Removal && change.matches(version));
  }

  /** Estimate of the heap that the chain takes, after a change. */
  measure(): number {
    this.#unmeasured = 0;
    this.#measured = this.versions.length;
    let bytes = CHAIN_BYTES + this.key.length + (this.folds?.bytes ?? 0);
    // One sample for the whole chain: a key's values look alike.
    const wide = isWide(textOf(this.versions.at(-1)?.value ?? null));
    for (const version of this.versions) bytes += versionBytes(version, wide);
    // `push` leaves room for growth.
    return this.versions.length > 1 ? bytes + 64 : bytes;
  }
}
