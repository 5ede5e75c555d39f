/** What sessions, snapshots and requests take from the client that they are part of. */
import type { IsochronError } from '@isochron/core/errors';
import type { Session } from '@isochron/protocols/kernel/transactions/session';
import type { Connector } from '../link/connector.js';
import type { Caller, Cancellable, Exchange } from '../link/exchange.js';
import type { Loop } from '../loop.js';
import type { ClientSettings } from '../settings.js';
import type { QueuedExchange, QueueEntry } from './queued-exchange.js';

/** Does in order what a session does. */
export interface Queue {
  /** Begins a job when its turn has come. */
  enqueue<T>(job: QueueEntry<T>, caller: Caller<T>): Cancellable | undefined;
  /** What this one follows: the one before it, while that is not decided. */
  before(turn: QueuedExchange): QueuedExchange | undefined;
}

export interface ClientParts {
  readonly loop: Loop;
  readonly settings: ClientSettings;
  readonly connector: Connector;
  readonly queue: Queue;
  /** The session of transactions. Throws NOT_SUPPORTED_BY_PROTOCOL where there are none. */
  readonly session: Session;
  /** Whether the cluster's protocol can do something, by its name in `welcome`. */
  can(capability: string): boolean;
  /** The error of what the cluster's protocol cannot do. */
  unsupported(what: string): IsochronError;
  /** An answer is overdue on a connection that seems alive. Returns whether there is one that owes it. */
  suspect(exchange: Exchange): boolean;
  /** The status has changed: the driver learns it once for all changes of a turn. */
  changed(): void;
}
