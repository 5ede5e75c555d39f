import type { KeyWrite, Timestamp, TxId } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';

/**
 * Each acknowledged write of a session has a commit timestamp above that of its preceding write (P8).
 */
export class WritesAscend implements Check {
  readonly name = 'writes-ascend';
  readonly #last = new Map<string, { readonly txId: TxId; readonly ct: Timestamp }>();

  constructor(readonly context: CheckContext) {}

  acknowledged(txId: TxId, ct: Timestamp, _writes: readonly KeyWrite[], session?: string): void {
    if (session === undefined) return;
    const last = this.#last.get(session);
    this.#last.set(session, { txId, ct });
    if (last === undefined || ct > last.ct) return;
    const message = `${session} was acknowledged ${txId} at ${ct}, and ${last.txId}, which it wrote before, at ${last.ct}`;
    this.context.fail(this.name, message, [txId, last.txId]);
  }
}
