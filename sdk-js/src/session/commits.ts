/**
 * The session's commits, one in flight at a time: the next one is not sent until the outcome of the one before is known, or
 * it might be ordered before it (P8). A commit is repeated, unchanged, until it is known what became of it (D4, D5).
 */
import { IsochronError } from '@isochron/core/errors';
import type { RegionId, Timestamp, TxId } from '@isochron/core/ids';
import type { CommitAttempt, SessionTransaction } from '@isochron/protocols/paris/session';
import type { CommitFrame, RequestFrame } from '@isochron/wire/session-frames';
import { OutcomeUnknownError } from '../errors.js';
import type { Connection } from '../transport/connection.js';
import { type Elsewhere, Exchange, type Retry, unexpected } from '../transport/exchange.js';
import type { Answer } from '../transport/frames.js';
import type { SessionCore } from './core.js';
import type { SnapshotHandle } from './snapshot-handle.js';

/** What is known of a commit that succeeded. */
export interface Committed {
  readonly timestamp: Timestamp;
  readonly txId: TxId;
}

/** A commit that waits for its turn. */
export interface CommitJob {
  /** Its transaction, made when the turn has come. */
  readonly begin: () => SessionTransaction;
  /** The handle that it read through, if it did. */
  readonly handle?: SnapshotHandle;
}

interface Queued {
  readonly job: CommitJob;
  readonly signal: AbortSignal | undefined;
  readonly queuedMs: number;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (reason: unknown) => void;
  readonly forget: () => void;
}

/** Answers after which nothing can have happened: the node refused before it began. */
const BEFORE_THE_BEGINNING = new Set(['NOT_READY', 'CREDITS_EXHAUSTED']);
/** A cohort has written down that this attempt never commits: nothing of it has happened, and another attempt may commit (D4). */
const ATTEMPT_OVER = new Set(['TRANSACTION_ABORTED', 'OVERLOADED', 'STORAGE_FULL', 'CLOCK_DRIFT']);
/** So many attempts that were aborted, as after the crash of a node, before the caller hears of it. */
const MAX_ABORTED_ATTEMPTS = 4;
/** The wire's limit. */
const MAX_HOMES = 16;

export class CommitQueue {
  readonly #core: SessionCore;
  #queue: Queued[] = [];
  #head: CommitExchange | undefined;
  #closed = false;

  constructor(core: SessionCore) {
    this.#core = core;
  }

  /** Commits whose outcome is not known yet, or that wait for their turn. */
  get size(): number {
    return this.#queue.length + (this.#head === undefined ? 0 : 1);
  }

  /** Whether this commit has been sent, and is repeated until its outcome is known. */
  isUnderWay(txId: TxId): boolean {
    return this.#head?.txId === txId;
  }

  /** Commits when its turn has come. `signal` takes it back before it is sent; afterwards the outcome is unknown. */
  enqueue(job: CommitJob, signal?: AbortSignal): Promise<Committed> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(clientClosed());
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => this.#withdraw([queued], () => signal?.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
      const forget = (): void => signal?.removeEventListener('abort', onAbort);
      const queued: Queued = { job, signal, queuedMs: performance.now(), resolve, reject, forget };
      this.#queue.push(queued);
      this.#core.changed();
      this.#next();
    });
  }

  /** Rejects what has waited too long without being sent. Returns whether anything waits. */
  sweep(nowMs: number): boolean {
    if (this.#queue.length === 0) return false;
    const stuck = this.#head?.overdue === true;
    const { offlineSinceMs } = this.#core.connector.dispatcher;
    if (!stuck && offlineSinceMs === undefined) return true;
    const why = stuck ? 'the outcome of an earlier commit is not known' : 'there is no connection';
    const { requestTimeoutMs } = this.#core.settings;
    const sinceMs = stuck ? 0 : (offlineSinceMs ?? 0);
    const late = this.#queue.filter(({ queuedMs }) => Math.max(queuedMs, sinceMs) + requestTimeoutMs <= nowMs);
    this.#withdraw(late, () => new IsochronError('CONNECTION_LOST', `the commit was not sent: ${why}`));
    return true;
  }

  close(): void {
    this.#closed = true;
    this.#withdraw(this.#queue, clientClosed);
  }

  /** The head has ended, one way or the other. */
  ended(): void {
    this.#head = undefined;
    this.#core.changed();
    this.#next();
  }

  #next(): void {
    if (this.#head !== undefined) return;
    const queued = this.#queue.shift();
    if (queued === undefined) return;
    queued.forget();
    const { begin, handle } = queued.job;
    const head = new CommitExchange(this.#core, this.#core.session.commit(begin()), handle);
    this.#head = head;
    const { dispatcher } = this.#core.connector;
    const { offlineSinceMs } = dispatcher;
    const waitsSinceMs = offlineSinceMs === undefined ? performance.now() : Math.max(queued.queuedMs, offlineSinceMs);
    head.deadlineMs = waitsSinceMs + this.#core.settings.requestTimeoutMs;
    head.run(dispatcher.submit, queued.signal).then(queued.resolve, queued.reject);
  }

  #withdraw(those: readonly Queued[], reason: () => unknown): void {
    if (those.length === 0) return;
    const gone = new Set(those);
    this.#queue = this.#queue.filter((queued) => !gone.has(queued));
    for (const { forget, job, reject } of those) {
      forget();
      job.handle?.end();
      reject(reason());
    }
    this.#core.changed();
  }
}

class CommitExchange extends Exchange<Committed> {
  /** Its caller has been told that the outcome is unknown; it goes on in the background. */
  overdue = false;
  readonly #core: SessionCore;
  readonly #attempt: CommitAttempt;
  readonly #handle: SnapshotHandle | undefined;
  #homes: readonly RegionId[] = [];
  #writes: CommitFrame['writes'] | undefined;
  /** It may have had an effect. */
  #inDoubt = false;
  #wasInDoubt = false;
  #sent = false;
  #sentOpen = false;
  #aborted = 0;
  #refusals = 0;
  #outcomeDeadlineMs = Number.POSITIVE_INFINITY;
  #lastError: IsochronError | undefined;

  constructor(core: SessionCore, attempt: CommitAttempt, handle: SnapshotHandle | undefined) {
    super();
    this.#core = core;
    this.#attempt = attempt;
    this.#handle = handle;
  }

  get txId(): TxId {
    return this.#attempt.txId;
  }

  frame(id: number, connection: Connection): RequestFrame {
    const { txId: tx, snapshot, hwt, birth, writes } = this.#attempt;
    // Where the transaction is open, the commit ends it. A commit with a snapshot asks for nothing open, anywhere.
    const open = !this.#sent && this.#handle?.isOpenOn(connection) === true;
    if (!open) this.#handle?.release();
    this.#sentOpen = open;
    this.#sending(connection);
    this.#writes ??= writes.map(({ key, value }) => ({
      key,
      value: value === null ? null : connection.codec.value(value),
    }));
    return {
      type: 'commit',
      id,
      tx,
      ...(open ? {} : { snapshot }),
      hwt,
      birth,
      homes: this.#homes,
      writes: this.#writes,
    };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'committed') throw unexpected(frame);
    this.#core.session.committed(frame.ts);
    this.done({ timestamp: frame.ts, txId: this.#attempt.txId });
    this.#core.commits.ended();
  }

  override refused(error: IsochronError, connection: Connection): Retry | undefined {
    this.#lastError = error;
    this.#refusals++;
    if (BEFORE_THE_BEGINNING.has(error.code)) this.#notBegun();
    if (error.code === 'TRANSACTION_UNKNOWN' && this.#sentOpen) {
      // The server forgot the open transaction; the commit itself can do without.
      this.#notBegun();
      return { refusals: 0, elsewhere: false };
    }
    if (error.code === 'ATTEMPT_MISMATCH' && this.#homes.length > 1) {
      this.#homes = this.#homes.slice(0, -1);
      return this.#retry(false);
    }
    if (ATTEMPT_OVER.has(error.code)) {
      // What lasts for a while is tried for a while, elsewhere too; a crash between prepares happens once.
      const again = this.#nextAttempt(connection, error.retryable ? MAX_HOMES : MAX_ABORTED_ATTEMPTS);
      return again ? this.#retry(error.retryable && this.#refusals % 3 === 0 && 'node') : undefined;
    }
    if (!error.retryable) return undefined;
    if (error.code === 'OUTCOME_PENDING') return this.#retry(this.#stuck(connection) && 'region');
    return this.#retry((error.code === 'NOT_READY' || this.#refusals % 3 === 0) && 'node');
  }

  #retry(elsewhere: Elsewhere): Retry {
    return { refusals: this.#refusals, elsewhere };
  }

  /** No answer in time: whatever is not known to have been refused may have happened. */
  override expired(): boolean {
    const now = performance.now();
    if (!this.#inDoubt) {
      this.failed(
        this.#lastError ?? new IsochronError('CONNECTION_LOST', 'the commit was not sent: there is no connection'),
      );
      return true;
    }
    if (now >= this.#outcomeDeadlineMs && !this.overdue)
      this.#unknown('no answer before the deadline', this.#lastError);
    // The connection is alive but owes this answer for too long: ask on another one.
    this.deadlineMs = Math.min(now + this.#core.settings.requestTimeoutMs, this.#nextDeadlineMs(now));
    this.#core.suspect(this);
    return false;
  }

  override hopeless(error: IsochronError): boolean {
    if (this.#inDoubt) this.#unknown(error.message, error);
    else this.failed(error);
    return !this.#inDoubt;
  }

  override closed(): void {
    if (this.#inDoubt) {
      this.#unknown('the client was closed');
      this.settled = true;
    } else this.failed(clientClosed());
  }

  protected override aborted(reason: unknown): void {
    if (this.#inDoubt) this.#unknown('the caller gave up waiting', reason);
    else this.failed(reason);
  }

  /** Known to have had no effect, or an outcome that nobody can find out any more. */
  override failed(reason: unknown): void {
    if (this.settled) return;
    super.failed(reason);
    this.#core.session.refused();
    this.#handle?.release();
    this.#core.commits.ended();
  }

  #sending(connection: Connection): void {
    if (this.#homes.length === 0) this.#homes = [connection.region];
    this.#wasInDoubt = this.#inDoubt;
    this.#inDoubt = true;
    const { requestTimeoutMs, commitTimeoutMs } = this.#core.settings;
    const now = performance.now();
    if (!this.#sent) this.#outcomeDeadlineMs = now + commitTimeoutMs;
    this.#sent = true;
    this.deadlineMs = Math.min(now + requestTimeoutMs, this.#nextDeadlineMs(now));
  }

  #nextDeadlineMs(now: number): number {
    return this.#outcomeDeadlineMs > now ? this.#outcomeDeadlineMs : Number.POSITIVE_INFINITY;
  }

  /** The last sending has done nothing. Where it was the only one, the commit may still have its home where it is sent next. */
  #notBegun(): void {
    this.#inDoubt = this.#wasInDoubt;
    if (!this.#inDoubt && this.#homes.length === 1) this.#homes = [];
  }

  /** The same writes under the same id once more, as the next attempt, where there have not been too many. */
  #nextAttempt({ region }: Connection, most: number): boolean {
    this.#inDoubt = false;
    if (++this.#aborted > most || this.#homes.length >= MAX_HOMES) return false;
    this.#homes = [...this.#homes, region];
    return true;
  }

  /**
   * The cohorts do not decide. At home that may be because the region is cut off from one of them, and another one is not: returns whether
   * to ask there. Elsewhere, that region's cohorts become the next attempt (D4); it begins only when a cohort of the
   * old home has durably given that up, so there is no harm in asking for it early.
   */
  #stuck({ region }: Connection): boolean {
    if (region === this.#homes.at(-1)) return this.#homes.length === 1;
    if (this.#homes.length < MAX_HOMES) this.#homes = [...this.#homes, region];
    return false;
  }

  #unknown(why: string, cause?: unknown): void {
    this.overdue = true;
    const { txId, birth } = this.#attempt;
    this.tell(new OutcomeUnknownError(txId, birth, why, cause));
  }
}

const clientClosed = (): IsochronError => new IsochronError('CLIENT_CLOSED', 'the client was closed');
