import type { Codec } from '@isochron/client/link/codec';
import type { Homing } from '@isochron/client/link/homing';
import type { OpenRenewal } from '@isochron/client/link/renewal';
import type { ExportedSession } from '@isochron/client/session/exported';
import type { ClientTimes } from '@isochron/client/times';
import type { RandomSource } from '@isochron/core/backoff';

/** The fields of a WebSocket's events that the client reads. */
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

/** Makes a WebSocket: the global class, or a class with the same constructor. */
export type WebSocketConstructor = new (url: string, protocols?: string[]) => WebSocketLike;

/** The receiver of the client's log lines. `console` and a pino logger fit. */
export interface Logger {
  debug(message: string): void;
  warn(message: string): void;
}

/** Gives credentials. */
export type Auth = () => string | Promise<string>;

/** The cluster, the credentials and the settings of a connection. */
export interface ConnectOptions extends Partial<ClientTimes> {
  /** Base URLs of nodes, `http(s)://` or `ws(s)://`. The client uses the nearest node; the others are for failover. */
  readonly endpoints: readonly string[];
  /**
   * A session token, for instance from an HTTP answer: this session's reads contain what that one saw and wrote. The
   * token does not hold the writes themselves, so `connect` waits until they are visible everywhere.
   */
  readonly token?: string;
  /** API key, if the cluster requires credentials. Sent in the first frame, never in the URL. */
  readonly credentials?: string;
  /**
   * Gives the newest credentials, such as the access token of an identity provider, in place of `credentials`. The
   * client calls it before it connects, before the credentials expire, and after the cluster has refused them; one call
   * at a time, which clients with the same function share. The session, its transactions and its watches go on.
   *
   * While it throws or rejects, or returns credentials that are refused, it is called again and again, with growing
   * pauses. Requests that wait for it that long reject with CREDENTIALS_UNAVAILABLE after `requestTimeoutMs`. New
   * credentials have to be of the same user: another one needs a client of its own.
   */
  readonly auth?: Auth;
  /**
   * A session that another client exported: this one continues it, causally after everything that one saw and wrote.
   */
  readonly session?: ExportedSession | string;
  /** Keyspace of the client's own methods. Default `default`. */
  readonly keyspace?: string;
  /** Gives up connecting. Has no effect once `connect` has resolved. */
  readonly signal?: AbortSignal;
  /** Encoding of frames. Default JSON; `msgpack` from `@isochron/sdk/msgpack` is the other. */
  readonly codec?: Codec;
  /**
   * Certificate authorities in PEM form that the certificates of `https` endpoints are checked by. In Node, where the
   * package `ws` has to be installed; browsers use their own. Default: those that the platform knows.
   */
  readonly ca?: string | readonly string[];
  /** WebSocket class. Default: the global class, or the class of the package `ws` (Node 20). */
  readonly WebSocket?: WebSocketConstructor;
  /** Spreads retries. Default `Math.random`. */
  readonly random?: RandomSource;
  /** Default: silent. */
  readonly logger?: Logger;
}

/** Takes the credentials of `auth`, or its error. */
export interface Authenticated {
  step(input: { readonly kind: 'credentials'; readonly credentials: unknown }): void;
}

/** Options with their defaults in place. */
export interface Settings extends ClientTimes {
  readonly keyspace: string;
  readonly credentials?: string | undefined;
  /** Where the application has `auth`. */
  readonly renewal?: OpenRenewal | undefined;
  /** Gives a driver the credentials of `auth`. */
  readonly authenticate?: ((driver: Authenticated) => void) | undefined;
  readonly Homing: typeof Homing | undefined;
  readonly codec: Codec;
  readonly WebSocket: WebSocketConstructor;
  readonly random: RandomSource;
  readonly logger: Logger;
}
