import type { DurableRecord, NodeId, OutcomeRecord, TxId } from '@isochron/core';
import { LOSSES_RECORD, Losses } from '@isochron/protocols';
import type { MemoryState } from '@isochron/storage';
import type { Check, CheckContext } from './check.js';

/** What disks say of one attempt of a transaction. */
type Words = Map<NodeId, Set<'prepared' | OutcomeRecord['status']>>;

/**
 * What one cohort has committed, no other one has aborted (D2, D10), of those that still have their disks. So it is with damaged transactions
 * too, of which the ledger demands nothing: a lost disk takes its own part with it, and never a half of what is left.
 *
 * A disk that goes back without losing anything that a peer has seen is noticed by nobody, and may vote against what it has voted before:
 * nothing is demanded of what was on it.
 */
export class SurvivorsAgree implements Check {
  readonly name = 'survivors-agree';
  readonly #transactions = new Map<TxId, Map<number, Words>>();
  readonly #excused = new Set<TxId>();

  constructor(readonly context: CheckContext) {}

  durable(node: NodeId, records: readonly DurableRecord[]): void {
    for (const record of records) {
      // What is taken back is aborted by those who had committed it, one after the other (`losses.ts` looks at the end
      // of it).
      if (record.kind === 'meta' && record.name === LOSSES_RECORD)
        for (const { txId } of new Losses(record.value).all) this.#excused.add(txId);
      if (record.kind === 'prepared' && record.record !== null) {
        this.#wordsOf(record.txId, record.record.attempt, node).add('prepared');
      } else if (record.kind === 'outcome') {
        this.#ended(node, record.txId, record.record);
      }
    }
  }

  onDataLoss(node: NodeId, left: MemoryState): void {
    for (const [txId, attempts] of this.#transactions) {
      for (const words of attempts.values()) {
        if (words.delete(node) && left.meta.size > 0) this.#excused.add(txId);
      }
    }
  }

  #ended(node: NodeId, txId: TxId, { status, attempt, digest }: OutcomeRecord): void {
    // One that was found among copied versions knows no attempt (D10).
    if (status === 'committed' && digest === null) return;
    this.#wordsOf(txId, attempt, node).add(status);
    const opposite = status === 'committed' ? 'aborted' : 'committed';
    for (const [other, words] of this.#transactions.get(txId)!.get(attempt)!) {
      if (!words.has(opposite) || this.#excused.has(txId)) continue;
      const message = `${node} has ${status} attempt ${attempt} of ${txId}, ${other} has ${opposite} it`;
      this.context.fail(this.name, message, [txId, node, other]);
    }
  }

  #wordsOf(txId: TxId, attempt: number, node: NodeId): Set<'prepared' | OutcomeRecord['status']> {
    const attempts = entry(this.#transactions, txId, () => new Map<number, Words>());
    const words = entry(attempts, attempt, (): Words => new Map());
    return entry(words, node, () => new Set());
  }
}

/** What stands under a name; put there first where nothing does. */
function entry<K, V>(map: Map<K, V>, name: K, create: () => V): V {
  let value = map.get(name);
  if (value === undefined) {
    value = create();
    map.set(name, value);
  }
  return value;
}
