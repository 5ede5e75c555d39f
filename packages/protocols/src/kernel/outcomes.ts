import {
  HLC_TICKS_PER_MS,
  type OutcomeRecord,
  type PartitionId,
  packWall,
  type Timestamp,
  type TxId,
  type WallMs,
} from '@isochron/core';
import type { Effects, WriteSeq } from '../machine.js';
import type { NodeState } from './node-state.js';
import { RecentOutcomes } from './recent-outcomes.js';

type Out = Effects<never>;

/** Outcomes are dropped in steps of a minute: they may stay this much longer than their retention. */
export const DISCARD_STEP: Timestamp = 60_000 * HLC_TICKS_PER_MS;

/**
 * The outcomes of one partition's transactions, as long as they are kept (D2, D5): on the disk, or on their way there.
 */
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

  /** Outcomes below are dropped (D5). */
  get forgottenUpTo(): Timestamp {
    return this.#forgottenUpTo;
  }

  /** The outcome of a transaction with a lower `sentAfter` may be dropped, or lost with a disk (D5, D10). */
  get rememberedFrom(): Timestamp {
    return Math.max(this.#forgottenUpTo, this.state.membership.incarnation);
  }

  /**
   * Starts anew after a lost disk: of transactions with a lower `sentAfter`, only those in the copy are known (D10).
   */
  join(forgottenUpTo: Timestamp): void {
    this.#forgottenUpTo = forgottenUpTo;
    this.#recent = new RecentOutcomes(this.state.membership.incarnation);
  }

  persisted(upTo: WriteSeq): void {
    this.#recent.persisted(upTo);
  }

  /**
   * Outcomes below `forgottenUpTo` are dropped, wherever they may still lie (D5).
   *
   * @param sentAfter if known, saves new transactions the look at the disk; 0 otherwise
   */
  get(txId: TxId, sentAfter: Timestamp): OutcomeRecord | undefined {
    const recent = this.#recent.get(txId);
    if (recent === undefined && this.#recent.complete(sentAfter)) return undefined;
    const outcome = recent ?? this.state.reader.outcome(this.partition, txId);
    return outcome === undefined || outcome.ts < this.#forgottenUpTo ? undefined : outcome;
  }

  /** The commit of a transaction is on its way to the disk, with the batch of this number. */
  committed(txId: TxId, record: Omit<OutcomeRecord, 'status'>, seq: WriteSeq): void {
    this.#recent.add(txId, { status: 'committed', ...record }, seq);
  }

  /** This attempt, and those before, never commit (D2). */
  tombstone(txId: TxId, attempt: number, now: WallMs, out: Out): void {
    const ts = this.state.clock.propose(now, 0, out);
    const record: OutcomeRecord = { status: 'aborted', ts, attempt, digest: null };
    this.#recent.add(txId, record, out.write({ kind: 'outcome', partition: this.partition, txId, record }));
  }

  /** A map has deferred a committed transaction (M4): its outcome here is taken back. */
  deferred(txId: TxId, ts: Timestamp, out: Out): void {
    const record: OutcomeRecord = { status: 'deferred', ts, attempt: 0, digest: null };
    this.#recent.add(txId, record, out.write({ kind: 'outcome', partition: this.partition, txId, record }));
  }

  /**
   * D5: drops outcomes below `min(ust, now - outcomeRetention)`, where UST counts the suspended nodes: a slice that is
   * undecided there takes the outcome from here when the node comes back (M7). Each step is a scan.
   */
  discard(now: WallMs, out: Out): void {
    const { stable, settings, drift, maps, topology } = this.state;
    const kept = Math.min(stable.aggregated, packWall(drift.stampable(now) - settings.outcomeRetentionMs));
    if (kept < this.#forgottenUpTo + DISCARD_STEP) return;
    const away = topology.nodes.filter((node) => maps.isSuspended(node));
    const upTo = Math.min(kept, maps.confirmed(away, stable.aggregated));
    if (upTo < this.#forgottenUpTo + DISCARD_STEP) return;
    this.#forgottenUpTo = upTo;
    out.write({ kind: 'horizon', partition: this.partition, horizon: 'forgottenUpTo', upTo });
  }
}
