import { hashKey, type PartitionId, type Timestamp, type TxId, type WallMs } from '@isochron/core';

/**
 * The answers to a cohort about a transaction whose commit message is overdue (D2): the proposed timestamps of the
 * others, until one answer or all of them decide.
 */
export class Resolution {
  readonly #prepared = new Map<PartitionId, Timestamp>();
  #round = 0;
  #nextAt: WallMs;

  constructor(
    readonly txId: TxId,
    readonly cohorts: readonly PartitionId[],
    readonly own: { readonly partition: PartitionId; readonly pt: Timestamp },
    now: WallMs,
  ) {
    this.#prepared.set(own.partition, own.pt);
    this.#nextAt = now;
  }

  prepared(partition: PartitionId, pt: Timestamp): void {
    if (this.cohorts.includes(partition)) this.#prepared.set(partition, pt);
  }

  /** The commit timestamp, once every cohort is known to be prepared. */
  decided(): Timestamp | undefined {
    if (this.#prepared.size < this.cohorts.length) return undefined;
    return Math.max(...this.#prepared.values());
  }

  /** The cohorts to ask now: those that have not answered, in rounds with exponential backoff and jitter. */
  ask(now: WallMs): PartitionId[] {
    if (now < this.#nextAt) return [];
    const wait = Math.min(100 * 2 ** this.#round, 3_000);
    // Jitter from the id, so that the step stays a function of its input.
    const jitter = (hashKey(`${this.txId}/${this.#round}`) % 1000) / 1000;
    this.#round++;
    this.#nextAt = now + wait * (0.5 + jitter);
    return this.cohorts.filter((p) => !this.#prepared.has(p));
  }
}
