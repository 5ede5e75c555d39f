import type { QualifiedKey, Timestamp, TxId } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';
import type { AppliedVersions } from '../evidence/applied-versions.js';
import type { Ledger } from '../evidence/ledger.js';

/** Answers that a repetition of the same write never gets: it was taken for another write or another attempt. */
const TAKEN_FOR_ANOTHER = new Set(['ATTEMPT_MISMATCH', 'TX_ID_REUSED']);

/** The answers to one id. */
interface IdAnswers {
  readonly keys: readonly QualifiedKey[];
  ct?: Timestamp;
  aborted: boolean;
}

/**
 * A write that is repeated over HTTP under its Idempotency-Key, in whatever regions, has one effect (D4): all its
 * answers have one commit timestamp, unless a map has deferred it, none reports it as aborted beside that, and no disk
 * ends with two versions of it.
 */
export class OneEffect implements Check {
  readonly name = 'one-effect';
  readonly #answers = new Map<TxId, IdAnswers>();

  constructor(
    readonly context: CheckContext,
    readonly ledger: Pick<Ledger, 'isDamaged' | 'isDeferred'>,
    readonly applied: Pick<AppliedVersions, 'of'>,
  ) {}

  httpRepeated(txId: TxId, answer: Timestamp | string, keys: readonly QualifiedKey[]): void {
    const answers = this.#answers.get(txId) ?? { keys, aborted: false };
    this.#answers.set(txId, answers);
    if (typeof answer === 'string') {
      if (TAKEN_FOR_ANOTHER.has(answer)) this.#fail(txId, `a repetition of ${txId} is refused with ${answer}`);
      answers.aborted ||= answer === 'TRANSACTION_ABORTED';
    } else {
      if (answers.ct !== undefined && answers.ct !== answer && !this.ledger.isDeferred(txId))
        this.#fail(txId, `${txId} is acknowledged at ${answers.ct} and at ${answer}`);
      answers.ct = answer;
    }
    if (answers.aborted && answers.ct !== undefined)
      this.#fail(txId, `${txId} is acknowledged at ${answers.ct}, and reported as aborted`);
  }

  converged(): void {
    for (const [txId, { keys }] of this.#answers) for (const key of keys) this.#once(txId, key);
  }

  #once(txId: TxId, key: QualifiedKey): void {
    const found = this.applied.of(txId, key);
    if (found.length > 1) this.#fail(txId, `${key} has versions of ${txId} at ${found.join(' and ')}`);
  }

  #fail(txId: TxId, message: string): void {
    if (!this.ledger.isDamaged(txId)) this.context.fail(this.name, message, [txId]);
  }
}
