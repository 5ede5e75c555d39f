/** Claims: whether the document that a transaction stored with `init` is the one that every region reads (F7). */
import type { QualifiedKey, Timestamp, TxId, Value } from '@isochron/core/ids';
import type { RequestFrame } from '@isochron/wire/session-frames';
import { malformed } from '../errors.js';
import { type Caller, type Cancellable, Exchange, unexpected } from '../link/exchange.js';
import type { Answer, KeyOrigin } from '../link/frames.js';
import type { ClientCore } from './core.js';
import type { Committed } from './outcome.js';

/** The outcome of a claim. */
export interface Claimed {
  /** Whether the claim's own transaction made the document. */
  readonly won: boolean;
  /**
   * The document in the snapshot of the claim; null if another version of that timestamp deleted it, and for a user who
   * may not read it.
   */
  readonly value: Value | null;
}

/** Reads a key in exactly one snapshot, with the version that made its document. */
class OriginExchange extends Exchange<KeyOrigin> {
  constructor(
    readonly key: QualifiedKey,
    readonly at: Timestamp,
    readonly txId: TxId,
  ) {
    super();
  }

  frame(id: number): RequestFrame {
    return { type: 'origin', id, key: this.key, at: this.at, tx: this.txId };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'origin') throw unexpected(frame);
    if (frame.value !== null && frame.origin === null) throw malformed('a document without an origin');
    this.done(frame);
  }
}

/**
 * Waits until the claim's transaction is stable, and reads the key at its timestamp: nothing at or below that can
 * change any more. Rejects with STABLE_TIMEOUT, and with SNAPSHOT_TOO_OLD for a claim that is asked for too late.
 */
export type DecideClaim = (
  core: ClientCore,
  key: QualifiedKey,
  commit: Committed,
  timeoutMs: number,
  caller: Caller<Claimed>,
) => Cancellable;

export const decideClaim: DecideClaim = (core, key, { timestamp, txId }, timeoutMs, { resolve, reject }) => {
  const read = (at: Timestamp): void => {
    const decide = ({ value, origin }: KeyOrigin): void =>
      resolve({ won: origin?.[0] === at && origin[1] === txId, value: value?.[1] ?? null });
    current = new OriginExchange(key, at, txId).run(core.connector.dispatcher.submitTimed, { resolve: decide, reject });
  };
  let current: Cancellable | undefined;
  const waiting = core.stable(timestamp, timeoutMs, { resolve: read, reject });
  current ??= waiting;
  return { cancel: (reason) => current?.cancel(reason) };
};
