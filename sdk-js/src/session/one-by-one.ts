/**
 * What a session does one at a time: the next one is not sent until the outcome of the one before is known, or it might be ordered before
 * it (P8).
 */
import { IsochronError } from '@isochron/core/errors';
import type { Timestamp, TxId } from '@isochron/core/ids';
import { clientClosed, SessionBlockedError } from '../errors.js';
import type { Exchange } from '../transport/exchange.js';
import type { SessionCore } from './core.js';

/** Whose turn it is. */
export interface Turn<T = unknown> extends Exchange<T> {
  /** Its caller has been told that the outcome is unknown; it goes on in the background. */
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
  /** Its turn has come. `ended` is called once its outcome is known, or nobody can find it out any more. */
  readonly begin: (ended: () => void) => Turn<T>;
  /** It has been taken back. */
  readonly drop?: () => void;
}

interface Queued {
  readonly job: Job;
  readonly signal: AbortSignal | undefined;
  readonly queuedMs: number;
  readonly resolve: (outcome: unknown) => void;
  readonly reject: (reason: unknown) => void;
  readonly forget: () => void;
}

export class OneByOne {
  readonly #core: SessionCore;
  #queue: Queued[] = [];
  #head: Turn | undefined;
  #headWrites = false;
  #headSinceMs = 0;
  /** Writes whose session goes on without them, and when they were asked for. Their outcomes are still asked for. */
  readonly #detached = new Map<Turn, number>();
  #closed = false;

  constructor(core: SessionCore) {
    this.#core = core;
  }

  /** Writes whose outcome is not known yet, or that wait for their turn. */
  get writes(): number {
    return this.#queue.filter(({ job }) => job.writes).length + (this.#headWrites ? 1 : 0) + this.#detached.size;
  }

  /** How long ago the oldest of them was asked for; undefined where there is none. */
  oldestWriteMs(nowMs: number): number | undefined {
    const queued = this.#queue.filter(({ job }) => job.writes).map(({ queuedMs }) => queuedMs);
    const all = [...this.#detached.values(), ...queued, ...(this.#headWrites ? [this.#headSinceMs] : [])];
    return all.length === 0 ? undefined : Math.max(0, nowMs - Math.min(...all));
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

  /** Begins it when its turn has come. `signal` takes it back before; afterwards its exchange is told. */
  enqueue<T>(job: Job<T>, signal?: AbortSignal): Promise<T> {
    return new Promise<unknown>((resolve, reject) => {
      if (this.#closed) return reject(clientClosed());
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => this.#withdraw([queued], () => signal?.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
      const forget = (): void => signal?.removeEventListener('abort', onAbort);
      const queued: Queued = { job, signal, queuedMs: performance.now(), resolve, reject, forget };
      this.#queue.push(queued);
      this.#core.changed();
      this.#next();
    }) as Promise<T>;
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
    queued.forget();
    const head: Turn = queued.job.begin(() => this.#ended(head));
    this.#head = head;
    this.#headWrites = queued.job.writes;
    this.#headSinceMs = queued.queuedMs;
    const { dispatcher } = this.#core.connector;
    const { offlineSinceMs } = dispatcher;
    const waitsSinceMs = offlineSinceMs === undefined ? performance.now() : Math.max(queued.queuedMs, offlineSinceMs);
    head.deadlineMs = waitsSinceMs + this.#core.settings.requestTimeoutMs;
    head.run(dispatcher.submit, queued.signal).then(queued.resolve, queued.reject);
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
    for (const { forget, job, reject } of those) {
      forget();
      job.drop?.();
      reject(reason());
    }
    this.#core.changed();
  }
}
