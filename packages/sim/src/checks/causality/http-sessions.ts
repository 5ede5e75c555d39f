import type { QualifiedKey, TxId, Version } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';
import { isSameContent } from '../evidence/documents.js';
import type { Ledger } from '../evidence/ledger.js';
import type { OwnWrite } from '../evidence/observations.js';

/**
 * A request with a token sees everything that the token's lineage has written or read, or newer versions. The lineage
 * is the chain of requests through which the token was given, back to one without a token. Other uses of the tokens in
 * between change nothing.
 */
export class HttpSessionsSeeTheirLineage implements Check {
  readonly name = 'http-sessions';

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
  ) {}

  httpRead(caller: string, id: TxId, key: QualifiedKey, version: Version | null, known: OwnWrite | undefined): void {
    if (known === undefined || this.#isEnough(key, version, known)) return;
    const seen = version === null ? 'nothing' : `${String(version.value)} of ${version.ts}`;
    const message = `${caller} reads ${key} as ${seen} in ${id}, its lineage has ${String(known.value)} of ${known.ct}`;
    if (!this.#isOpen(key, known)) this.context.fail(this.name, message, [id, key, known.txId]);
  }

  #isEnough(key: QualifiedKey, version: Version | null, known: OwnWrite): boolean {
    if (version !== null) return version.ts >= known.ct;
    // In the end, a deletion leaves no tombstone.
    const { ct } = known;
    return known.value === null || this.ledger.chain(key).some(({ ts, value }) => value === null && ts >= ct);
  }

  /** Whether a lost disk has taken the write, or a map has deferred it. */
  #isOpen(key: QualifiedKey, { ct, txId, value }: OwnWrite): boolean {
    if (this.ledger.isDeferred(txId) || this.ledger.hasDeferred(ct)) return true;
    const version = this.ledger.chain(key).find((one) => one.ts === ct && isSameContent(one.value, value));
    return version !== undefined && this.ledger.isDamaged(version.txId);
  }
}
