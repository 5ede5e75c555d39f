/**
 * What a session does one at a time: writes, and under protocols of single operations everything. The next one is not
 * sent until the outcome of the one before is known, or it might be ordered before it (P8).
 */
import { IsochronError } from '@isochron/core/errors';
import type { Timestamp, TxId } from '@isochron/core/ids';
import { clientClosed, SessionBlockedError } from '../errors.js';
import type { Caller, Cancellable, Exchange } from '../link/exchange.js';
import type { ClientCore } from './core.js';

/** What is under way. */
export interface Turn<T = unknown> extends Exchange<T> {
  /** Its caller got OUTCOME_UNKNOWN; it goes on in the background. */
  readonly overdue?: boolean;
  /** Of a write. */
  readonly txId?: TxId;
  readonly birth?: Timestamp;
  /** Whether it may have had an effect, and it is not known whether it has. */
  readonly inDoubt?: boolean;
  /** Its session goes on without it. */
  detached?: boolean;
}

/** What waits for its turn. */
export interface Job<T = unknown> {
  readonly writes: boolean;
  /** Its turn has come. `ended` is called once its outcome is known, or nothing can find it out any more. */
  readonly begin: (ended: () => void) => Turn<T>;
  /** It has been taken back. */
  readonly drop?: () => void;
}

/** A job in the queue, or under way. */
class Queued implements Cancellable {
  /** Undefined while it waits. */
  turn: Turn | undefined;

  constructor(
    readonly job: Job,
    readonly caller: Caller<unknown>,
    readonly queuedMs: number,
    readonly withdraw: (queued: Queued, reason: unknown) => void,
  ) {}

  cancel(reason: unknown): void {
    if (this.turn === undefined) this.withdraw(this, reason);
    else this.turn.cancel(reason);
  }
}

export class CommitQueue {
  readonly #core: ClientCore;
  #queue: Queued[] = [];
  #head: Turn | undefined;
  #headWrites = false;
  #headSinceMs = 0;
  /** Writes that the session goes on without, and when each was asked for. */
  readonly #detached = new Map<Turn, number>();
  #closed = false;

  constructor(core: ClientCore) {
    this.#core = core;
  }

  /** When each write was asked for whose outcome is not known yet, those that wait for their turn included. */
  get writesSinceMs(): readonly number[] {
    const queued = this.#queue.filter(({ job }) => job.writes).map(({ queuedMs }) => queuedMs);
    return [...this.#detached.values(), ...(this.#headWrites ? [this.#headSinceMs] : []), ...queued];
  }

  /** Whether this write has been sent, and is repeated until its outcome is known. */
  isUnderWay(txId: TxId): boolean {
    return this.#head?.txId === txId || [...this.#detached.keys()].some((turn) => turn.txId === txId);
  }

  /**
   * Gives up the order behind the write under way, where its outcome is not known: what waits for its turn goes on.
   * Returns its id.
   * @param detach makes the session another one
   */
  detach(detach: () => void): TxId | undefined {
    const head = this.#head;
    if (head?.inDoubt !== true) return undefined;
    detach();
    head.detached = true;
    this.#detached.set(head, this.#headSinceMs);
    this.#free();
    return head.txId;
  }

  /** Begins it when its turn has come. What is taken back before that has no effect; later its exchange is. */
  enqueue<T>(job: Job<T>, caller: Caller<T>): Cancellable | undefined {
    if (this.#closed) {
      caller.reject(clientClosed());
      return undefined;
    }
    // What is not in the queue any more has been settled.
    const withdraw = (one: Queued, reason: unknown): void =>
      this.#withdraw(
        this.#queue.filter((other) => other === one),
        () => reason,
      );
    const queued = new Queued(job, caller as Caller<unknown>, this.#core.loop.nowMs, withdraw);
    this.#queue.push(queued);
    this.#core.changed();
    this.#next();
    return queued;
  }

  /** Rejects what has waited too long without being sent. Returns whether anything waits. */
  sweep(nowMs: number): boolean {
    if (this.#queue.length === 0) return false;
    const stuck = this.#head?.overdue === true;
    const { offlineSinceMs } = this.#core.connector.dispatcher;
    if (!stuck && offlineSinceMs === undefined) return true;
    const { requestTimeoutMs } = this.#core.settings;
    const sinceMs = stuck ? 0 : (offlineSinceMs ?? 0);
    const late = this.#queue.filter(({ queuedMs }) => Math.max(queuedMs, sinceMs) + requestTimeoutMs <= nowMs);
    this.#withdraw(late, () => this.#lateError());
    return true;
  }

  /** Why what waits for its turn was not sent. */
  #lateError(): IsochronError {
    const { overdue, txId, birth } = this.#head ?? {};
    if (overdue === true && txId !== undefined && birth !== undefined) return new SessionBlockedError(txId, birth);
    return new IsochronError('CONNECTION_LOST', 'the request was not sent: there is no connection');
  }

  close(): void {
    this.#closed = true;
    this.#withdraw(this.#queue, clientClosed);
  }

  #next(): void {
    if (this.#head !== undefined) return;
    const queued = this.#queue.shift();
    if (queued === undefined) return;
    const head: Turn = queued.job.begin(() => this.#ended(head));
    queued.turn = head;
    this.#head = head;
    this.#headWrites = queued.job.writes;
    this.#headSinceMs = queued.queuedMs;
    const { dispatcher } = this.#core.connector;
    const { offlineSinceMs } = dispatcher;
    const waitsSinceMs =
      offlineSinceMs === undefined ? this.#core.loop.nowMs : Math.max(queued.queuedMs, offlineSinceMs);
    head.deadlineMs = waitsSinceMs + this.#core.settings.requestTimeoutMs;
    head.run(dispatcher.submit, queued.caller);
  }

  /** A write has ended, one way or the other. */
  #ended(turn: Turn): void {
    if (this.#detached.delete(turn)) this.#core.changed();
    else this.#free();
  }

  /** It is the next one's turn. */
  #free(): void {
    this.#head = undefined;
    this.#headWrites = false;
    this.#core.changed();
    this.#next();
  }

  #withdraw(those: readonly Queued[], reason: () => unknown): void {
    if (those.length === 0) return;
    const gone = new Set(those);
    this.#queue = this.#queue.filter((queued) => !gone.has(queued));
    for (const { job, caller } of those) {
      job.drop?.();
      caller.reject(reason());
    }
    this.#core.changed();
  }
}
