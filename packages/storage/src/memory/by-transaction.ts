import type { PartitionId, TxId } from '@isochron/core';

/** Values by partition and transaction. */
export class ByTransaction<T> {
  readonly #partitions: Map<TxId, T>[] = [];

  get(partition: PartitionId, txId: TxId): T | undefined {
    return this.#partitions[partition]?.get(txId);
  }

  set(partition: PartitionId, txId: TxId, value: T): void {
    this.#partitions[partition] ??= new Map();
    this.#partitions[partition].set(txId, value);
  }

  delete(partition: PartitionId, txId: TxId): void {
    this.#partitions[partition]?.delete(txId);
  }
}
