import type { DurableFact, KeyWrite, NodeId, Timestamp, TxId } from '@isochron/core';
import { homeInId } from '@isochron/sessions';
import type { Check, CheckContext } from '../check.js';
import type { CommittedTx, Ledger, LedgerListener } from '../evidence/ledger.js';
import { StrangeAttempts } from './strange-attempts.js';

/**
 * One outcome per transaction id, across cohorts, coordinators, clients and incarnations: all reports of a commit have
 * the same timestamp, and an attempt that is, or becomes, committed is never reported as aborted (D2, D4).
 */
export class OneOutcome implements Check, LedgerListener {
  readonly name = 'one-outcome';
  /** The first sender of a report that the attempt never commits. */
  readonly #aborted = new Map<TxId, Map<number, string>>();
  /** Its client received that no attempt commits. */
  readonly #dead = new Map<TxId, string>();
  /** Attempts of questions by outsiders. */
  readonly #strange = new StrangeAttempts();

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
  ) {
    ledger.listen(this);
  }

  onCommitted(tx: CommittedTx): void {
    const { txId, attempt, ct } = tx;
    const aborted = this.#aborted.get(txId)?.get(attempt);
    const who = aborted ?? this.#dead.get(txId);
    if (who !== undefined) this.#fail(`${txId} was committed at ${ct} after ${who} had reported it as aborted`, txId);
  }

  committed(node: NodeId, txId: TxId, attempt: number | null, ct: Timestamp): void {
    const tx = this.ledger.committed(txId);
    if (this.ledger.isDeferred(txId, ct)) return;
    if (tx?.ct === ct && (attempt === null || tx.attempt === attempt)) return;
    this.#fail(`${node} reports that ${txId} is committed at ${ct} (attempt ${attempt}), ${truth(tx)}`, txId);
  }

  strangeAttempt(txId: TxId, attempt: number): void {
    this.#strange.add(txId, attempt);
  }

  aborted(node: NodeId, txId: TxId, attempt: number): void {
    if (this.#strange.has(txId, attempt)) return;
    const tx = this.ledger.committed(txId);
    if (tx?.attempt === attempt) this.#fail(`${node} reports that ${txId} is aborted, ${truth(tx)}`, txId);
    let attempts = this.#aborted.get(txId);
    if (attempts === undefined) {
      attempts = new Map();
      this.#aborted.set(txId, attempts);
    }
    if (!attempts.has(attempt)) attempts.set(attempt, node);
  }

  /** A write under an Idempotency-Key may be carried out after all once the disk with its tombstone is lost (D10e). */
  onDataLoss(node: NodeId): void {
    for (const [txId, attempts] of this.#aborted) {
      if (homeInId(txId, this.context.topology) === undefined) continue;
      for (const [attempt, who] of attempts) if (who === node || who === diskOf(node)) attempts.delete(attempt);
    }
  }

  durable(node: NodeId, records: readonly DurableFact[]): void {
    for (const record of records) {
      if (record.kind === 'outcome' && record.record.status === 'aborted')
        this.aborted(diskOf(node), record.txId, record.record.attempt);
    }
  }

  acknowledged(txId: TxId, ct: Timestamp, _writes: readonly KeyWrite[]): void {
    this.committed('a coordinator', txId, null, ct);
  }

  refused(txId: TxId): void {
    const who = 'the answer to its client';
    const tx = this.ledger.committed(txId);
    if (tx !== undefined) this.#fail(`${who} reports that ${txId} is aborted, ${truth(tx)}`, txId);
    this.#dead.set(txId, who);
  }

  /**
   * Another attempt may follow an aborted or a lost one, until the client has the outcome: after that it must not be
   * reported as aborted or lost.
   */
  status(txId: TxId, status: string, ts: Timestamp | null, askedMs: number): void {
    if (status === 'committed' && ts !== null) this.committed('a status', txId, null, ts);
    const tx = this.ledger.committed(txId);
    if ((status === 'aborted' || status === 'lost') && tx !== undefined && tx.atMs < askedMs)
      this.#fail(`a status that was asked for at ${askedMs} ms reports that ${txId} is ${status}, ${truth(tx)}`, txId);
  }

  #fail(message: string, txId: TxId): void {
    if (!this.ledger.isDamaged(txId)) this.context.fail(this.name, message, [txId]);
  }
}

const diskOf = (node: NodeId): string => `${node}'s disk`;

const truth = (tx: CommittedTx | undefined): string =>
  tx === undefined ? 'but it is not committed' : `but it is committed at ${tx.ct} (attempt ${tx.attempt})`;
