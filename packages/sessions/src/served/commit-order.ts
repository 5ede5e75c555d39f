/** Commits of one connection that its client has sent without waiting for those before them (P8). */
import { IsochronError, type Need, type Timestamp, type TxId } from '@isochron/core';
import type { PlacedCommit } from '../coordinator/outcomes.js';
import type { Done } from '../coordinator/request-port.js';

/** What an earlier write needs. */
export type WriteNeed = Need & { readonly ct: Timestamp };

/** Begins a commit, whose timestamp has to be above `above`, and which follows writes that need `behind` (M4). */
type Begin = (above: Timestamp, behind: readonly WriteNeed[], done: Done<PlacedCommit>) => void;

/** What a commit gives to its only follower; null if it has not committed. */
type Followed = { readonly ct: Timestamp; readonly needs: readonly WriteNeed[] } | null;

/** A commit that others may follow. */
class Predecessor {
  /** Undefined until it is decided. */
  #followed: Followed | undefined;
  #follower: (followed: Followed) => void = () => {};

  constructor(readonly txId: TxId) {}

  decided(followed: Followed): void {
    this.#followed = followed;
    this.#follower(followed);
  }

  /** Calls its only follower, once it is decided. */
  followedBy(follower: (followed: Followed) => void): void {
    if (this.#followed === undefined) this.#follower = follower;
    else follower(this.#followed);
  }
}

export class CommitOrder {
  #last: Predecessor | undefined;

  /**
   * Begins a commit: at once, or, behind the connection's last one, once that one has committed, above it. If that one
   * ends in any other way, the commit does not begin, and ends with SESSION_BLOCKED.
   *
   * @param behind what the commit follows, by the client's word
   * @throws IsochronError SESSION_BLOCKED where it follows another one than the last
   */
  add(txId: TxId, after: TxId | null, behind: readonly WriteNeed[], begin: Begin, done: Done<PlacedCommit>): void {
    const before = this.#last;
    if (after !== null && before?.txId !== after) throw blocked(after);
    const own = new Predecessor(txId);
    this.#last = own;
    const begun = (above: Timestamp, needs: readonly WriteNeed[]): void =>
      begin(above, needs, (result) => {
        done(result);
        own.decided(result instanceof IsochronError ? null : followedOf(result, needs));
      });
    if (after === null) {
      begun(0, behind);
      return;
    }
    before!.followedBy((followed) => {
      if (followed !== null) begun(followed.ct, joined(behind, followed.needs));
      else {
        done(blocked(after));
        own.decided(null);
      }
    });
  }
}

const followedOf = ({ ts: ct, nodes }: PlacedCommit, behind: readonly WriteNeed[]): Followed => ({
  ct,
  needs: joined(behind, nodes?.map((node) => ({ node, ct })) ?? [{ ct }]),
});

/** Only the latest write on a node counts. */
function joined(needs: readonly WriteNeed[], later: readonly WriteNeed[]): readonly WriteNeed[] {
  const isBefore = (one: WriteNeed) => later.some(({ node, ct }) => node === one.node && ct >= one.ct);
  const all = later.filter((one) => !needs.some(({ node, ct }) => node === one.node && ct > one.ct));
  return [...needs.filter((one) => !isBefore(one)), ...all];
}

/** The refusal of a commit behind one that has not committed on its connection. */
export const blocked = (after: TxId): IsochronError => {
  const detail = `The commit was not begun: ${after}, which it follows, has not committed here. Send it again once that is decided.`;
  return new IsochronError('SESSION_BLOCKED', detail);
};
