import type { KeyWrite, QualifiedKey, Timestamp } from '@isochron/core';
import type { Check, CheckContext } from './check.js';
import type { Ledger } from './ledger.js';
import type { ClientView } from './observations.js';

/**
 * A client's cache never hides a newer visible version, and never misses an own write: what a read shows is the transaction's own
 * write, else the newer of what the snapshot shows and what the session wrote before (P7). Snapshots of a session never fall.
 */
export class ClientReads implements Check {
  readonly name = 'client-reads';

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
  ) {}

  snapshot(client: ClientView, snapshot: Timestamp): void {
    const { session, txId, floor } = client;
    if (snapshot < floor) this.#fail(`${session} was given the snapshot ${snapshot} after ${floor}`, txId, session);
  }

  read(client: ClientView, key: QualifiedKey, value: KeyWrite['value']): void {
    const wanted = this.#wanted(client, key);
    if (wanted.includes(value)) return;
    const { session, txId, snapshot } = client;
    this.#fail(`${session} reads ${key} as ${value} in ${txId} at ${snapshot}, it should see ${wanted[0]}`, txId, key);
  }

  /** What may be seen: one value, unless something was damaged. */
  #wanted({ written, own, snapshot = 0 }: ClientView, key: QualifiedKey): readonly KeyWrite['value'][] {
    const mine = written.get(key);
    if (mine !== undefined) return [mine];
    const before = own.get(key);
    if (before !== undefined && before.ct > snapshot) return [before.value];
    return this.ledger.visibleOnes(key, snapshot).map((version) => version?.value ?? null);
  }

  #fail(message: string, ...about: string[]): void {
    this.context.fail(this.name, message, about);
  }
}
