/**
 * The requests that a session makes in order: writes, and under protocols of single operations reads too. Where nodes
 * chain commits, a write is sent behind the ones before it, and begins above them once they have committed. Elsewhere
 * it is sent once the outcome of the one before is known, or it might be ordered before it (P8).
 */
import type { IsochronError } from '@isochron/core/errors';
import type { QualifiedKey, Timestamp, TxId } from '@isochron/core/ids';
import { clientClosed, late, SessionBlockedError } from '../errors.js';
import type { Caller, Cancellable } from '../link/exchange.js';
import type { ClientParts } from './parts.js';
import type { QueuedExchange, QueueEntry, WriteFollower } from './queued-exchange.js';

/** What a client left undone when it closed. */
export interface CloseReport {
  /** The keys, with their keyspaces, of each write that had no effect; in the order of the calls. */
  readonly dropped: readonly (readonly QualifiedKey[])[];
  /** The writes that may have had an effect: `client.transactionStatus` of another client has their outcomes. */
  readonly undecided: readonly { readonly txId: TxId; readonly sentAfter: Timestamp }[];
}

/** Writes that are under way at a time. */
const MAX_CHAINED = 128;

/** A job in the queue, or under way. */
class Queued implements Cancellable {
  /** Undefined while it waits. */
  turn: QueuedExchange | undefined;

  constructor(
    readonly job: QueueEntry,
    readonly caller: Caller<unknown>,
    readonly queuedMs: number,
    readonly queue: CommitQueue,
  ) {}

  cancel(reason: unknown): void {
    if (this.turn === undefined) this.queue.withdraw([this], reason);
    else this.turn.cancel(reason);
  }
}

export class CommitQueue {
  readonly #core: ClientParts;
  #queue: Queued[] = [];
  /** Exchanges under way, in order. Only the first one may have had an effect that those behind it have not had. */
  readonly #chain: QueuedExchange[] = [];
  /** Writes that the session no longer waits for. */
  readonly #detached = new Set<QueuedExchange>();
  /** The entry of each exchange under way. */
  readonly #entries = new Map<QueuedExchange, QueueEntry>();
  #closed = false;
  follower: WriteFollower | undefined;

  constructor(core: ClientParts) {
    this.#core = core;
  }

  /** When each undecided write was called, those that wait for their turn included. */
  get writesSinceMs(): readonly number[] {
    const begun = this.#begun.filter(({ txId }) => txId !== undefined);
    const queued = this.#queue.filter(({ job }) => job.writes !== undefined);
    return [...begun, ...queued].map(({ queuedMs }) => queuedMs!);
  }

  get #begun(): QueuedExchange[] {
    return [...this.#detached, ...this.#chain];
  }

  /** The undecided writes of the session, in their order. */
  get undecided(): QueueEntry[] {
    return [...this.#chain.map((turn) => this.#entries.get(turn)!), ...this.#queue.map(({ job }) => job)];
  }

  /** The session's writes that may have had an effect, and are not decided. */
  get inDoubt(): QueuedExchange[] {
    return this.#chain.filter((turn) => turn.inDoubt);
  }

  /** Whether this write has been sent, and is repeated until its outcome is known. */
  isUnderWay(txId: TxId): boolean {
    return this.#begun.some((turn) => turn.txId === txId);
  }

  /** The write before this one, while that is not decided. */
  before(turn: QueuedExchange): QueuedExchange | undefined {
    return this.#chain[this.#chain.indexOf(turn) - 1];
  }

  /**
   * Gives up the order behind the first write under way, if its outcome is unknown: the entries behind it go on.
   * Returns its id.
   * @param detach makes the session another one
   */
  detach(detach: () => void): TxId | undefined {
    const [head] = this.#chain;
    if (head?.inDoubt !== true) return undefined;
    detach();
    head.detached = true;
    this.#detached.add(head);
    this.#decided(head);
    this.#leave(head);
    return head.txId;
  }

  /** Begins it when its turn has come. Cancelled before that, it has no effect; later its exchange is cancelled. */
  enqueue<T>(job: QueueEntry<T>, caller: Caller<T>): Cancellable | undefined {
    if (this.#closed) {
      caller.reject(clientClosed());
      return undefined;
    }
    const queued = new Queued(job, caller as Caller<unknown>, this.#core.loop.nowMs, this);
    this.#queue.push(queued);
    this.follower?.called(job as QueueEntry);
    this.#core.changed();
    this.#next();
    return queued;
  }

  /**
   * Rejects entries that have waited too long without being sent, and all writes behind them. Returns whether any
   * entry waits.
   */
  sweep(nowMs: number): boolean {
    const behind = this.#chain.filter((turn, i) => i > 0 && !turn.inDoubt);
    if (this.#queue.length + behind.length === 0) return false;
    const stuck = this.#chain[0]?.overdue === true;
    const { offlineSinceMs } = this.#core.connector.dispatcher;
    if (!stuck && offlineSinceMs === undefined) return true;
    const { requestTimeoutMs } = this.#core.settings;
    const sinceMs = stuck ? 0 : (offlineSinceMs ?? 0);
    const isLate = ({ queuedMs }: { readonly queuedMs?: number }): boolean =>
      Math.max(queuedMs!, sinceMs) + requestTimeoutMs <= nowMs;
    const turn = behind.find(isLate);
    if (turn === undefined) this.#rejectWaiting(isLate, this.#lateError());
    else this.rejectFrom(turn, this.#lateError());
    return true;
  }

  /**
   * A write is rejected without an effect because its time is over. None of the writes behind it has had one, and none
   * will: a reader must not see a later write of the session without an earlier one.
   */
  rejectFrom(turn: QueuedExchange, reason: unknown): void {
    const at = this.#chain.indexOf(turn);
    if (at < 0) {
      turn.failed(reason);
      return;
    }
    this.#rejectWaiting(({ job }) => job.writes !== undefined, reason);
    // The last one first, or each would move up only to be rejected.
    for (const one of this.#chain.slice(at).reverse()) (one.endsWithout ?? one.failed).call(one, reason);
  }

  /** Rejects the waiting entries that are late, and the writes behind the first late write. */
  #rejectWaiting(isLate: (queued: Queued) => boolean, reason: unknown): void {
    const first = this.#queue.findIndex((queued) => queued.job.writes !== undefined && isLate(queued));
    const isBehind = ({ job }: Queued, at: number): boolean => first >= 0 && at >= first && job.writes !== undefined;
    this.withdraw(
      this.#queue.filter((queued, at) => isLate(queued) || isBehind(queued, at)),
      reason,
    );
  }

  /** The reason why a waiting write was not sent. */
  #lateError(): IsochronError {
    const { overdue, txId, sentAfter } = this.#chain[0] ?? {};
    if (overdue === true && txId !== undefined && sentAfter !== undefined)
      return new SessionBlockedError(txId, sentAfter);
    return late(true);
  }

  /** Takes no further entries, and ends those that wait to read. */
  drain(): void {
    this.#closed = true;
    this.withdraw(
      this.#queue.filter(({ job }) => job.writes === undefined),
      clientClosed(),
    );
  }

  /** Whether nothing waits or is under way. */
  get isEmpty(): boolean {
    return this.#queue.length + this.#chain.length + this.#detached.size === 0;
  }

  /** Rejects all waiting entries; the writes under way are given up next. */
  close(): CloseReport {
    const writes = this.#begun.filter(({ txId }) => txId !== undefined);
    const unsent = writes.filter(({ inDoubt }) => inDoubt !== true).map((turn) => this.#entries.get(turn)?.writes);
    const dropped = [...unsent, ...this.#queue.map(({ job }) => job.writes)];
    const keys = dropped.filter((all) => all !== undefined).map((all) => all.map(({ key }) => key));
    const undecided = writes.filter(({ inDoubt }) => inDoubt);
    this.withdraw(this.#queue, clientClosed());
    return {
      dropped: keys,
      undecided: undecided.map(({ txId, sentAfter }) => ({ txId: txId!, sentAfter: sentAfter! })),
    };
  }

  /** Begins the entries that may be under way behind the present ones. */
  #next(): void {
    while (this.#queue.length > 0 && this.#takesMore) {
      const queued = this.#queue.shift()!;
      const turn: QueuedExchange = queued.job.begin((committedAt) => this.#ended(turn, committedAt));
      queued.turn = turn;
      this.#entries.set(turn, queued.job);
      turn.queuedMs = queued.queuedMs;
      this.#chain.push(turn);
      if (this.#chain.length === 1) this.#lead();
      turn.run(this.#core.connector.dispatcher.submit, queued.caller);
    }
  }

  get #takesMore(): boolean {
    const [head] = this.#chain;
    if (head === undefined) return true;
    const isStuck = head.overdue === true || this.#chain.at(-1)!.held === true;
    return this.#chain.length < MAX_CHAINED && !isStuck && this.#core.can('chained-commits');
  }

  /** All before the first one are decided: its own deadline begins. */
  #lead(): void {
    const turn = this.#chain[0]!;
    const { offlineSinceMs } = this.#core.connector.dispatcher;
    const sinceMs = offlineSinceMs === undefined ? this.#core.loop.nowMs : Math.max(turn.queuedMs!, offlineSinceMs);
    turn.deadlineMs = sinceMs + this.#core.settings.requestTimeoutMs;
    turn.lead?.();
  }

  /** It has ended, one way or the other. */
  #ended(turn: QueuedExchange, committedAt?: Timestamp): void {
    if (this.#detached.delete(turn)) {
      this.#core.changed();
      return;
    }
    this.#decided(turn, committedAt);
    this.#leave(turn, committedAt !== undefined);
  }

  /** The session knows its effect, or goes on without it. */
  #decided(turn: QueuedExchange, committedAt?: Timestamp): void {
    const entry = this.#entries.get(turn)!;
    this.#entries.delete(turn);
    if (committedAt === undefined) this.follower?.dropped(entry);
    else this.follower?.committed(entry, committedAt, turn.txId!);
  }

  /** Removes it, and begins the next one. */
  #leave(turn: QueuedExchange, committed?: boolean): void {
    const at = this.#chain.indexOf(turn);
    this.#chain.splice(at, 1);
    const next = this.#chain[at];
    if (next !== undefined) {
      next.orphaned ||= !committed;
      if (at === 0) {
        this.#lead();
        // One that was refused for another reason comes again at its time.
        for (const one of this.#chain) if (one.held) this.#core.connector.dispatcher.resume(one);
      }
    }
    this.#core.changed();
    this.#next();
  }

  /** Rejects waiting entries; any other has been settled. */
  withdraw(those: readonly Queued[], reason: unknown): void {
    const gone = those.filter((queued) => this.#queue.includes(queued));
    if (gone.length === 0) return;
    this.#queue = this.#queue.filter((queued) => !gone.includes(queued));
    for (const { job, caller } of gone) {
      job.drop?.();
      this.follower?.dropped(job);
      caller.reject(reason);
    }
    this.#core.changed();
  }
}
