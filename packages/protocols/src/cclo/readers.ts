/**
 * The readers records of one replica: for each key the ROTs that have read its newest version, and its old readers,
 * which must not see that and are shown an older one. They live in memory: clocks make up for their loss in a crash
 * (SPEC.md, "Why a crash may take the records").
 *
 * Invariants: CL1 a ROT that has read a version of a key that is not its newest one is among its old readers, for
 * {@link KEPT_MS} of logical time since the ROT began. CL2 the version that an old reader is shown never changes.
 */
import {
  compareVersions,
  HLC_TICKS_PER_MS,
  MAX_TIMESTAMP,
  type QualifiedKey,
  type Timestamp,
  type TxId,
  type Version,
} from '@isochron/core';
import type { Reader } from '../kernel/operations/messages.js';
import type { Versions } from '../kernel/operations/versions.js';

/** How long ids are kept (Contrarian, section 5.1), and how long a ROT may take. */
export const KEPT_MS = 500;

/** The version that an old reader is shown; undefined: the key is absent. */
type VisibleVersion = Pick<Version, 'ts' | 'txId' | 'region'> | undefined;

interface OldReader extends Reader {
  readonly shown: VisibleVersion;
}

export class ReadersRecords {
  /** By key and by the name of the ROT. */
  readonly #readers = new Map<QualifiedKey, Map<string, Reader>>();
  readonly #old = new Map<QualifiedKey, Map<string, OldReader>>();

  constructor(readonly versions: Versions) {}

  /** The number of ids kept. */
  get size(): number {
    const count = (sum: number, { size }: ReadonlyMap<string, Reader>) => sum + size;
    return [...this.#readers.values()].reduce(count, 0) + [...this.#old.values()].reduce(count, 0);
  }

  /** A ROT's read, as the records keep it. */
  read(key: QualifiedKey, reader: Reader): Version | undefined {
    const name = nameOf(reader);
    const old = this.#old.get(key)?.get(name);
    if (old !== undefined) return this.#find(key, old.shown);
    of(this.#readers, key).set(name, reader);
    return this.versions.find(key, () => true);
  }

  /**
   * A version becomes visible: its old readers are the readers of the version before, and the old readers of its
   * dependencies. It need not be the newest by timestamp: then readers of the newest stay, and versions that depend on
   * this one find its old readers here.
   */
  written(key: QualifiedKey, version: Version, gathered: Iterable<Reader>): void {
    const newest = this.versions.at(key, MAX_TIMESTAMP);
    for (const reader of gathered) this.#outdate(key, reader, newest);
    if (newest !== undefined && compareVersions(version, newest) <= 0) return;
    for (const reader of this.#readers.get(key)?.values() ?? []) this.#outdate(key, reader, newest);
    this.#readers.delete(key);
  }

  /** Old readers of any of the keys; of each client the latest ROT, because it runs one at a time. */
  oldReaders(keys: readonly QualifiedKey[], upTo: Timestamp): Reader[] {
    const latest = new Map<string, Map<string, Reader>>();
    for (const key of keys) {
      for (const [name, { id, at }] of this.#old.get(key) ?? []) {
        if (at <= upTo) continue;
        const { client, turn } = partsOf(id);
        const known = latest.get(client);
        const best = known === undefined ? -1 : partsOf([...known.values()][0]!.id).turn;
        if (turn > best) latest.set(client, new Map([[name, { id, at }]]));
        // A ROT that was sent again, at another time: this replica cannot tell which of the two is answered.
        else if (turn === best) known!.set(name, { id, at });
      }
    }
    return [...latest.values()].flatMap((readers) => [...readers.values()]);
  }

  /** Removes the ids of ROTs that began at or before this time. */
  drop(upTo: Timestamp): void {
    for (const records of [this.#readers, this.#old] as Map<QualifiedKey, Map<string, Reader>>[]) {
      for (const [key, readers] of records) {
        for (const [name, { at }] of readers) if (at <= upTo) readers.delete(name);
        if (readers.size === 0) records.delete(key);
      }
    }
  }

  /** CL2: the first time counts. */
  #outdate(key: QualifiedKey, { id, at }: Reader, shown: VisibleVersion): void {
    const old = of(this.#old, key);
    const name = nameOf({ id, at });
    if (!old.has(name)) old.set(name, { id, at, shown });
    this.#readers.get(key)?.delete(name);
  }

  #find(key: QualifiedKey, shown: VisibleVersion): Version | undefined {
    return shown && this.versions.find(key, (version) => compareVersions(version, shown) === 0);
  }
}

/** A ROT that began again has another time. */
const nameOf = ({ id, at }: Reader): string => `${at}/${id}`;

/** The client's part of an id, and its number in the client's order. */
function partsOf(id: TxId): { readonly client: string; readonly turn: number } {
  const dot = id.lastIndexOf('.');
  return { client: id.slice(0, dot), turn: Number.parseInt(id.slice(dot + 1), 36) };
}

function of<T>(records: Map<QualifiedKey, Map<string, T>>, key: QualifiedKey): Map<string, T> {
  let found = records.get(key);
  if (found === undefined) {
    found = new Map();
    records.set(key, found);
  }
  return found;
}

/** How long a ROT's records outlive it, in ticks of the clock. */
export const KEPT: Timestamp = KEPT_MS * HLC_TICKS_PER_MS;
