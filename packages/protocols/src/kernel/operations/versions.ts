/**
 * The versions of a partition as its replica sees them: those in its reader, and those on their way to the disk, which
 * the reader may not show yet. Under these protocols a version enters the chain in the step that makes it.
 */
import {
  type Belongs,
  compareVersions,
  type PartitionId,
  type QualifiedKey,
  type Timestamp,
  type Version,
  type VersionReader,
} from '@isochron/core';
import type { WriteSeq } from '../../machine.js';

/** The part of a version that clients need: answers carry its dependencies in fields of their own. */
export function shown(version: Version | null): Version | null {
  if (version === null) return null;
  const { ts, txId, region, value } = version;
  return { ts, txId, region, value };
}

export class Versions {
  /** Not durable yet, by key; each in the order of its batches. */
  readonly #unsettled = new Map<QualifiedKey, Version[]>();
  #order: { readonly key: QualifiedKey; readonly seq: WriteSeq }[] = [];

  constructor(
    readonly partition: PartitionId,
    readonly reader: VersionReader,
  ) {}

  /** Number of versions that wait for the disk. */
  get size(): number {
    return this.#order.length;
  }

  /** A version is written with the batch of this number. */
  add(key: QualifiedKey, version: Version, seq: WriteSeq): void {
    const chain = this.#unsettled.get(key);
    if (chain === undefined) this.#unsettled.set(key, [version]);
    else chain.push(version);
    this.#order.push({ key, seq });
  }

  persisted(upTo: WriteSeq): void {
    let settled = 0;
    for (const { key, seq } of this.#order) {
      if (seq > upTo) break;
      const chain = this.#unsettled.get(key)!;
      chain.shift();
      if (chain.length === 0) this.#unsettled.delete(key);
      settled++;
    }
    this.#order.splice(0, settled);
  }

  /** Whether the version is on disk. */
  settled(key: QualifiedKey, version: Version): boolean {
    return this.#unsettled.get(key)?.every((other) => compareVersions(other, version) !== 0) ?? true;
  }

  /** The freshest version that belongs. Any may be looked at. */
  find(key: QualifiedKey, belongs: Belongs): Version | undefined {
    return this.#fresher(key, belongs, this.reader.find(this.partition, key, belongs));
  }

  /** The freshest version with `ts <= at`. */
  at(key: QualifiedKey, at: Timestamp): Version | undefined {
    return this.#fresher(key, ({ ts }) => ts <= at, this.reader.read(this.partition, key, at));
  }

  #fresher(key: QualifiedKey, belongs: Belongs, settled: Version | undefined): Version | undefined {
    let freshest = settled;
    for (const version of this.#unsettled.get(key) ?? []) {
      if (belongs(version) && (freshest === undefined || compareVersions(version, freshest) > 0)) freshest = version;
    }
    return freshest;
  }
}
