import type { DurableFact, NodeId, OutcomeRecord, TxId } from '@isochron/core';
import { LOSSES_RECORD, Losses } from '@isochron/protocols';
import type { MemoryState } from '@isochron/storage';
import type { Check, CheckContext } from '../check.js';
import { StrangeAttempts } from './strange-attempts.js';

/** The records of one attempt of a transaction, by node. */
type NodeRecords = Map<NodeId, Set<'prepared' | OutcomeRecord['status']>>;

/**
 * If one cohort has committed an attempt, no other one has aborted it (D2, D10), among those that still have their
 * disks. This holds for damaged transactions too, of which the ledger requires nothing: a lost disk takes its own part
 * with it, and never a half of the rest.
 *
 * A rolled-back disk that has lost nothing that a peer has seen is not noticed, and its node may vote against an
 * earlier vote: attempts that were on it are excused.
 */
export class SurvivorsAgree implements Check {
  readonly name = 'survivors-agree';
  readonly #transactions = new Map<TxId, Map<number, NodeRecords>>();
  readonly #excused = new Set<TxId>();
  /** Attempts of questions by outsiders. */
  readonly #strange = new StrangeAttempts();

  constructor(readonly context: CheckContext) {}

  durable(node: NodeId, records: readonly DurableFact[]): void {
    // A commit that is taken back is aborted by one cohort after the other (`losses.ts` checks the result).
    for (const record of records)
      if (record.kind === 'meta' && record.name === LOSSES_RECORD)
        for (const { txId } of new Losses(record.value).all) this.#excused.add(txId);
    for (const record of records) {
      if (record.kind === 'prepared' && record.record !== null && record.record.deferred === undefined) {
        const { attempt, digest, ct } = record.record;
        this.#recordsOf(record.txId, attempt, node).add('prepared');
        if (ct !== undefined) this.#ended(node, record.txId, { status: 'committed', ts: ct, attempt, digest });
      } else if (record.kind === 'outcome') {
        this.#ended(node, record.txId, record.record);
      }
    }
  }

  strangeAttempt(txId: TxId, attempt: number): void {
    this.#strange.add(txId, attempt);
  }

  onDataLoss(node: NodeId, left: MemoryState): void {
    for (const [txId, attempts] of this.#transactions) {
      for (const records of attempts.values()) {
        if (records.delete(node) && left.meta.size > 0) this.#excused.add(txId);
      }
    }
  }

  #ended(node: NodeId, txId: TxId, { status, attempt, digest }: OutcomeRecord): void {
    // An outcome that was found among copied versions has no attempt (D10).
    if (status === 'deferred' || (status === 'committed' && digest === null)) return;
    if (status === 'aborted' && this.#strange.has(txId, attempt)) return;
    this.#recordsOf(txId, attempt, node).add(status);
    const opposite = status === 'committed' ? 'aborted' : 'committed';
    for (const [other, records] of this.#transactions.get(txId)!.get(attempt)!) {
      if (!records.has(opposite) || this.#excused.has(txId)) continue;
      const message = `${node} has ${status} attempt ${attempt} of ${txId}, ${other} has ${opposite} it`;
      this.context.fail(this.name, message, [txId, node, other]);
    }
  }

  #recordsOf(txId: TxId, attempt: number, node: NodeId): Set<'prepared' | OutcomeRecord['status']> {
    const attempts = entry(this.#transactions, txId, () => new Map<number, NodeRecords>());
    const records = entry(attempts, attempt, (): NodeRecords => new Map());
    return entry(records, node, () => new Set());
  }
}

/** The entry of a name; created if it is missing. */
function entry<K, V>(map: Map<K, V>, name: K, create: () => V): V {
  let value = map.get(name);
  if (value === undefined) {
    value = create();
    map.set(name, value);
  }
  return value;
}
