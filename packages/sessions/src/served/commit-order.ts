/** Commits of one connection that its client has sent without waiting for those before them (P8). */
import { IsochronError, type TxId } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { Done } from '../coordinator/request-port.js';

/** Begins a commit, which depends on the one before it and has to be above that. */
type Begin = (before: Snapshot | undefined, done: Done<Snapshot>) => void;

/** A commit that others may follow. */
class Predecessor {
  /** Undefined until it is decided; null if it has not committed. */
  #commit: Snapshot | null | undefined;
  #follower: (commit: Snapshot | null) => void = () => {};

  constructor(readonly txId: TxId) {}

  decided(commit: Snapshot | null): void {
    this.#commit = commit;
    this.#follower(commit);
  }

  /** Calls its only follower, once it is decided. */
  followedBy(follower: (commit: Snapshot | null) => void): void {
    if (this.#commit === undefined) this.#follower = follower;
    else follower(this.#commit);
  }
}

export class CommitOrder {
  #last: Predecessor | undefined;

  /**
   * Begins a commit: at once, or, behind the connection's last one, once that one has committed, above it. If that one
   * ends in any other way, the commit does not begin, and ends with SESSION_BLOCKED.
   * @throws IsochronError SESSION_BLOCKED where it follows another one than the last
   */
  add(txId: TxId, after: TxId | null, begin: Begin, done: Done<Snapshot>): void {
    const before = this.#last;
    if (after !== null && before?.txId !== after) throw blocked(after);
    const own = new Predecessor(txId);
    this.#last = own;
    const begun = (commit: Snapshot | undefined): void =>
      begin(commit, (result) => {
        done(result);
        own.decided(result instanceof IsochronError ? null : result);
      });
    if (after === null) {
      begun(undefined);
      return;
    }
    before!.followedBy((commit) => {
      if (commit !== null) begun(commit);
      else {
        done(blocked(after));
        own.decided(null);
      }
    });
  }
}

const blocked = (after: TxId): IsochronError => {
  const detail = `The commit was not begun: ${after}, which it follows, has not committed here. Send it again once that is decided.`;
  return new IsochronError('SESSION_BLOCKED', detail);
};
