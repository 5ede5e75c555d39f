/** What became of commits: their answers, and the questions about them afterwards. */
import { type ErrorCode, IsochronError, type NodeId, packWall, type Timestamp, type TxId } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { TxState } from '@isochron/wire/session-frames';
import type { CoordinatorPort, TransactionsNode } from '../node/api.js';

/** These end a commit without a word of its cohorts: it may have taken effect, and must not look as if it had been refused (D2). */
const UNDECIDED: ReadonlySet<ErrorCode> = new Set(['CONNECTION_LOST', 'OUTCOME_UNKNOWN', 'OUTCOME_PENDING']);
/** So many questions may be under way at a time: each one goes to every replica of every partition. */
const MAX_QUESTIONS = 32;

/** A commit that is not known to have failed. Names its transaction: to repeat it with, and to ask about. */
export class UndecidedError extends IsochronError {
  constructor(
    readonly txId: TxId,
    cause: IsochronError,
  ) {
    super(cause.code === 'CONNECTION_LOST' ? 'OUTCOME_UNKNOWN' : cause.code, cause.message, { cause });
  }
}

/** The error of a commit: an {@link UndecidedError} where it may have taken effect. */
export const undecided = (txId: TxId, error: unknown): unknown =>
  error instanceof IsochronError && UNDECIDED.has(error.code) ? new UndecidedError(txId, error) : error;

/** What is known of a transaction. */
export interface TxStatus {
  readonly status: TxState;
  /** Commit timestamp, or the snapshot of an open transaction. */
  readonly ts: Timestamp | null;
}

export class Outcomes {
  #questions = 0;

  constructor(readonly node: TransactionsNode) {}

  /**
   * Commits, and tells a refusal from an answer that got lost. Resolves with the commit timestamp, and what it depends on beside.
   * @throws UndecidedError where it may have taken effect; IsochronError where it has not
   */
  async commit(request: Parameters<CoordinatorPort['commit']>[0], coordinator?: NodeId): Promise<Snapshot> {
    try {
      const { ct, deps } = await this.node.coordinator.commit(request, coordinator);
      return { ts: ct, deps };
    } catch (error) {
      throw undecided(request.txId, error);
    }
  }

  /**
   * Asks what became of a transaction: at the node that may have it open, if one is named, and any other node where that one does not answer.
   * `birth` is the stable time when it was sent, or an earlier one: what nobody knows and was sent before the outcomes that are kept is
   * *forgotten* (D5).
   * @throws IsochronError `OVERLOADED` while too many ask at the same time
   */
  async status(txId: TxId, birth: Timestamp | null, coordinator?: NodeId): Promise<TxStatus> {
    if (this.#questions >= MAX_QUESTIONS)
      throw new IsochronError('OVERLOADED', 'Too many ask for outcomes at the same time. Repeat the request.');
    this.#questions++;
    try {
      const { status, ts } = await this.#ask(txId, coordinator);
      const forgotten = status === 'unknown' && birth !== null && birth < this.#forgottenBefore();
      return { status: forgotten ? 'forgotten' : status, ts };
    } finally {
      this.#questions--;
    }
  }

  async #ask(txId: TxId, coordinator: NodeId | undefined): Promise<TxStatus> {
    if (coordinator === undefined) return this.node.coordinator.txStatus({ txId });
    try {
      return await this.node.coordinator.txStatus({ txId }, coordinator);
    } catch (error) {
      if (!(error instanceof IsochronError) || error.code !== 'CONNECTION_LOST') throw error;
      return this.node.coordinator.txStatus({ txId });
    }
  }

  /** Outcomes of transactions that were sent before this may be gone. */
  #forgottenBefore(): Timestamp {
    const { settings } = this.node.config;
    return Math.min(this.node.ust(), packWall(this.node.now() - settings.outcomeRetentionMs));
  }
}
