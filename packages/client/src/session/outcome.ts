/**
 * Repeats a write, unchanged, until its outcome is known (D4, D5). From its turn in the queue on, a write has three
 * states at a time: of its effect, from `chained` on; of its order, from `ordered` on; and of its audience. A write
 * that is settled does not move any more.
 *
 * | state         | meaning                                | on                                     | next        |
 * | ------------- | -------------------------------------- | -------------------------------------- | ----------- |
 * | `chained`     | no sending may have had an effect      | a sending                              | sent        |
 * |               |                                        | a refusal behind the write before      | held        |
 * | `sent`        | only the last sending may have had one | a refusal without an effect            | chained     |
 * |               |                                        | another sending                        | inDoubt     |
 * | `inDoubt`     | an earlier sending may have had one    | every attempt was aborted              | chained     |
 * |               |                                        | another sending                        | inDoubt     |
 * |               |                                        | a refusal behind the write before      | heldInDoubt |
 * | `held`        | as `chained`, behind the write before  | a sending                              | sent        |
 * | `heldInDoubt` | as `inDoubt`, behind the write before  | a sending                              | inDoubt     |
 * | `ordered`     | goes on above the write before         | the write before ends without a commit | orphaned    |
 * | `orphaned`    | its next sending is another attempt    | a sending                              | ordered     |
 * | `awaited`     | its caller and its session wait        | its caller gets OUTCOME_UNKNOWN        | overdue     |
 * |               |                                        | its session goes on without it         | detached    |
 * | `overdue`     | only its session waits                 | its session goes on without it         | detached    |
 * | `detached`    | its session does not wait              |                                        |             |
 */
import { IsochronError } from '@isochron/core/errors';
import type { RegionId, Timestamp, TxId } from '@isochron/core/ids';
import type { AttemptCohorts } from '@isochron/protocols/kernel/transactions/own-commits';
import { OutcomeUnknownError } from '../errors.js';
import { type Carrier, type Elsewhere, Exchange, type Retry } from '../link/exchange.js';
import type { TransactionStatus } from '../transaction-status.js';
import type { ClientParts, Ended } from './parts.js';

/** A state of a write: of its effect, of its order, or of its audience. */
export type CommitState =
  | 'chained'
  | 'sent'
  | 'inDoubt'
  | 'held'
  | 'heldInDoubt'
  | 'ordered'
  | 'orphaned'
  | 'awaited'
  | 'overdue'
  | 'detached';

/** The table above. */
export const COMMIT_MOVES: Readonly<Record<CommitState, readonly CommitState[]>> = {
  chained: ['sent', 'held'],
  sent: ['chained', 'inDoubt'],
  inDoubt: ['chained', 'inDoubt', 'heldInDoubt'],
  held: ['sent'],
  heldInDoubt: ['inDoubt'],
  ordered: ['orphaned'],
  orphaned: ['ordered'],
  awaited: ['overdue', 'detached'],
  overdue: ['detached'],
  detached: [],
};

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

/** Answers that exclude an effect: the node refused before it began. */
const NOT_STARTED = new Set([
  'NOT_READY',
  'CREDITS_EXHAUSTED',
  'RATE_LIMITED',
  'SNAPSHOT_UNAVAILABLE',
  'SESSION_GAP',
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
  protected readonly core: ClientParts;
  readonly #ended: Ended;
  /** The fields of every sending. */
  abstract readonly attempt: Attempt;
  /** The attempts in their order. */
  readonly #attempts: AttemptCohorts[];
  #aborted = 0;
  #refusals = 0;
  #lastRefusal: IsochronError | undefined;
  /** The states of the effect, the order and the audience. */
  readonly states: CommitState[] = ['chained', 'ordered', 'awaited'];
  /** The error that the caller got before the outcome was known. */
  #unknownError: OutcomeUnknownError | undefined;
  /** Sendings with overdue answers. */
  #unanswered = 0;
  #outcomeDeadlineMs = Number.POSITIVE_INFINITY;

  /**
   * @param ended called when the outcome is known, or cannot be found out any more
   * @param attempts sent before
   */
  constructor(core: ClientParts, ended: Ended, attempts: readonly AttemptCohorts[] = []) {
    super();
    this.core = core;
    this.#ended = ended;
    this.#attempts = [...attempts];
  }

  override get isWrite(): boolean {
    return true;
  }

  get txId(): TxId {
    return this.attempt.txId;
  }

  /** The attempts in their order. */
  get attempts(): readonly AttemptCohorts[] {
    return this.#attempts;
  }

  /** Whether it waits until the session's deferred commits are committed again (M10). */
  protected get isBehindDeferred(): boolean {
    return this.core.own?.deferred[0] !== undefined;
  }

  /** Whether the write is in one of these states. */
  is(...states: readonly CommitState[]): boolean {
    return states.some((state) => this.states.includes(state));
  }

  /** Whether the write may have had an effect, and that is not decided. */
  get inDoubt(): boolean {
    return !this.settled && this.is('sent', 'inDoubt', 'heldInDoubt');
  }

  /** Whether the write waits until the write before it is decided. */
  get isHeld(): boolean {
    return this.is('held', 'heldInDoubt');
  }

  /** The session goes on without the write: it has had no effect, or its outcome cannot be found out. */
  protected abstract gaveUp(): void;

  protected committed(timestamp: Timestamp): void {
    this.done({ timestamp, txId: this.txId });
    this.#end('committed', timestamp);
  }

  #end(state: TransactionStatus['state'], timestamp?: Timestamp): void {
    this.#unknownError?.settle({ state, timestamp });
    this.#ended(timestamp);
  }

  /** The write that this one is sent behind, while that is not decided. */
  protected get before(): TxId | undefined {
    return this.core.queue.before(this);
  }

  /** All writes before this one are decided. */
  lead(): void {
    if (this.inDoubt) this.deadlineMs = this.#answerDueMs(this.core.loop.nowMs);
  }

  override refused(error: IsochronError, connection: Carrier): Retry | undefined {
    const { code, retryable } = error;
    this.#lastRefusal = error;
    this.#refusals++;
    let elsewhere: Elsewhere = this.#refusals % 3 === 0 && 'node';
    if (NOT_STARTED.has(code)) this.notBegun();
    const isDeferred = this.isBehindDeferred && (retryable || ATTEMPT_ABORTED.has(code));
    if (isDeferred && this.is('sent')) this.move('inDoubt');
    if (isDeferred || (code === 'SESSION_BLOCKED' && this.before !== undefined)) {
      if (!this.inDoubt) this.#outcomeDeadlineMs = Number.POSITIVE_INFINITY;
      this.deadlineMs = this.#outcomeDeadlineMs;
      this.move(this.inDoubt ? 'heldInDoubt' : 'held');
      return { refusals: Number.POSITIVE_INFINITY, elsewhere: false };
    }
    if (code === 'ATTEMPT_MISMATCH' && this.#attempts.length > 1) {
      this.#attempts.pop();
      elsewhere = false;
      // A node without memory refuses with OVERLOADED what it has not looked at: that decides nothing about an earlier
      // sending, whose cohorts are asked again.
    } else if (ATTEMPT_ABORTED.has(code) && !(retryable && this.is('inDoubt'))) {
      if (!this.#mayBeDeferred) this.move('chained');
      else if (this.is('sent')) this.move('inDoubt');
      // A lasting refusal is retried for a while, elsewhere too; a crash between prepares happens once.
      if (++this.#aborted > (retryable ? MAX_ATTEMPTS : MAX_ABORTED_ATTEMPTS)) return undefined;
      if (!this.#addAttempt(connection)) return undefined;
      elsewhere = retryable && elsewhere;
    } else if (!retryable) {
      this.#withoutLast();
      return undefined;
    } else if (code === 'OUTCOME_PENDING') elsewhere = this.#stuck(connection) && 'region';
    else if (code === 'NOT_READY') elsewhere = 'node';
    else if (code === 'RATE_LIMITED') elsewhere = false;
    return { refusals: this.#refusals, elsewhere };
  }

  /** No answer in time: a write that is not known to be refused may have happened. */
  override expired(late: IsochronError): boolean {
    const now = this.core.loop.nowMs;
    if (!this.inDoubt) {
      this.core.queue.rejectFrom(this, this.#lastRefusal ?? late);
      return true;
    }
    if (now >= this.#outcomeDeadlineMs) this.#unknown('no answer before the deadline', this.#lastRefusal);
    // The connection is alive but owes this answer for too long: ask on another one.
    if (this.before === undefined && this.core.suspect(this)) this.#unanswered++;
    this.deadlineMs = this.#answerDueMs(now);
    return false;
  }

  override clientRefused(error: IsochronError): boolean {
    if (this.inDoubt) this.#unknown(error.message, error);
    else this.failed(error);
    return this.settled;
  }

  override cancel(reason: unknown): void {
    if (this.inDoubt) this.#unknown('the caller gave up waiting', reason);
    else this.failed(reason);
  }

  /**
   * The write is known to have had no effect, or its outcome cannot be found out any more.
   * @param neverBegan a write that this one was sent behind has never begun, so neither has this one
   */
  override failed(reason: unknown, neverBegan = false): void {
    if (this.settled) return;
    const error = reason instanceof IsochronError ? reason : undefined;
    // A too large sending never left, but an earlier one may have been smaller.
    if (error?.code === 'REQUEST_TOO_LARGE') this.notBegun();
    const inDoubt = this.inDoubt && !neverBegan;
    // If the write may have had an effect, a refusal is about its last sending only.
    if (inDoubt && error?.code.startsWith('OUTCOME_') === false) this.#unknown(error.message, error);
    super.failed(reason);
    this.gaveUp();
    this.#end(error && FORGOTTEN.has(error.code) ? 'forgotten' : inDoubt ? 'unknown' : 'aborted');
  }

  /** Whether a node does not forward it to its last home: the node's own region has to be the next one (D4). */
  protected mustMove(_home: RegionId, _connection: Carrier): boolean {
    return false;
  }

  /** Called before each sending: returns its attempts. */
  protected sending(connection: Carrier): readonly AttemptCohorts[] {
    const last = this.#attempts.at(-1);
    // The write that an orphaned one had to be above is undecided: the next attempt waits until that write is given up
    // (D4).
    if (last === undefined || this.is('orphaned') || this.mustMove(last.home, connection)) this.#addAttempt(connection);
    if (this.is('orphaned')) this.move('ordered');
    this.move(this.inDoubt ? 'inDoubt' : 'sent');
    const now = this.core.loop.nowMs;
    if (!Number.isFinite(this.#outcomeDeadlineMs)) this.#outcomeDeadlineMs = now + this.core.settings.commitTimeoutMs;
    this.deadlineMs = this.#answerDueMs(now);
    return this.#attempts;
  }

  /**
   * Deadline of the next answer. If every node needs longer than the request timeout, no repetition would end, so each
   * one may take twice as long as the one before. Behind another write it has to be answered first.
   */
  #answerDueMs(now: number): number {
    const latestMs = this.#outcomeDeadlineMs > now ? this.#outcomeDeadlineMs : Number.POSITIVE_INFINITY;
    if (this.before !== undefined) return latestMs;
    return Math.min(
      latestMs,
      now + this.core.settings.requestTimeoutMs * 2 ** Math.min(this.#unanswered, MAX_DOUBLINGS),
    );
  }

  /** Whether an earlier attempt may be deferred: then the end of the last attempt decides nothing about that (M7). */
  get #mayBeDeferred(): boolean {
    const [first, ...others] = this.#attempts;
    return others.length > 0 && this.core.own?.hasCutAfter(first!.map) === true;
  }

  /** The last sending had no effect: another one may still have had one. */
  #withoutLast(): void {
    if (this.is('sent')) this.move('chained');
  }

  /** The node refused the last sending before it began. If it was the only one, the commit has no home yet. */
  protected notBegun(): void {
    this.#withoutLast();
    if (!this.inDoubt && this.#attempts.length === 1) this.#attempts.pop();
  }

  /** The same writes follow under the same id as the next attempt. Returns whether the wire's limit permits it. */
  #addAttempt(connection: Carrier): boolean {
    return this.#attempts.length < MAX_ATTEMPTS && this.#attempts.push(this.#cohortsOf(connection)) > 0;
  }

  /**
   * The cohorts do not decide. At home, the region may be cut off from one of them, and another region not: returns
   * whether to ask there. Elsewhere, under another map, or when other regions are to be avoided by now, other cohorts
   * become the next attempt (D4). It begins only when a cohort of the old attempt has durably given that up, so an
   * early request does no harm.
   */
  #stuck(connection: Carrier): boolean {
    const next = this.#cohortsOf(connection);
    const last = this.#attempts.at(-1);
    if (JSON.stringify(last) === JSON.stringify(next)) return this.#attempts.length === 1;
    this.#addAttempt(connection);
    return false;
  }

  /** Behind deferred commits, an attempt belongs to a map before the cut: the cut defers the attempt, too (M4). */
  #cohortsOf({ region, avoid, map }: Carrier): AttemptCohorts {
    const before = this.isBehindDeferred ? this.core.own?.mapBefore : undefined;
    return { home: region, avoid, map: before === undefined ? map : Math.min(map, before) };
  }

  #unknown(why: string, cause?: unknown): void {
    if (this.#unknownError !== undefined) return;
    this.#unknownError = new OutcomeUnknownError(this.txId, this.attempt.sentAfter, why, cause);
    if (!this.is('detached')) this.move('overdue');
    this.rejectCaller(this.#unknownError);
  }

  /** @throws TypeError for a move that the table does not have */
  move(to: CommitState): void {
    const at = this.states.findIndex((from) => COMMIT_MOVES[from].includes(to));
    if (this.settled || at < 0) throw new TypeError(to);
    this.states[at] = to;
  }
}
