import {
  compareKeys,
  type DurableFact,
  type NodeId,
  type PartitionId,
  type QualifiedKey,
  type StoredVersion,
  type Timestamp,
} from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { MemoryState } from '@isochron/storage';
import { textOfSnapshot } from '../../protocols/snapshot.js';
import type { Check, CheckContext } from '../check.js';
import type { Ledger } from '../evidence/ledger.js';
import type { ClientView, ListedSlice } from '../evidence/observations.js';
import type { Visibility } from '../evidence/visibility.js';

/**
 * Replicas answer a snapshot with exactly the committed versions that it shows: no version that was never written, no
 * absence of one that a live snapshot needs, and no answer below the floor of garbage collection (P9).
 */
export class SnapshotReads implements Check {
  readonly name = 'snapshot-reads';
  /** Floors by replica: those asked for in this incarnation, and those on disk. */
  readonly #asked = new Map<string, Timestamp>();
  readonly #durable = new Map<string, Timestamp>();

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
    readonly visibility: Visibility,
  ) {}

  wrote(node: NodeId, record: DurableFact): void {
    raise(this.#asked, node, record);
  }

  durable(node: NodeId, records: readonly DurableFact[]): void {
    for (const record of records) raise(this.#durable, node, record);
  }

  /** The floors that are left on the disk. */
  onDataLoss(node: NodeId, left: MemoryState): void {
    for (const partition of this.context.topology.partitionsOn(node)) {
      const floor = left.partitions.get(partition)?.horizons.gcFloor ?? 0;
      for (const floors of [this.#asked, this.#durable]) floors.set(`${node}/${partition}`, floor);
    }
  }

  /** Collections that had not reached the disk did not happen. */
  crashed(node: NodeId): void {
    for (const name of this.#asked.keys())
      if (name.startsWith(`${node}/`)) this.#asked.set(name, this.#durable.get(name) ?? 0);
  }

  slice(
    node: NodeId,
    partition: PartitionId,
    snapshot: Snapshot,
    keys: readonly QualifiedKey[],
    versions: readonly (StoredVersion | null)[],
  ): void {
    const floor = this.#above(node, partition, snapshot);
    const shows = (version: StoredVersion) => this.visibility.shows(snapshot, version);
    keys.forEach((key, i) => {
      const found = versions[i] ?? undefined;
      const isRight = (wanted: StoredVersion | undefined) =>
        // A tombstone at or below the floor may be gone: absence is the same answer.
        (found === undefined && wanted?.value === null && wanted.ts <= floor) || isSame(found, wanted);
      if (this.ledger.visibleOnes(key, shows, found?.value ?? null).some(isRight) || this.#isOfDamage(found)) return;
      const wanted = this.ledger.visible(key, shows);
      this.#fail(
        `${node} answers ${key} at ${textOfSnapshot(snapshot)} with ${show(found)}, committed is ${show(wanted)}`,
        key,
        node,
      );
    });
  }

  collected({ session, txId, snapshot }: ClientView): void {
    // A node whose disk was rolled back assigns old snapshots until its peers report. The snapshots of a suspended node
    // end when the node takes over the floor of the others.
    if (this.ledger.anyUnaware || (snapshot !== undefined && this.ledger.deferrals.isBefore(snapshot.ts))) return;
    const at = snapshot === undefined ? 'no snapshot yet' : textOfSnapshot(snapshot);
    this.#fail(`a version that ${txId} of ${session} reads at ${at} was collected while it was open`, txId, session);
  }

  listed(node: NodeId, partition: PartitionId, snapshot: Snapshot, { start, end, entries, next }: ListedSlice): void {
    this.#above(node, partition, snapshot);
    const shows = (version: StoredVersion) => this.visibility.shows(snapshot, version);
    const found = new Map(entries.map(({ key, version }) => [key, version]));
    for (const key of this.ledger.keys) {
      if (this.context.topology.partitionOf(key) !== partition) continue;
      if (compareKeys(key, start) < 0 || (end !== null && compareKeys(key, end) >= 0)) continue;
      if (next !== null && compareKeys(key, next) >= 0) continue;
      const shown = found.get(key);
      found.delete(key);
      const isRight = (one: StoredVersion | undefined) => isSame(shown, one?.value === null ? undefined : one);
      if (this.ledger.visibleOnes(key, shows, shown?.value ?? null).some(isRight) || this.#isOfDamage(shown)) continue;
      const wanted = this.ledger.visible(key, shows);
      this.#fail(
        `${node} lists ${key} at ${textOfSnapshot(snapshot)} as ${show(shown)}, committed is ${show(wanted)}`,
        key,
        node,
      );
    }
    for (const key of found.keys()) this.#fail(`${node} lists ${key}, which is outside of the requested range`, key);
  }

  /** Whether a version belongs to a damaged transaction, of which nothing is required. */
  #isOfDamage(version: StoredVersion | undefined): boolean {
    return version !== undefined && this.ledger.isDamaged(version.txId);
  }

  #above(node: NodeId, partition: PartitionId, snapshot: Snapshot): Timestamp {
    const floor = this.#asked.get(`${node}/${partition}`) ?? 0;
    if (this.visibility.lowest(snapshot) < floor)
      this.#fail(`${node} reads ${partition} at ${textOfSnapshot(snapshot)}, below its floor ${floor}`, node);
    return floor;
  }

  #fail(message: string, ...about: string[]): void {
    this.context.fail(this.name, message, about);
  }
}

function raise(floors: Map<string, Timestamp>, node: NodeId, fact: DurableFact): void {
  if (fact.kind !== 'horizon' || fact.horizon !== 'gcFloor') return;
  const name = `${node}/${fact.partition}`;
  floors.set(name, Math.max(fact.upTo, floors.get(name) ?? 0));
}

const isSame = (a: StoredVersion | undefined, b: StoredVersion | undefined): boolean =>
  a?.ts === b?.ts && a?.txId === b?.txId && a?.value === b?.value;

const show = (version: StoredVersion | undefined): string =>
  version === undefined ? 'nothing' : `${String(version.value)} of ${version.txId} at ${version.ts}`;
