/** The parts of the client that sessions, snapshots and requests use. */
import type { IsochronError } from '@isochron/core/errors';
import type { Limits } from '@isochron/core/limits';
import type { Session } from '@isochron/protocols/kernel/transactions/session';
import type { Connector } from '../link/connector.js';
import type { Caller, Cancellable, Exchange } from '../link/exchange.js';
import type { Loop } from '../loop.js';
import type { ClientSettings } from '../settings.js';
import type { QueuedExchange, QueueEntry } from './queued-exchange.js';

/** Runs a session's writes in order. */
export interface Queue {
  /** Begins a job when its turn has come. */
  enqueue<T>(job: QueueEntry<T>, caller: Caller<T>): Cancellable | undefined;
  /** The write before this one, while that is not decided. */
  before(turn: QueuedExchange): QueuedExchange | undefined;
  /** Rejects a write that has had no effect, and all writes behind it. */
  rejectFrom(turn: QueuedExchange, reason: unknown): void;
}

export interface ClientParts {
  readonly loop: Loop;
  readonly settings: ClientSettings;
  readonly connector: Connector;
  readonly queue: Queue;
  /** The session of transactions. Throws NOT_SUPPORTED_BY_PROTOCOL if there is none. */
  readonly session: Session;
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
