/**
 * The seam. A protocol is a set of machines that do no I/O: they take an input, change their state and fill in effects.
 * The same machines run in the server, in simulations, in benchmarks and (sessions) in the SDKs.
 *
 * Beyond the architecture page: a `link` input reports to a machine that a peer became reachable or unreachable (resync
 * after a reconnect, failover of remote reads, the acting root of P13), and `needs` names the data that a message
 * reads, so that the driver can bring it to memory before it delivers the message.
 */
import type { AnyMessage, DurableRecord, NodeId, ReadNeeds, WallMs } from '@isochron/core';

/** Where a message goes: a machine by its name on a node. Made once and reused; compared by content. */
export interface Address {
  readonly node: NodeId;
  /** `coordinator`, `stabilization`, `replica/3`, `client`. */
  readonly machine: string;
}

/** Counts durable batches of one node. Everything up to a number is on disk once `persisted` has reported it. */
export type WriteSeq = number;

/** The purpose of a timer, for example `apply`. A machine has at most one timer of each kind. */
export type TimerKind = string;

/** Everything that can happen to a machine. `now` is the node's wall clock at the start of the step. */
export type Input<M extends AnyMessage> =
  | { readonly kind: 'message'; readonly now: WallMs; readonly from: Address; readonly message: M }
  | { readonly kind: 'timer'; readonly now: WallMs; readonly timer: TimerKind }
  | { readonly kind: 'persisted'; readonly now: WallMs; readonly upTo: WriteSeq }
  | { readonly kind: 'link'; readonly now: WallMs; readonly node: NodeId; readonly up: boolean };

/**
 * The effects of a step. Filled by `step`, drained and reused by the driver. `by` is another machine of the node, on
 * whose behalf this one acts: replies to the message, and the timer, go there.
 */
export interface Effects<M extends AnyMessage> {
  /** May leave now. */
  send(to: Address, message: M, by?: Address): void;
  /**
   * A promise (D1): leaves when this step's writes, and all before them, are durable. Keeps its order among promises.
   */
  sendAfterPersist(to: Address, message: M, by?: Address): void;
  /** Joins the node's next durable batch; all writes of one step are in one batch. Returns that batch's number. */
  write(record: DurableRecord): WriteSeq;
  /** The number that `persisted` must reach for all writes asked so far to be durable. */
  lastWrite(): WriteSeq;
  /** Sets, or moves, the machine's timer of this kind. */
  setTimer(timer: TimerKind, atMs: WallMs, by?: Address): void;
}

/** One state machine. */
export interface Machine<M extends AnyMessage> {
  /** The only entry point. */
  step(input: Input<M>, out: Effects<M>): void;
  /**
   * The data that the message will read, or undefined. Only for messages that others may overtake: they wait for a
   * prefetch.
   */
  needs?(message: M): ReadNeeds | undefined;
  /** Throws when the state is impossible. Cheap: runs after every step, in production too. */
  invariants(): void;
  /** For the status page and the simulator. */
  describe(): object;
}

/** A message on its way between two machines. */
export interface Envelope<M extends AnyMessage> {
  readonly to: Address;
  readonly from: Address;
  readonly message: M;
}

/** A table with a handler for every message of a union; a missing case does not compile. */
export type Handlers<M extends AnyMessage, Context extends unknown[] = []> = {
  readonly [T in M['type']]: (message: Extract<M, { type: T }>, ...context: Context) => void;
};

/**
 * Calls the handler of a message.
 * @returns false if the table has none: the machine ignores such messages
 */
export function dispatch<M extends AnyMessage, Context extends unknown[]>(
  handlers: Handlers<M, Context>,
  message: AnyMessage,
  ...context: Context
): boolean {
  const handler = handlers[message.type as M['type']] as
    | ((message: AnyMessage, ...context: Context) => void)
    | undefined;
  handler?.(message, ...context);
  return handler !== undefined;
}
