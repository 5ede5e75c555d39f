import type { KeyWrite, QualifiedKey } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';
import { textOf, writeIn } from '../evidence/documents.js';
import type { Ledger } from '../evidence/ledger.js';
import type { ClientView } from '../evidence/observations.js';

/** Once all work has ended, every read of a key shows the newest version of it, or a newer one. */
export class VisibleInTheEnd implements Check {
  readonly name = 'visible-in-the-end';
  /** How many versions of each key are older than the newest one at that time. */
  #older: Map<QualifiedKey, number> | undefined;

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
  ) {}

  converged(): void {
    this.#older = new Map([...this.ledger.keys].map((key) => [key, this.#settled(key)]));
  }

  read({ session, txId }: ClientView, key: QualifiedKey, value: KeyWrite['value']): void {
    const older = this.#older?.get(key);
    if (older === undefined || older < 0) return;
    const chain = this.ledger.chain(key);
    if (chain.slice(older).some((version) => writeIn(version.value) === writeIn(value))) return;
    const newest = textOf(chain.at(-1)?.value);
    this.context.fail(this.name, `${session} reads ${key} as ${value} in the healed cluster; it is ${newest}`, [
      txId,
      key,
    ]);
  }

  /** Index of the newest version that no lost disk has damaged; -1 without one. */
  #settled(key: QualifiedKey): number {
    const chain = this.ledger.chain(key);
    let at = chain.length - 1;
    while (at >= 0 && this.ledger.isDamaged(chain[at]!.txId)) at--;
    return at;
  }
}
