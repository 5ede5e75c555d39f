/**
 * One snapshot to read from: of a one-shot read, of a transaction, of `client.snapshot()`. Opens itself with its first
 * read, in the same message, and opens again on every new connection: a snapshot is a number (D8).
 */
import { IsochronError } from '@isochron/core/errors';
import type { Deps, Timestamp, TxId } from '@isochron/core/ids';
import { SessionTransaction } from '@isochron/protocols/kernel/transactions/session';
import type { Snapshot } from '@isochron/protocols/kernel/transactions/snapshots';
import type { RequestFrame } from '@isochron/wire/session-frames';
import {
  AbortExchange,
  type Caller,
  type Cancellable,
  type Carrier,
  Exchange,
  type Retry,
  UNAWAITED,
  unexpected,
} from '../link/exchange.js';
import type { Answer } from '../link/frames.js';
import type { Timer } from '../loop.js';
import type { ClientParts } from './parts.js';

/** The snapshot of an answer. */
export const snapshotOf = ({ snapshot, deps }: { snapshot: Timestamp; deps?: Deps }): Snapshot => ({
  ts: snapshot,
  deps,
});

/** Asks for exactly this snapshot. */
const atField = (at: Snapshot | undefined): { at?: Timestamp; deps?: Deps } =>
  at === undefined ? {} : { at: at.ts, ...(at.deps === undefined ? {} : { deps: at.deps }) };

/** Whether a snapshot is the requested one: by all its entries, or by its timestamp alone. */
const isAt = ({ ts, deps }: Snapshot, at: Snapshot): boolean =>
  ts === at.ts && (at.deps === undefined || at.deps.every((entry, i) => entry === deps?.[i]));

/**
 * `one-shot` never opens a transaction on the server. `transaction` ends with TRANSACTION_EXPIRED after the server's
 * `maxTransactionMs`; `snapshot` is opened again before, at the same snapshot, for as long as it is held.
 */
export type HandleMode = 'one-shot' | 'transaction' | 'snapshot';

export class SnapshotHandle {
  readonly tx: SessionTransaction;
  /** The requested snapshot: undefined at first, then the assigned one. */
  at: Snapshot | undefined;
  /** The server's id of the open transaction. A new one for every opening, so that an old opening is never found. */
  #wireId: TxId;
  #openOn: Carrier | undefined;
  /** The opening before, which ends once the present one is answered. */
  #former: TxId | undefined;
  /** When it is opened again. */
  #renewal: Timer | undefined;
  #starting = false;
  #startError: IsochronError | undefined;
  #ended = false;

  /** @param at reads exactly this snapshot, without the session's own newer writes */
  constructor(
    readonly core: ClientParts,
    readonly mode: HandleMode,
    at?: Timestamp,
  ) {
    const { session } = core;
    this.tx = at === undefined ? session.begin() : new SessionTransaction(session.nextTxId(), { ts: at }, new Map());
    // Deferred commits lie above what the session has seen, and nothing that it sees is newer (M10).
    this.at = at !== undefined ? { ts: at } : session.isBehind ? session.seen : undefined;
    this.#wireId = this.tx.id;
  }

  /** Whether the server has this very transaction open on this connection. */
  isOpenOn(connection: Carrier): boolean {
    return this.#openOn === connection && this.#wireId === this.tx.id;
  }

  /** Whether its start has not been answered yet. */
  get isStarting(): boolean {
    return this.#starting;
  }

  /** Fields of a read on this connection. */
  fields(connection: Carrier): { tx: TxId } | { at?: Timestamp; deps?: Deps } {
    return this.mode !== 'one-shot' && this.#openOn === connection ? { tx: this.#wireId } : atField(this.at);
  }

  /** The start that has to precede a read on this connection. */
  prelude(connection: Carrier): Exchange | undefined {
    if (this.mode === 'one-shot' || this.#openOn === connection) return undefined;
    // `started` and `startRefused` take its result. Other reads of the same message need no start of their own.
    return new StartExchange(this, this.opening(connection));
  }

  /** Opens it on the server and gets its timestamp, without reading anything. */
  open(caller: Caller<void>): Cancellable {
    return new StartExchange(this).run(this.core.connector.dispatcher.submitTimed, caller);
  }

  /** It is being opened on this connection, under the returned id. */
  opening(connection: Carrier): TxId {
    if (this.#openOn === connection) this.#former = this.#wireId;
    if (this.#openOn !== undefined) this.#renew();
    this.#openOn = connection;
    this.#starting = true;
    this.#startError = undefined;
    return this.#wireId;
  }

  /** Takes the snapshot of an answer. Throws a retryable error if it is not the one that the session needs. */
  accept(snapshot: Snapshot): void {
    if (snapshot.ts < this.tx.seen.ts) {
      // The node lags behind the session. Asked for exactly the session's snapshot, it waits for it or refuses.
      this.at ??= this.tx.seen;
      throw this.#misses(snapshot);
    }
    // It was under way when the session learned that commits are deferred.
    const { session } = this.core;
    if (this.at === undefined && session.isBehind && snapshot.ts > session.ust) {
      this.at = session.seen;
      throw this.#misses(snapshot);
    }
    // A read that was under way without a known snapshot while another connection assigned one.
    if (this.at !== undefined && !isAt(snapshot, this.at)) throw this.#misses(snapshot);
    if (this.core.can('snapshots')) this.at = snapshot;
    if (this.tx.snapshot === undefined && !this.#ended) this.core.session.started(this.tx, snapshot.ts, snapshot.deps);
  }

  started(snapshot: Snapshot, wireId: TxId): void {
    if (wireId !== this.#wireId) return;
    this.#starting = false;
    this.#abort(this.#former);
    this.#former = undefined;
    this.accept(snapshot);
    if (this.mode === 'snapshot' && this.#renewal === undefined && !this.#ended) this.#holdOpen();
  }

  /** Opens it again before the server ends it, so that its versions are kept while it is idle. */
  #holdOpen(): void {
    const { loop, connector } = this.core;
    const leaseMs = connector.current?.welcome.maxTransactionMs ?? Number.POSITIVE_INFINITY;
    this.#renewal = loop.after(leaseMs / 2, () => {
      this.#holdOpen();
      this.open(UNAWAITED);
    });
  }

  startRefused(error: IsochronError, wireId: TxId): void {
    if (wireId !== this.#wireId) return;
    this.#startError = error;
    this.reopen();
  }

  /** The next read opens it again. */
  reopen(): void {
    if (this.#openOn !== undefined) this.#renew();
    this.#openOn = undefined;
    this.#starting = false;
  }

  /** The cause of a refused read: the refusal of the start before it, or a transaction that the server has dropped. */
  refusal(error: IsochronError, wireId: TxId | undefined): IsochronError {
    const resumable =
      error.code === 'TRANSACTION_UNKNOWN' || (error.code === 'TRANSACTION_EXPIRED' && this.mode === 'snapshot');
    if (!resumable || wireId === undefined) return error;
    const cause = this.#startError ?? error;
    if (this.#startError !== undefined && !this.#startError.retryable) return this.#startError;
    if (wireId === this.#wireId && !this.#starting) this.reopen();
    return new IsochronError(cause.code, cause.message, { cause, retryable: true });
  }

  /** Ends it, here and on the server. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.core.loop.cancel(this.#renewal);
    this.core.session.end(this.tx);
    this.release();
  }

  /** A commit takes the session's half over; the server's other openings are ended. */
  handOver(): void {
    this.#ended = true;
  }

  /** Ends the openings on the server. */
  release(): void {
    const { dispatcher } = this.core.connector;
    if (this.#openOn === undefined || this.#openOn !== dispatcher.connection) return;
    this.#openOn = undefined;
    this.#abort(this.#wireId);
    this.#abort(this.#former);
  }

  /** If it does not arrive, the server ends the transaction by its expiry. */
  #abort(id: TxId | undefined): void {
    if (id !== undefined) new AbortExchange(id).run(this.core.connector.dispatcher.submitTimed);
  }

  #misses({ ts }: Snapshot): IsochronError {
    this.reopen();
    const message = `the node has read at ${ts}, not at ${this.at?.ts}`;
    return new IsochronError('SNAPSHOT_UNAVAILABLE', message);
  }

  #renew(): void {
    this.#wireId = this.core.session.nextTxId();
  }
}

/** Opens a transaction on the server. */
class StartExchange extends Exchange<void> {
  #wireId: TxId = '';

  /** @param leadsAs its id where a read follows it, which sends another start if this one fails */
  constructor(
    readonly handle: SnapshotHandle,
    readonly leadsAs?: TxId,
  ) {
    super();
  }

  override get repeats(): boolean {
    return this.leadsAs === undefined;
  }

  frame(id: number, connection: Carrier): RequestFrame {
    this.#wireId = this.leadsAs ?? this.handle.opening(connection);
    return { type: 'start', id, tx: this.#wireId, ...atField(this.handle.at) };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'started') throw unexpected(frame);
    this.handle.started(snapshotOf(frame), this.#wireId);
    this.done();
  }

  override refused(error: IsochronError, connection: Carrier): Retry | undefined {
    this.handle.startRefused(error, this.#wireId);
    return this.repeats ? super.refused(error, connection) : undefined;
  }
}
