/** Repeats a write, unchanged, until its outcome is known (D4, D5). */
import { IsochronError } from '@isochron/core/errors';
import type { RegionId, Timestamp, TxId } from '@isochron/core/ids';
import { OutcomeUnknownError } from '../errors.js';
import { type Carrier, type Elsewhere, Exchange, type Retry } from '../link/exchange.js';
import type { ClientParts } from './parts.js';

/** The result of a write that succeeded. */
export interface Committed {
  readonly timestamp: Timestamp;
  readonly txId: TxId;
}

/** The fields of every sending of a write. */
export interface Attempt {
  readonly txId: TxId;
  readonly sentAfter: Timestamp;
}

/** The fields that fix the cohorts of an attempt (D4): unchanged from its first sending on. */
interface Cohorts {
  readonly home: RegionId;
  /** Regions that did not answer the node when the attempt was made. */
  readonly avoid: readonly RegionId[];
}

const cohortsOf = ({ region, avoid }: Carrier): Cohorts => ({ home: region, avoid });

/** Answers that exclude an effect: the node refused before it began. */
const NOT_STARTED = new Set([
  'NOT_READY',
  'CREDITS_EXHAUSTED',
  'RATE_LIMITED',
  'SNAPSHOT_UNAVAILABLE',
  'SESSION_BLOCKED',
  'CREDENTIALS_UNAVAILABLE',
]);
/** A cohort has written down that this attempt never commits: it had no effect, and another attempt may commit (D4). */
const ATTEMPT_ABORTED = new Set(['TRANSACTION_ABORTED', 'OVERLOADED', 'STORAGE_FULL', 'CLOCK_DRIFT']);
/** Refusals because the outcome cannot be known any more: its record was dropped, or went with a disk. */
const FORGOTTEN = new Set(['OUTCOME_FORGOTTEN', 'OUTCOME_LOST']);
/** Aborted attempts, as after the crash of a node, before the caller gets the error. */
const MAX_ABORTED_ATTEMPTS = 4;
/** The wire's limit. */
const MAX_ATTEMPTS = 16;
/** How often the deadline of an answer doubles. */
const MAX_DOUBLINGS = 5;

export abstract class OutcomeExchange extends Exchange<Committed> {
  /** Its caller got OUTCOME_UNKNOWN; it goes on in the background. */
  overdue = false;
  /** Its session goes on without it, and does not receive its outcome. */
  detached = false;
  /** It was refused behind the one before it, and waits until that one is decided. */
  held = false;
  /** The write before it has ended, and is not known to have committed. */
  orphaned = false;
  readonly #core: ClientParts;
  readonly #ended: (committedAt?: Timestamp) => void;
  protected abstract readonly attempt: Attempt;
  #attempts: readonly Cohorts[] = [];
  /** It may have had an effect. */
  #inDoubt = false;
  #wasInDoubt = false;
  #sent = false;
  #aborted = 0;
  #refusals = 0;
  /** Sendings with overdue answers. */
  #unanswered = 0;
  #outcomeDeadlineMs = Number.POSITIVE_INFINITY;
  #lastError: IsochronError | undefined;
  /** The error that its caller got before the outcome was known. */
  #unknownError: OutcomeUnknownError | undefined;

  /** @param ended called when the outcome is known, or cannot be found out any more */
  constructor(core: ClientParts, ended: (committedAt?: Timestamp) => void) {
    super();
    this.#core = core;
    this.#ended = ended;
  }

  override get isWrite(): boolean {
    return true;
  }

  get txId(): TxId {
    return this.attempt.txId;
  }

  get sentAfter(): Timestamp {
    return this.attempt.sentAfter;
  }

  /** Whether it may have had an effect, and that is not decided. */
  get inDoubt(): boolean {
    return this.#inDoubt && !this.settled;
  }

  /** Whether it has been sent before. */
  protected get sent(): boolean {
    return this.#sent;
  }

  /** The session goes on without it: it has had no effect, or its outcome cannot be found out. */
  protected abstract gaveUp(): void;

  protected committed(timestamp: Timestamp): void {
    this.done({ timestamp, txId: this.txId });
    this.#unknownError?.settle({ state: 'committed', timestamp });
    this.#ended(timestamp);
  }

  /** The write that it is sent behind, while that one is not decided. */
  protected get before(): TxId | undefined {
    return this.#core.queue.before(this)?.txId;
  }

  lead(): void {
    if (this.#inDoubt) this.deadlineMs = this.#answerDueMs(this.#core.loop.nowMs);
  }

  override refused(error: IsochronError, connection: Carrier): Retry | undefined {
    this.#lastError = error;
    this.#refusals++;
    if (NOT_STARTED.has(error.code)) this.notBegun();
    if (error.code === 'SESSION_BLOCKED' && this.before !== undefined) {
      if (!this.#inDoubt) this.#outcomeDeadlineMs = Number.POSITIVE_INFINITY;
      this.deadlineMs = this.#outcomeDeadlineMs;
      this.held = true;
      return { refusals: Number.POSITIVE_INFINITY, elsewhere: false };
    }
    if (error.code === 'ATTEMPT_MISMATCH' && this.#attempts.length > 1) {
      this.#attempts = this.#attempts.slice(0, -1);
      return this.#retry(false);
    }
    // A node without memory refuses with OVERLOADED what it has not looked at: that decides nothing about an earlier
    // sending, whose cohorts are asked again.
    if (ATTEMPT_ABORTED.has(error.code) && !(error.retryable && this.#wasInDoubt)) {
      // A lasting refusal is retried for a while, elsewhere too; a crash between prepares happens once.
      const again = this.#nextAttempt(connection, error.retryable ? MAX_ATTEMPTS : MAX_ABORTED_ATTEMPTS);
      return again ? this.#retry(error.retryable && this.#refusals % 3 === 0 && 'node') : undefined;
    }
    if (!error.retryable) {
      // The refusal is about this sending alone: an earlier one may have had an effect.
      this.#inDoubt = this.#wasInDoubt;
      return undefined;
    }
    if (error.code === 'OUTCOME_PENDING') return this.#retry(this.#stuck(connection) && 'region');
    if (error.code === 'RATE_LIMITED') return this.#retry(false);
    return this.#retry((error.code === 'NOT_READY' || this.#refusals % 3 === 0) && 'node');
  }

  #retry(elsewhere: Elsewhere): Retry {
    return { refusals: this.#refusals, elsewhere };
  }

  /** No answer in time: a write that is not known to be refused may have happened. */
  override expired(late: IsochronError): boolean {
    const now = this.#core.loop.nowMs;
    if (!this.#inDoubt) {
      this.#core.queue.rejectFrom(this, this.#lastError ?? late);
      return true;
    }
    if (now >= this.#outcomeDeadlineMs && !this.overdue)
      this.#unknown('no answer before the deadline', this.#lastError);
    // The connection is alive but owes this answer for too long: ask on another one.
    if (this.before === undefined && this.#core.suspect(this)) this.#unanswered++;
    this.deadlineMs = this.#answerDueMs(now);
    return false;
  }

  override clientRefused(error: IsochronError): boolean {
    if (this.#inDoubt) this.#unknown(error.message, error);
    else this.failed(error);
    return !this.#inDoubt;
  }

  override cancel(reason: unknown): void {
    if (this.inDoubt) this.#unknown('the caller gave up waiting', reason);
    else this.failed(reason);
  }

  /** A write that it was sent behind has never begun, so neither has this one. */
  endsWithout(reason: unknown): void {
    this.#inDoubt = false;
    this.failed(reason);
  }

  /** It is known to have had no effect, or its outcome cannot be found out any more. */
  override failed(reason: unknown): void {
    if (this.settled) return;
    const isError = reason instanceof IsochronError;
    // A too large sending never left, but an earlier one may have been smaller.
    if (isError && reason.code === 'REQUEST_TOO_LARGE') this.notBegun();
    // If it may have had an effect, a refusal is about its last sending only.
    if (this.#inDoubt && isError && !reason.code.startsWith('OUTCOME_')) this.#unknown(reason.message, reason);
    super.failed(reason);
    const isForgotten = reason instanceof IsochronError && FORGOTTEN.has(reason.code);
    const state = isForgotten ? 'forgotten' : this.#inDoubt ? 'unknown' : 'aborted';
    this.#unknownError?.settle({ state, timestamp: undefined });
    this.gaveUp();
    this.#ended();
  }

  /** Whether a node does not forward it to its last home: the node's own region has to be the next one (D4). */
  protected mustMove(_home: RegionId, _connection: Carrier): boolean {
    return false;
  }

  /** Called before each sending: returns its attempts. */
  protected sending(connection: Carrier): readonly Cohorts[] {
    const home = this.#attempts.at(-1)?.home;
    // The write that it had to be above is undecided: the next attempt waits until that write is given up (D4).
    if (home === undefined || this.orphaned || this.mustMove(home, connection)) this.#addAttempt(connection);
    this.held = this.orphaned = false;
    this.#wasInDoubt = this.#inDoubt;
    this.#inDoubt = true;
    const now = this.#core.loop.nowMs;
    if (!Number.isFinite(this.#outcomeDeadlineMs)) this.#outcomeDeadlineMs = now + this.#core.settings.commitTimeoutMs;
    this.#sent = true;
    this.deadlineMs = this.#answerDueMs(now);
    return this.#attempts;
  }

  /**
   * Deadline of the next answer. If every node needs longer than the request timeout, no repetition would end, so each
   * one may take twice as long as the one before. Behind another write it has to be answered first.
   */
  #answerDueMs(now: number): number {
    if (this.before !== undefined)
      return this.#outcomeDeadlineMs > now ? this.#outcomeDeadlineMs : Number.POSITIVE_INFINITY;
    const dueMs = now + this.#core.settings.requestTimeoutMs * 2 ** Math.min(this.#unanswered, MAX_DOUBLINGS);
    return this.#outcomeDeadlineMs > now ? Math.min(dueMs, this.#outcomeDeadlineMs) : dueMs;
  }

  /**
   * The last sending had no effect. If it was the only one, the commit may still have its home where it is sent next.
   */
  protected notBegun(): void {
    this.#inDoubt = this.#wasInDoubt;
    if (!this.#inDoubt && this.#attempts.length === 1) this.#attempts = [];
  }

  /** The same writes under the same id once more, as the next attempt, unless there have been too many. */
  #nextAttempt(connection: Carrier, most: number): boolean {
    this.#inDoubt = false;
    if (++this.#aborted > most || this.#attempts.length >= MAX_ATTEMPTS) return false;
    this.#attempts = [...this.#attempts, cohortsOf(connection)];
    return true;
  }

  /**
   * The cohorts do not decide. At home, the region may be cut off from one of them, and another region not: returns
   * whether to ask there. Elsewhere, or when other regions are to be avoided by now, other cohorts become the next
   * attempt (D4). It begins only when a cohort of the old one has durably given that up, so an early request does no
   * harm.
   */
  #stuck(connection: Carrier): boolean {
    const next = cohortsOf(connection);
    const last = this.#attempts.at(-1);
    if (last?.home === next.home && last.avoid.join() === next.avoid.join()) return this.#attempts.length === 1;
    this.#addAttempt(connection);
    return false;
  }

  #addAttempt(connection: Carrier): void {
    if (this.#attempts.length < MAX_ATTEMPTS) this.#attempts = [...this.#attempts, cohortsOf(connection)];
  }

  #unknown(why: string, cause?: unknown): void {
    if (this.overdue) return;
    this.overdue = true;
    const { txId, sentAfter } = this.attempt;
    this.#unknownError = new OutcomeUnknownError(txId, sentAfter, why, cause);
    this.rejectCaller(this.#unknownError);
  }
}
