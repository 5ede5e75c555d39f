import { compareVersions, type KeyWrite, type QualifiedKey, type StoredVersion } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';
import { textOf, writeIn } from '../evidence/documents.js';
import type { Ledger } from '../evidence/ledger.js';
import type { ClientView } from '../evidence/observations.js';
import type { Possible } from '../evidence/possible-documents.js';

/**
 * Once all work has ended, every read of a key shows the newest version of it, or a newer one: the document that the
 * version leaves. A late write may leave the document that has overtaken the write (F9).
 */
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
    const left = (version: StoredVersion) =>
      this.ledger.visibleOnes(key, (other) => compareVersions(other, version) <= 0, value);
    const shows = (document: Possible) => writeIn(document?.value ?? null) === writeIn(value);
    if (chain.slice(older).some((version) => left(version).some(shows))) return;
    const newest = textOf(left(chain.at(-1)!)[0]?.value);
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
