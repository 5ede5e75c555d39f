import { type AnyMessage, IsochronError, type NodeId, type Timestamp, type WallMs } from '@isochron/core';
import type { FrameCodec, Protection } from '@isochron/wire';
import type { PeerTls } from './identity.js';
import type { TransportEvents } from './transport.js';

/** Takes a line for the log. */
export type Log = (level: 'debug' | 'info' | 'warn' | 'error', message: string, fields: object) => void;

/** Times and limits of WebSocket links. */
export interface LinkTuning {
  /** From the start of a connection to the end of its handshake. */
  readonly handshakeTimeoutMs: number;
  readonly pingIntervalMs: number;
  /** A peer without any data for this long counts as dead. */
  readonly deadAfterMs: number;
  /** Ceiling of the first waiting time before a reconnect; doubles with each failure up to `backoffCapMs`. */
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  /** Waiting time, give or take a half, before a peer that refused this node is dialled again. */
  readonly refusedRetryMs: number;
  /** Largest frame sent or accepted. */
  readonly maxFrameBytes: number;
  /** Bytes that may wait for one peer; above it the link is dropped, and the protocols resync when it is up again. */
  readonly maxBufferedBytes: number;
  /** Connections that may be in the middle of their handshake; more are refused. */
  readonly maxHandshakes: number;
  /** Connections without a proof, from the first byte on, in all and for each address: more are ended. */
  readonly maxStrangers: number;
  readonly maxStrangersPerAddress: number;
}

export const DEFAULT_TUNING: LinkTuning = {
  handshakeTimeoutMs: 3_000,
  pingIntervalMs: 300,
  deadAfterMs: 3_000,
  backoffBaseMs: 50,
  backoffCapMs: 2_000,
  refusedRetryMs: 10_000,
  maxFrameBytes: 32 * 1024 * 1024,
  maxBufferedBytes: 64 * 1024 * 1024,
  maxHandshakes: 64,
  maxStrangers: 128,
  maxStrangersPerAddress: 16,
};

/** Another node of the cluster. */
export interface PeerAddress {
  readonly node: NodeId;
  /** `ws://host:port`, or `wss://host:port` with certificates. Dialled when this node {@link dials} that one. */
  readonly url: string;
}

/** Whether a node dials a peer, rather than being dialled by it: there is one connection for each pair. */
export const dials = (self: NodeId, peer: NodeId): boolean => self < peer;

export interface WebSocketTransportOptions<M extends AnyMessage> {
  readonly self: NodeId;
  readonly peers: readonly PeerAddress[];
  /** Where to listen, see {@link parsePeerUrl}. Port 0 takes a free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** The cluster's shared secret. */
  readonly secret: string | Uint8Array;
  /** Accepted as well, while one secret replaces the other. */
  readonly secondSecret?: string | Uint8Array | undefined;
  /** Mutual TLS, for which all URLs of peers are `wss`; without it all are `ws`. */
  readonly tls?: PeerTls | undefined;
  /** Hash of the parts of the cluster file that two linked nodes must share. */
  readonly clusterHash: string;
  readonly storeId: string;
  /** The hashes of the node's rules and of its users' settings now; by default it has none. */
  readonly protection?: () => Protection;
  /** Protocol version; this build's by default. */
  readonly version?: number;
  readonly codec: FrameCodec<M>;
  /** The node's clock: sent with every frame (T2). */
  readonly hlc: () => Timestamp;
  readonly events: TransportEvents<M>;
  readonly log?: Log;
  /** One-way delay added to outgoing frames, to emulate a WAN. */
  readonly delayMs?: (from: NodeId, to: NodeId) => number;
  readonly tuning?: Partial<LinkTuning>;
  /** Uniform in [0, 1), for the jitter. */
  readonly random?: () => number;
  readonly wallClock?: () => WallMs;
}

/** Host and port of a peer url. Throws `CONFIG_INVALID` when it is not `ws://host:port` or `wss://host:port`. */
export function parsePeerUrl(url: string): { host: string; port: number } {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isPeerUrl = parsed?.protocol === 'ws:' || parsed?.protocol === 'wss:';
  if (!isPeerUrl || parsed.pathname !== '/' || parsed.search !== '' || parsed.hash !== '') {
    throw new IsochronError(
      'CONFIG_INVALID',
      `a peer url has the form ws://host:port or wss://host:port, this one is ${url}`,
    );
  }
  return {
    host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(parsed.port || (parsed.protocol === 'wss:' ? 443 : 80)),
  };
}
