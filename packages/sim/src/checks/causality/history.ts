import { checkHistory, LEVELS, type LevelName, type Op, type Transaction } from '@isochron/checker';
import type { Check, CheckContext } from '../check.js';
import type { Ledger } from '../evidence/ledger.js';

/** The clients' observations are consistent to a level, judged from their histories alone (`packages/checker`). */
export class ConsistentHistory implements Check {
  readonly name: string;

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
    /** One line per transaction, as clients recorded them. */
    readonly history: readonly Transaction[],
    readonly level: LevelName,
  ) {
    this.name = `${level}-history`;
  }

  end(): void {
    const verdict = checkHistory(this.#withoutDamage(), { level: LEVELS[this.level], maxViolations: 1 });
    if (verdict.ok) return;
    for (const { name, message, transactions } of verdict.violations) {
      const about = transactions.map(({ tx }) => tx);
      this.context.fail(this.name, `${name}: ${message}`, about);
    }
  }

  /**
   * Removes the writes of damaged transactions, and the transactions that read them: part of them is gone, so nothing
   * follows from them.
   */
  #withoutDamage(): readonly Transaction[] {
    const damaged = this.history.filter(({ tx }) => this.ledger.isDamaged(tx));
    if (damaged.length === 0) return this.history;
    const gone = new Set(damaged.flatMap(({ ops }) => ops.filter(({ f }) => f === 'w')).map(nameOf));
    return this.history.map((line) => ({ ...line, ops: line.ops.filter((op) => !gone.has(nameOf(op))) }));
  }
}

const nameOf = ({ k, v }: Op): string => `${k}=${v}`;
