import type { PartitionId, TxId } from '@isochron/core';

/** Values by partition and transaction. */
export class ByTransaction<T> {
  readonly #partitions: Map<TxId, T>[] = [];

  /** The values of one partition. */
  of(partition: PartitionId): ReadonlyMap<TxId, T> {
    return this.#partitions[partition] ?? NO_VALUES;
  }

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

  clear(): void {
    this.#partitions.length = 0;
  }
}

const NO_VALUES: ReadonlyMap<TxId, never> = new Map<TxId, never>();
