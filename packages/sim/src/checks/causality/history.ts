import { checkHistory, LEVELS, type LevelName, type Op, type Transaction } from '@isochron/checker';
import type { Check, CheckContext } from '../check.js';
import type { Ledger } from '../evidence/ledger.js';
import { isLate } from '../evidence/slices.js';

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
   * follows from them. Late writes without effect are removed as well: nothing was overwritten by them (F9).
   */
  #withoutDamage(): readonly Transaction[] {
    const gone = new Set(this.history.flatMap((line) => this.#lost(line)).map(nameOf));
    if (gone.size === 0) return this.history;
    return this.history.map((line) => ({ ...line, ops: line.ops.filter((op) => !gone.has(nameOf(op))) }));
  }

  /** The writes of a transaction that may not be there. */
  #lost({ tx, ops }: Transaction): readonly Op[] {
    const writes = ops.filter(({ f }) => f === 'w');
    if (this.ledger.isDamaged(tx)) return writes;
    const committed = this.ledger.committed(tx);
    if (committed === undefined || !isLate(committed)) return [];
    const all = [...committed.slices.values()].flatMap((slice) => slice.writes);
    const overtaken = new Set(all.filter((write) => !this.ledger.hasEffect(write, committed)).map(({ key }) => key));
    return writes.filter(({ k }) => overtaken.has(k));
  }
}

const nameOf = ({ k, v }: Op): string => `${k}=${v}`;
