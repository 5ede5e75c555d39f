/** Commits of one connection that its client has sent without waiting for those before them (P8). */
import { IsochronError, type Timestamp, type TxId } from '@isochron/core';
import type { PlacedCommit } from '../coordinator/outcomes.js';
import type { Done } from '../coordinator/request-port.js';

/** Begins a commit, whose timestamp has to be above `above`. */
type Begin = (above: Timestamp, done: Done<PlacedCommit>) => void;

/** A commit that others may follow. */
class Predecessor {
  /** Undefined until it is decided; null if it has not committed. */
  #ct: Timestamp | null | undefined;
  #follower: (ct: Timestamp | null) => void = () => {};

  constructor(readonly txId: TxId) {}

  decided(ct: Timestamp | null): void {
    this.#ct = ct;
    this.#follower(ct);
  }

  /** Calls its only follower, once it is decided. */
  followedBy(follower: (ct: Timestamp | null) => void): void {
    if (this.#ct === undefined) this.#follower = follower;
    else follower(this.#ct);
  }
}

export class CommitOrder {
  #last: Predecessor | undefined;

  /**
   * Begins a commit: at once, or, behind the connection's last one, once that one has committed, above it. If that one
   * ends in any other way, the commit does not begin, and ends with SESSION_BLOCKED.
   * @throws IsochronError SESSION_BLOCKED where it follows another one than the last
   */
  add(txId: TxId, after: TxId | null, begin: Begin, done: Done<PlacedCommit>): void {
    const before = this.#last;
    if (after !== null && before?.txId !== after) throw blocked(after);
    const own = new Predecessor(txId);
    this.#last = own;
    const begun = (above: Timestamp): void =>
      begin(above, (result) => {
        done(result);
        own.decided(result instanceof IsochronError ? null : result.ts);
      });
    if (after === null) {
      begun(0);
      return;
    }
    before!.followedBy((ct) => {
      if (ct !== null) begun(ct);
      else {
        done(blocked(after));
        own.decided(null);
      }
    });
  }
}

/** The refusal of a commit behind one that has not committed on its connection. */
export const blocked = (after: TxId): IsochronError => {
  const detail = `The commit was not begun: ${after}, which it follows, has not committed here. Send it again once that is decided.`;
  return new IsochronError('SESSION_BLOCKED', detail);
};
