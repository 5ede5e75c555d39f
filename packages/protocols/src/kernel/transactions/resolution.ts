import { hashKey, type PartitionId, type Timestamp, type TxId, type WallMs } from '@isochron/core';

/**
 * What a cohort has learned about a transaction whose commit message is overdue (D2): the proposed timestamps of the others,
 * until one answer or all of them decide.
 *
 * When one cohort has lost its disk (D10), votes decide nothing any more: it may have voted for what it cannot carry out. The others are
 * asked again, and freeze: none of them commits by a vote or a commit message from then on, only by another one's word that it has
 * committed. When all of them are frozen, nobody has committed and nobody ever will.
 */
export class Resolution {
  readonly #prepared = new Map<PartitionId, Timestamp>();
  readonly #lost = new Set<PartitionId>();
  readonly #frozen = new Set<PartitionId>();
  #freezing = false;
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

  prepared(partition: PartitionId, pt: Timestamp, frozen: boolean): void {
    if (!this.cohorts.includes(partition)) return;
    if (frozen) this.#frozen.add(partition);
    else this.#prepared.set(partition, pt);
  }

  /** A cohort lost its disk and cannot know (D10). */
  lost(partition: PartitionId, now: WallMs): void {
    if (!this.cohorts.includes(partition) || this.#lost.has(partition)) return;
    this.#lost.add(partition);
    this.freeze(now);
  }

  /** Somebody knows of a cohort's loss: everyone is asked again. */
  freeze(now: WallMs): void {
    if (this.#freezing) return;
    this.#freezing = true;
    this.#round = 0;
    this.#nextAt = now;
  }

  /** Whether votes decide nothing any more. */
  get frozen(): boolean {
    return this.#freezing;
  }

  /** Every other cohort has lost its memory or is frozen: nobody has committed, nobody will (D10). */
  get hopeless(): boolean {
    if (this.#lost.size === 0) return false;
    return this.cohorts.every((p) => p === this.own.partition || this.#lost.has(p) || this.#frozen.has(p));
  }

  /** The commit timestamp, once every cohort is known to be prepared. */
  decided(): Timestamp | undefined {
    if (this.frozen || this.#prepared.size < this.cohorts.length) return undefined;
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
    const answered = this.frozen ? [this.#lost, this.#frozen] : [this.#prepared];
    return this.cohorts.filter((p) => p !== this.own.partition && !answered.some((known) => known.has(p)));
  }
}
