import { compareVersions, type KeyWrite, type QualifiedKey, type Timestamp, type TxId } from '@isochron/core';
import type { MemoryState } from '@isochron/storage';
import type { Check, CheckContext } from '../check.js';
import { isSameContent } from '../evidence/documents.js';
import type { Ledger } from '../evidence/ledger.js';

/** An acknowledged write is never lost: at the end every replica holds it, or one that is newer. */
export class AcknowledgedIsKept implements Check {
  readonly name = 'acknowledged-is-kept';
  readonly #acknowledged: { txId: TxId; ct: Timestamp; writes: readonly KeyWrite[] }[] = [];

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
    readonly disk: (node: string) => MemoryState,
  ) {}

  acknowledged(txId: TxId, ct: Timestamp, writes: readonly KeyWrite[]): void {
    this.#acknowledged.push({ txId, ct, writes });
    if (this.ledger.isDeferred(txId)) return;
    const tx = this.ledger.committed(txId);
    const known = new Map(
      [...(tx?.slices.values() ?? [])].flatMap((s) => s.writes.map((w) => [w.key, w.value] as const)),
    );
    for (const { key, value } of writes) {
      const kept = known.get(key);
      if (kept === undefined || !isSameContent(kept, value))
        this.#fail(`${txId} was acknowledged, but its write of ${key} is on no disk`, txId);
    }
  }

  converged(): void {
    for (const { txId, ct, writes } of this.#acknowledged) for (const { key } of writes) this.#kept(txId, ct, key);
  }

  #kept(txId: TxId, ct: Timestamp, key: QualifiedKey): void {
    const { topology } = this.context;
    const partition = topology.partitionOf(key);
    for (const region of topology.partitions[partition]!.regions) {
      const node = topology.replicaNode(partition, region)!;
      if (this.context.isGone?.(node)) continue;
      const newest = this.disk(node).partitions.get(partition)?.chains.get(key)?.at(-1);
      const own = { ts: ct, txId, region };
      if (newest !== undefined && compareVersions({ ...newest, region }, own) >= 0) continue;
      // A deletion disappears with the last version that it deletes.
      const lasts = this.ledger.visibleOnes(key, () => true, null);
      if (newest === undefined && lasts.some((last) => (last?.value ?? null) === null)) continue;
      this.#fail(`${node} ends with ${newest?.ts ?? 'nothing'} for ${key}, ${txId} wrote it at ${ct}`, txId, key);
    }
  }

  #fail(message: string, txId: TxId, key?: QualifiedKey): void {
    if (!this.ledger.isDamaged(txId)) this.context.fail(this.name, message, key === undefined ? [txId] : [txId, key]);
  }
}
