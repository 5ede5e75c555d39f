import type { AnyMessage, NodeId, Timestamp, WallMs } from '@isochron/core';
import type { PeerInfo } from '@isochron/wire';
import type { Envelope } from './envelope.js';
import type { PackedFrame } from './packing.js';

/** The traffic over a link in one direction since the transport opened. */
export interface Traffic {
  readonly frames: number;
  readonly bytes: number;
  readonly messages: number;
}

/** Why a link last went down or could not open. */
export interface LinkFault {
  /** An error code of the product (`PEER_REFUSED`), of a close (`PEER_SILENT`), or of the system (`ECONNREFUSED`). */
  readonly code: string;
  readonly detail: string;
  readonly at: WallMs;
}

/** A link to one peer, for status pages and metrics. */
export interface LinkStatus {
  readonly node: NodeId;
  readonly up: boolean;
  /** When `up` last changed, or when the transport opened. */
  readonly since: WallMs;
  /** Smoothed round trip; null before the first one was measured. */
  readonly rttMs: number | null;
  readonly sent: Traffic;
  readonly received: Traffic;
  /** Messages given to `send` that did not leave: the link was down, or they are too large for a frame. */
  readonly dropped: number;
  /** How often the link came up again after its first time. */
  readonly reconnects: number;
  readonly lastError: LinkFault | null;
}

/** Links to all other nodes. A link is FIFO while it is up and loses frames in flight when it drops (D6). */
export interface Transport<M extends AnyMessage> {
  /** Sends the messages as one frame, or silently drops them when the link is down. Calls no event but `sent`. */
  send(node: NodeId, envelopes: readonly Envelope<M>[]): void;
  /** Whether messages to this node leave now. */
  linkUp(node: NodeId): boolean;
  /**
   * Time since the last data from this node, by the steady clock; undefined while its link is down. Pings count: an
   * idle link has them.
   */
  silentMs(node: NodeId): number | undefined;
  /** All peers, in the order they were configured. */
  links(): LinkStatus[];
  /** Ends all links. No event comes after the call; peers see their link go down. */
  close(): Promise<void>;
}

/**
 * The events of a transport for its owner. Except `sent`, none comes from inside a call of the owner to the transport.
 */
export interface TransportEvents<M extends AnyMessage> {
  /**
   * A peer proved itself, and its link is about to come up.
   *
   * @param lateMs the greatest age of the peer's hello at its arrival
   * @returns why its clock is refused: the connection is closed with `CLOCK_DRIFT` then (K1)
   */
  meets?(peer: PeerInfo, lateMs: number): string | undefined;
  /**
   * Why a frame is refused because of its timestamps, as a whole: its connection is then closed with `CLOCK_DRIFT`
   * (K1).
   */
  refuses?(from: NodeId, hlc: Timestamp, envelopes: readonly Envelope<M>[]): string | undefined;
  /** Why messages cannot be the sender's own: its connection is then closed with `PEER_REFUSED`. */
  foreign?(from: NodeId, envelopes: readonly Envelope<M>[]): string | undefined;
  /** Messages came. The receiver observes the sender's `hlc` (T2). */
  frame(from: NodeId, hlc: Timestamp, envelopes: readonly Envelope<M>[]): void;
  /** A frame was given to the link; called from inside `send`. Leave it out unless needed: it costs a little. */
  sent?(to: NodeId, frame: PackedFrame<M>): void;
  /** A link came up, with the peer's data about itself, or went down. Up and down alternate. */
  link(node: NodeId, up: boolean, peer?: PeerInfo): void;
}
