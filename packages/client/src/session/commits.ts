/** The commits of a session of transactions. */
import { IsochronError } from '@isochron/core/errors';
import type { Timestamp } from '@isochron/core/ids';
import type { KeyWrite } from '@isochron/core/versions';
import type { AttemptCohorts, CommitAttempt, CommitPlace } from '@isochron/protocols/kernel/transactions/own-commits';
import type { SessionTransaction } from '@isochron/protocols/kernel/transactions/session';
import type { CommitFrame, RequestFrame } from '@isochron/wire/session-frames';
import { malformed } from '../errors.js';
import { wireContent } from '../link/codec.js';
import { type Caller, type Cancellable, type Carrier, type Retry, unexpected } from '../link/exchange.js';
import type { Answer } from '../link/frames.js';
import { type Committed, OutcomeExchange } from './outcome.js';
import type { ClientParts, Ended } from './parts.js';
import type { SnapshotHandle } from './snapshot-handle.js';

/**
 * Commits when its turn has come. Cancelled before it is sent, it has no effect; afterwards the outcome is unknown.
 * @param writes what it writes
 * @param begin its transaction, made when the turn has come
 * @param handle the one that it read through, if it did
 */
export function commit(
  core: ClientParts,
  writes: readonly KeyWrite[],
  begin: () => SessionTransaction,
  handle: SnapshotHandle | undefined,
  caller: Caller<Committed>,
): Cancellable | undefined {
  const exchange = (ended: Ended) => new CommitExchange(core, begin(), handle, ended);
  return core.queue.enqueue(writes, exchange, caller, () => handle?.end());
}

class CommitExchange extends OutcomeExchange {
  readonly attempt: CommitAttempt;
  readonly #handle: SnapshotHandle | undefined;
  #writes: CommitFrame['writes'] | undefined;
  /** Whether the last sending was to end an open transaction; undefined before the first one. */
  #sentOpen: boolean | undefined;
  /** The attempt, and once all commits before it are decided, with what it depends on by then. */
  #led: CommitAttempt;

  constructor(
    core: ClientParts,
    readonly tx: SessionTransaction,
    handle: SnapshotHandle | undefined,
    ended: Ended,
  ) {
    super(core, ended);
    this.attempt = this.#led = core.session.attempt(tx);
    this.#handle = handle;
  }

  override lead(): void {
    this.#led = this.core.session.commit(this.tx);
    super.lead();
  }

  frame(id: number, connection: Carrier): RequestFrame {
    const { snapshot, deps, hwt } = this.#led;
    const { before: after } = this;
    // Where the transaction is open, the commit ends it, if it depends on no more than its reads. A commit with a
    // snapshot needs no open transaction, anywhere.
    const open =
      this.#sentOpen === undefined && deps === this.tx.read.deps && this.#handle?.isOpenOn(connection) === true;
    if (!open) this.#handle?.release();
    this.#sentOpen = open;
    this.#writes ??= sentWrites(this.attempt, connection);
    return {
      ...commitFields(this.core, this.attempt, this.sending(connection)),
      id,
      ...(!open && { snapshot, ...(deps && { deps }) }),
      hwt,
      ...(after && { after }),
      writes: this.#writes,
    };
  }

  answered(frame: Answer, connection: Carrier): void {
    if (frame.type !== 'committed') throw unexpected(frame);
    if (this.before !== undefined) throw malformed('answers to commits out of order');
    if (!this.is('detached')) {
      const { map, nodes } = placeOf(this.core, frame, connection);
      const place = this.core.own && { map, nodes, attempts: this.attempts };
      this.core.session.committed(frame.ts, frame.deps, place);
    }
    this.committed(frame.ts);
  }

  override refused(error: IsochronError, connection: Carrier): Retry | undefined {
    if (error.code !== 'TRANSACTION_UNKNOWN' || !this.#sentOpen) return super.refused(error, connection);
    // The server has dropped the open transaction; the commit can do without.
    this.notBegun();
    return { refusals: 0, elsewhere: false };
  }

  protected gaveUp(): void {
    const { session } = this.core;
    if (this.#led === this.attempt) session.end(this.tx);
    else if (!this.is('detached')) session.refused();
    this.#handle?.release();
  }
}

/** The fields of a commit, beside its snapshot and its writes. */
export function commitFields(
  { own }: ClientParts,
  { txId: tx, sentAfter }: CommitAttempt,
  attempts: readonly AttemptCohorts[],
): Omit<CommitFrame, 'id' | 'hwt' | 'writes'> {
  const avoids = attempts.map(({ avoid }) => avoid);
  const maps = attempts.map(({ map }) => map);
  // What it follows (M4).
  const behind = own?.behind() ?? [];
  return {
    type: 'commit',
    tx,
    sentAfter,
    attemptRegions: attempts.map(({ home }) => home),
    ...(avoids.flat()[0] && { avoids }),
    ...(maps.some(Boolean) && { maps }),
    ...(behind[0] && { behind }),
  };
}

/** The writes of a commit as they are sent. */
export const sentWrites = ({ writes }: CommitAttempt, { codec }: Carrier): CommitFrame['writes'] =>
  writes.map(({ key, value }) => ({ key, value: wireContent(codec, value) }));

/**
 * The place of a commit. An answer without the nodes comes from what the node knows of the outcome: no map up to that
 * of the node defers the commit.
 *
 * @throws IsochronError OUTCOME_PENDING for an answer that is older than a cut which defers the commit: the commit is
 *   in doubt until it is made again (M10)
 */
export function placeOf({ own }: ClientParts, { ts, map, nodes }: CommittedAnswer, connection: Carrier): CommitPlace {
  const place = { map: nodes === undefined ? (map ?? connection.map) : map, nodes };
  if (own?.isOvertaken(ts, place)) throw new IsochronError('OUTCOME_PENDING', 'a newer map has deferred this commit');
  return place;
}

type CommittedAnswer = CommitPlace & { readonly ts: Timestamp };
