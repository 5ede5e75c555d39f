import type { Codec } from '@isochron/client/link/codec';
import type { Homing } from '@isochron/client/link/homing';
import type { ExportedSession } from '@isochron/client/session/exported';
import type { RandomSource } from '@isochron/core/backoff';

/** What the client reads of a WebSocket's events. */
export interface SocketEvent {
  readonly type?: string;
  readonly data?: unknown;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
}

/** The part of the standard `WebSocket` that the client uses. Browsers, Node ≥ 22 and the package `ws` all have it. */
export interface WebSocketLike {
  binaryType: string;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
  /** Of `ws` only: closes without the closing handshake. */
  terminate?(): void;
  addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: SocketEvent) => void): void;
}

/** Makes a WebSocket: the global class, or one with the same constructor. */
export type WebSocketConstructor = new (url: string, protocols?: string[]) => WebSocketLike;

/** Where the client tells what it does. `console` and a pino logger fit. */
export interface Logger {
  debug(message: string): void;
  warn(message: string): void;
}

/** How to reach a cluster, and as whom. */
export interface ConnectOptions {
  /** Base URLs of nodes, `http(s)://` or `ws(s)://`. The nearest one is used, the others are there to fail over to. */
  readonly endpoints: readonly string[];
  /**
   * A session token, for instance from an HTTP answer: what this session reads contains what that one saw and wrote. The token does not
   * hold the writes themselves, so `connect` waits until they are visible everywhere.
   */
  readonly token?: string;
  /** API key, where the cluster asks for one. Sent in the first frame, never in the URL. */
  readonly credentials?: string;
  /**
   * A session that another client exported: this one continues it, causally after everything that one saw and wrote.
   */
  readonly session?: ExportedSession | string;
  /** Keyspace of the client's own methods. Default `default`. */
  readonly keyspace?: string;
  /** How long a request may take in all, waiting for a connection and retries included, in ms. Default 10 000. */
  readonly requestTimeoutMs?: number;
  /** How long a connection may take to open, in ms. Default 5 000. */
  readonly connectTimeoutMs?: number;
  /** How long the client asks for the outcome of a commit before it throws OUTCOME_UNKNOWN, in ms. Default 30 000. */
  readonly commitTimeoutMs?: number;
  /**
   * How long after it had to leave an endpoint the client first looks whether a nearer one than the present is there again, in ms; further
   * looks come at doubling distances, up to 10 minutes. It goes back to endpoints that `endpoints` names only, once they are ready and
   * have caught up, and open transactions go with it. Default 5 000; `Infinity` stays where it is.
   */
  readonly returnAfterMs?: number;
  /** Gives up connecting. Has no effect once `connect` has resolved. */
  readonly signal?: AbortSignal;
  /** Encoding of frames. Default JSON; `msgpack` from `@isochron/sdk/msgpack` is the other. */
  readonly codec?: Codec;
  /** WebSocket class. Default the global one; where there is none (Node 20), the package `ws`. */
  readonly WebSocket?: WebSocketConstructor;
  /** Spreads retries. Default `Math.random`. */
  readonly random?: RandomSource;
  /** Default: silent. */
  readonly logger?: Logger;
}

/** Options with their defaults in place. */
export interface Settings {
  readonly keyspace: string;
  readonly credentials: string | undefined;
  readonly requestTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly commitTimeoutMs: number;
  readonly returnAfterMs: number;
  readonly Homing: typeof Homing | undefined;
  readonly codec: Codec;
  readonly WebSocket: WebSocketConstructor;
  readonly random: RandomSource;
  readonly logger: Logger;
}
