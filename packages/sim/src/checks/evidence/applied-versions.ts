import type { DurableFact, NodeId, QualifiedKey, Timestamp, TxId } from '@isochron/core';
import type { MemoryState } from '@isochron/storage';
import type { Check } from '../check.js';

/** The versions that disks have stored, those among them that garbage collection has dropped, and no others. */
export class AppliedVersions implements Check {
  readonly name = 'applied-versions';
  /** By transaction: `node|key`, with the timestamps. */
  readonly #applied = new Map<TxId, Map<string, Set<Timestamp>>>();

  /** The timestamps at which disks have versions of a transaction; of one key, if it is given. */
  of(txId: TxId, key?: QualifiedKey): Timestamp[] {
    const places = [...(this.#applied.get(txId) ?? [])].filter(
      ([place]) => key === undefined || place.endsWith(`|${key}`),
    );
    return [...new Set(places.flatMap(([, timestamps]) => [...timestamps]))];
  }

  durable(node: NodeId, records: readonly DurableFact[]): void {
    for (const record of records) {
      if (record.kind === 'version') this.#add(node, record.key, record.version);
      // A verdict removes single versions, garbage collection does not.
      else if (record.kind === 'remove')
        this.#applied.get(record.txId)?.get(`${node}|${record.key}`)?.delete(record.ts);
    }
  }

  onDataLoss(node: NodeId, left: MemoryState): void {
    for (const places of this.#applied.values())
      for (const place of places.keys()) if (place.startsWith(`${node}|`)) places.delete(place);
    for (const { chains } of left.partitions.values())
      for (const [key, versions] of chains) for (const version of versions) this.#add(node, key, version);
  }

  #add(node: NodeId, key: QualifiedKey, { txId, ts }: { readonly txId: TxId; readonly ts: Timestamp }): void {
    const places = this.#applied.get(txId) ?? new Map<string, Set<Timestamp>>();
    this.#applied.set(txId, places);
    const place = `${node}|${key}`;
    places.set(place, (places.get(place) ?? new Set<Timestamp>()).add(ts));
  }
}
