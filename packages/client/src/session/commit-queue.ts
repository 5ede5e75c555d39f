/**
 * The requests that a session makes in order: writes, and under protocols of single operations reads too. Each is an
 * entry. Where nodes chain commits, a write is sent behind the ones before it, and begins above them once they have
 * committed. Elsewhere it is sent once the outcome of the one before is known, or it might be ordered before it (P8).
 */
import type { QualifiedKey, Timestamp, TxId } from '@isochron/core/ids';
import type { KeyWrite } from '@isochron/core/versions';
import { clientClosed, late, SessionBlockedError } from '../errors.js';
import type { Caller, Cancellable, Exchange } from '../link/exchange.js';
import { OutcomeExchange } from './outcome.js';
import type { Begin, ClientParts, Queue } from './parts.js';
import type { QueueEntry, WriteFollower } from './queue-entry.js';

/** What a client left undone when it closed. */
export interface CloseReport {
  /** The keys, with their keyspaces, of each write that had no effect; in the order of the calls. */
  readonly dropped: readonly (readonly QualifiedKey[])[];
  /** The writes that may have had an effect: `client.transactionStatus` of another client has their outcomes. */
  readonly undecided: readonly { readonly txId: TxId; readonly sentAfter: Timestamp }[];
}

const isWrite = ({ writes }: QueueEntry): boolean => writes !== undefined;

/** Writes that are under way at a time. */
const MAX_CHAINED = 128;

export class CommitQueue implements Queue {
  readonly #core: ClientParts;
  /** Entries that wait for their turn. */
  #queue: QueueEntry[] = [];
  /** Entries under way, in order. Only the first one may have had an effect that those behind it have not had. */
  readonly #chain: QueueEntry[] = [];
  /** Writes that the session no longer waits for. */
  readonly #detached = new Set<QueueEntry>();
  #closed = false;
  follower: WriteFollower | undefined;

  constructor(core: ClientParts) {
    this.#core = core;
  }

  /** The undecided entries of the session, in their order. */
  get undecided(): QueueEntry[] {
    return [...this.#chain, ...this.#queue];
  }

  /** All undecided writes: those that the session no longer waits for, then those of the session in their order. */
  get writes(): QueueEntry[] {
    return [...this.#detached, ...this.undecided].filter(isWrite);
  }

  /** The session's writes that may have had an effect, and are not decided. */
  get inDoubt(): OutcomeExchange[] {
    return this.#chain.flatMap(({ write }) => (write?.inDoubt ? write : []));
  }

  /** Whether this write has been sent, and is repeated until its outcome is known. */
  isUnderWay(txId: TxId): boolean {
    return this.writes.some(({ write }) => write?.txId === txId);
  }

  before(exchange: Exchange): TxId | undefined {
    return this.#chain[this.#placeOf(exchange) - 1]?.write?.txId;
  }

  #placeOf(exchange: Exchange): number {
    return this.#chain.findIndex((entry) => entry.exchange === exchange);
  }

  /**
   * Gives up the order behind the first write under way, if its outcome is unknown: the entries behind it go on.
   * Returns its id.
   * @param detach makes the session another one
   */
  detach(detach: () => void): TxId | undefined {
    const [head] = this.#chain;
    if (!head?.write?.inDoubt) return undefined;
    detach();
    head.write.move('detached');
    this.#detached.add(head);
    this.follower?.dropped(head);
    this.#leave(head, false);
    return head.write.txId;
  }

  enqueue<T>(
    writes: readonly KeyWrite[] | undefined,
    begin: Begin<T>,
    caller: Caller<T>,
    drop?: () => void,
  ): Cancellable | undefined {
    if (this.#closed) {
      caller.reject(clientClosed());
      return undefined;
    }
    const entry: QueueEntry = {
      writes,
      begin,
      caller: caller as Caller<unknown>,
      drop,
      queuedMs: this.#core.loop.nowMs,
    };
    this.#queue.push(entry);
    this.follower?.called(entry);
    this.#core.changed();
    this.#next();
    return {
      cancel: (reason) => {
        if (entry.exchange === undefined) this.#withdraw((one) => one === entry, reason);
        else entry.exchange.cancel(reason);
      },
    };
  }

  /**
   * Rejects entries that have waited too long without being sent, and all writes behind them. Returns whether any
   * entry waits.
   */
  sweep(nowMs: number): boolean {
    const behind = this.#chain.slice(1).filter(({ write }) => !write?.inDoubt);
    if (this.#queue.length + behind.length === 0) return false;
    const head = this.#core.recommits.current ?? this.#chain[0]?.write;
    const isBlocked = head?.is('overdue');
    const sinceMs = isBlocked ? 0 : this.#core.connector.dispatcher.offlineSinceMs;
    if (sinceMs === undefined) return true;
    const reason = isBlocked ? new SessionBlockedError(head!.txId, head!.attempt.sentAfter) : late(true);
    const isLate = ({ queuedMs }: QueueEntry): boolean =>
      Math.max(queuedMs, sinceMs) + this.#core.settings.requestTimeoutMs <= nowMs;
    const entry = behind.find(isLate);
    let isBehind = false;
    if (entry !== undefined) this.rejectFrom(entry.exchange!, reason);
    else
      this.#withdraw((waiting) => {
        isBehind ||= isWrite(waiting) && isLate(waiting);
        return isWrite(waiting) ? isBehind : isLate(waiting);
      }, reason);
    return true;
  }

  /**
   * A write is rejected without an effect because its time is over. None of the writes behind it has had one, and none
   * will: a reader must not see a later write of the session without an earlier one.
   */
  rejectFrom(exchange: Exchange, reason: unknown): void {
    const at = this.#placeOf(exchange);
    if (at < 0) {
      exchange.failed(reason);
      return;
    }
    this.#withdraw(isWrite, reason);
    // The last one first, or each would move up only to be rejected.
    for (const entry of this.#chain.slice(at).reverse()) entry.exchange!.failed(reason, true);
  }

  /** Takes no further entries, and ends those that wait to read. */
  drain(): void {
    this.#closed = true;
    this.#withdraw((entry) => !isWrite(entry), clientClosed());
  }

  /** Whether nothing waits or is under way. */
  get isEmpty(): boolean {
    return this.#queue.length + this.#chain.length + this.#detached.size === 0;
  }

  /** Rejects all waiting entries; the writes under way are given up next. */
  close(): CloseReport {
    const report = {
      dropped: this.undecided.flatMap(({ write, writes }) =>
        writes === undefined || write?.inDoubt ? [] : [writes.map(({ key }) => key)],
      ),
      undecided: this.writes.flatMap(({ write }) =>
        write?.inDoubt ? { txId: write.txId, sentAfter: write.attempt.sentAfter } : [],
      ),
    };
    this.#withdraw(() => true, clientClosed());
    return report;
  }

  /** Begins the entries that may be under way behind the present ones. */
  #next(): void {
    while (this.#queue.length > 0 && this.#takesMore) {
      const entry = this.#queue.shift()!;
      const exchange = entry.begin((committedAt) => this.#ended(entry, committedAt));
      entry.exchange = exchange;
      if (exchange instanceof OutcomeExchange) entry.write = exchange;
      this.#chain.push(entry);
      if (this.#chain.length === 1) this.#lead();
      exchange.run(this.#core.connector.dispatcher.submit, entry.caller);
    }
  }

  get #takesMore(): boolean {
    if (this.#core.own?.deferred[0]) return false;
    const [head] = this.#chain;
    if (head === undefined) return true;
    if (head.write?.is('overdue') || this.#chain.at(-1)!.write?.isHeld) return false;
    return this.#chain.length < MAX_CHAINED && this.#core.can('chained-commits');
  }

  /** All before the first one are decided: its own deadline begins. */
  #lead(): void {
    const { exchange, write, queuedMs } = this.#chain[0]!;
    const { offlineSinceMs } = this.#core.connector.dispatcher;
    const sinceMs = offlineSinceMs === undefined ? this.#core.loop.nowMs : Math.max(queuedMs, offlineSinceMs);
    exchange!.deadlineMs = sinceMs + this.#core.settings.requestTimeoutMs;
    write?.lead();
  }

  /** The exchange of an entry has ended, with or without a commit. */
  #ended(entry: QueueEntry, committedAt?: Timestamp): void {
    if (this.#detached.delete(entry)) {
      this.#core.changed();
      return;
    }
    if (committedAt === undefined) this.follower?.dropped(entry);
    else this.follower?.committed(entry, committedAt, entry.write!.txId);
    this.#leave(entry, committedAt !== undefined);
  }

  /** Removes an entry from the chain, and begins the next one. */
  #leave(entry: QueueEntry, committed: boolean): void {
    const at = this.#chain.indexOf(entry);
    this.#chain.splice(at, 1);
    const next = this.#chain[at];
    if (next !== undefined) {
      if (!committed && next.write?.is('ordered')) next.write.move('orphaned');
      if (at === 0) {
        this.#lead();
        this.#resumeHeld();
      }
    }
    this.#core.changed();
    this.#next();
  }

  /** Nothing that was written before is deferred any more: the session's writes go on. */
  resume(): void {
    this.follower?.resumed();
    this.#resumeHeld();
    this.#core.changed();
    this.#next();
  }

  /** A write that was refused for another reason comes again at its time. */
  #resumeHeld(): void {
    for (const { write } of this.#chain) if (write?.isHeld) this.#core.connector.dispatcher.resume(write);
  }

  /** Rejects those of the waiting entries. */
  #withdraw(isGone: (entry: QueueEntry) => boolean, reason: unknown): void {
    const gone = this.#queue.filter(isGone);
    if (gone.length === 0) return;
    this.#queue = this.#queue.filter((entry) => !gone.includes(entry));
    for (const entry of gone) {
      entry.drop?.();
      this.follower?.dropped(entry);
      entry.caller.reject(reason);
    }
    this.#core.changed();
  }
}
