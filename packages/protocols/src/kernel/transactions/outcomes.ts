import {
  HLC_TICKS_PER_MS,
  type OutcomeRecord,
  type PartitionId,
  packWall,
  type Timestamp,
  type TxId,
  type WallMs,
} from '@isochron/core';
import type { Effects, WriteSeq } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import { RecentOutcomes } from './recent-outcomes.js';

type Out = Effects<never>;

/** How the transactions of one partition ended, as long as that is kept (D2, D5): on the disk, or on its way there. */
export class Outcomes {
  #recent: RecentOutcomes;
  #forgottenUpTo: Timestamp;

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    forgottenUpTo: Timestamp,
  ) {
    this.#forgottenUpTo = forgottenUpTo;
    this.#recent = new RecentOutcomes(state.clock.last);
  }

  /** Outcomes below are forgotten (D5). */
  get forgottenUpTo(): Timestamp {
    return this.#forgottenUpTo;
  }

  /** The outcome of a transaction that was born before may be forgotten, or lost with a disk (D5, D10). */
  get rememberedFrom(): Timestamp {
    return Math.max(this.#forgottenUpTo, this.state.membership.incarnation);
  }

  /** Starts anew after a lost disk: of what was born before, only what came back with the copy is known (D10). */
  join(forgottenUpTo: Timestamp): void {
    this.#forgottenUpTo = forgottenUpTo;
    this.#recent = new RecentOutcomes(this.state.membership.incarnation);
  }

  persisted(upTo: WriteSeq): void {
    this.#recent.persisted(upTo);
  }

  /**
   * What is below `forgottenUpTo` is forgotten, wherever it may still lie (D5).
   *
   * @param sentAfter where it is known, spares new transactions the look at the disk; 0 otherwise
   */
  get(txId: TxId, sentAfter: Timestamp): OutcomeRecord | undefined {
    const recent = this.#recent.get(txId);
    if (recent === undefined && this.#recent.complete(sentAfter)) return undefined;
    const outcome = recent ?? this.state.reader.outcome(this.partition, txId);
    return outcome === undefined || outcome.ts < this.#forgottenUpTo ? undefined : outcome;
  }

  write(txId: TxId, record: OutcomeRecord, out: Out): void {
    const seq = out.write({ kind: 'outcome', partition: this.partition, txId, record });
    this.#recent.add(txId, record, seq);
  }

  /** This attempt, and those before, never commit (D2). */
  tombstone(txId: TxId, attempt: number, now: WallMs, out: Out): void {
    const ts = this.state.clock.propose(now, 0, out);
    this.write(txId, { status: 'aborted', ts, attempt, digest: null }, out);
  }

  /** D5: outcomes below `min(ust, now - outcomeRetention)` go. Moves in steps of a minute: each step is a scan. */
  forget(now: WallMs, out: Out): void {
    const { stable, settings, drift } = this.state;
    const kept = packWall(drift.stampable(now) - settings.outcomeRetentionMs);
    const upTo = Math.min(stable.aggregated, kept);
    if (upTo < this.#forgottenUpTo + 60_000 * HLC_TICKS_PER_MS) return;
    this.#forgottenUpTo = upTo;
    out.write({ kind: 'forget', partition: this.partition, upTo });
  }
}
