import type { AnyMessage, NodeId, RegionId, Topology } from '@isochron/core';
import type { Co } from '../engine/coroutine.js';

/** A client's connection to a node. */
export interface Connection<M extends AnyMessage> {
  readonly node: NodeId;
  readonly region: RegionId;
  /**
   * Regions that do not answer the node, sorted, as it has reported last: new attempts of commits avoid them. None
   * where it would be all.
   */
  readonly avoid: readonly RegionId[];
  /** As far as the client knows. */
  readonly open: boolean;
  /** Sends a request; `onAnswer` gets its answer, or nothing when the connection is lost first. */
  ask(request: (ref: number) => M, onAnswer: (answer: M | undefined) => void): void;
  /** The client closes it. */
  close(): void;
}

/** What a session's code may do: the simulated counterpart of an SDK's transport. */
export interface ClientIo<M extends AnyMessage> {
  readonly topology: Topology;
  /** Where the client is. */
  readonly region: RegionId;
  /** The client's own steady clock, ms. */
  readonly nowMs: number;
  readonly requestTimeoutMs: number;
  /** Waits for a connection. */
  connection(): Co<Connection<M>>;
  /** Asks and waits for the answer: undefined when the connection was lost, or the time is over. */
  call(
    connection: Connection<M>,
    request: (ref: number) => M,
    timeoutMs: number,
    onSent?: () => void,
  ): Co<M | undefined>;
  /** Waits a while before the `attempt`-th repetition, with full jitter. */
  backOff(attempt: number): Co<void>;
  /** Leaves this connection for another one. */
  leave(connection: Connection<M>): void;
  /** Sends a request to a node of a region beside the session's connection; nobody waits for the answer. */
  aside(region: RegionId, request: (ref: number) => M): void;
}
