/** The parts of the client that sessions, snapshots and requests use. */
import type { IsochronError } from '@isochron/core/errors';
import type { Timestamp, TxId } from '@isochron/core/ids';
import type { Limits } from '@isochron/core/limits';
import type { KeyWrite } from '@isochron/core/versions';
import type { OwnCommits } from '@isochron/protocols/kernel/transactions/own-commits';
import type { Session } from '@isochron/protocols/kernel/transactions/session';
import type { Connector } from '../link/connector.js';
import type { Caller, Cancellable, Exchange } from '../link/exchange.js';
import type { Loop } from '../loop.js';
import type { ClientSettings } from '../settings.js';

/**
 * Called once the outcome of an entry is known, with the timestamp of a commit, or when the outcome cannot be found out
 * any more.
 */
export type Ended = (committedAt?: Timestamp) => void;

/** Makes the exchange of an entry when its turn has come. */
export type Begin<T> = (ended: Ended) => Exchange<T>;

/** Runs a session's writes in order. */
export interface Queue {
  /**
   * Begins an entry when its turn has come. Cancelled before that, the entry has no effect; later its exchange is
   * cancelled.
   * @param writes undefined for a read
   * @param drop called when the entry is withdrawn before its turn
   */
  enqueue<T>(
    writes: readonly KeyWrite[] | undefined,
    begin: Begin<T>,
    caller: Caller<T>,
    drop?: () => void,
  ): Cancellable | undefined;
  /** The write before the write of this exchange, while that is not decided. */
  before(exchange: Exchange): TxId | undefined;
  /** Rejects a write that has had no effect, and all writes behind it. */
  rejectFrom(exchange: Exchange, reason: unknown): void;
}

/** A write that others wait for. */
export interface WriteUnderWay {
  readonly txId: TxId;
  readonly attempt: { readonly sentAfter: Timestamp };
  /** Whether its caller has got OUTCOME_UNKNOWN. */
  is(state: 'overdue'): boolean;
}

export interface ClientParts {
  readonly loop: Loop;
  readonly settings: ClientSettings;
  readonly connector: Connector;
  readonly queue: Queue;
  /** The session of transactions. Throws NOT_SUPPORTED_BY_PROTOCOL if there is none. */
  readonly session: Session;
  /** The commits of the session, where it judges them by cuts (M10). */
  readonly own: OwnCommits | undefined;
  /** Commits again what is deferred. */
  readonly recommits: { readonly current: WriteUnderWay | undefined };
  readonly limits: Limits;
  /** Whether the cluster's protocol has a capability, by its name in `welcome`. */
  can(capability: string): boolean;
  /** The error of a call that the cluster's protocol does not support. */
  unsupported(what: string): IsochronError;
  /** An answer is overdue on a connection that seems alive. Returns whether a connection owes it. */
  suspect(exchange: Exchange): boolean;
  /** The status has changed: the driver is notified once for all changes of a turn. */
  changed(): void;
}
