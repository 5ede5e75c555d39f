import { jsonCodec } from '@isochron/client/link/codec';
import { importSession } from '@isochron/client/session/imported';
import { IsochronError } from '@isochron/core/errors';
import { IsochronClient } from './api/client.js';
import { Driver } from './driver.js';
import type { ConnectOptions, Logger, Settings, WebSocketConstructor } from './options.js';

const silent: Logger = { debug: () => undefined, warn: () => undefined };

/**
 * Connects to the nearest of the endpoints and opens a session, or continues one.
 *
 * Rejects with CONNECTION_LOST when none can be reached; with the cluster's refusal (UNAUTHENTICATED, TOKEN_INVALID,
 * TOKEN_FOREIGN, …); with TOKEN_INVALID for a damaged `session`; with INVALID_REQUEST for endpoints that are no URLs; with
 * SESSION_GAP when what the session of a `token` wrote was not visible within `requestTimeoutMs`; with the signal's reason.
 */
export async function connect(options: ConnectOptions): Promise<IsochronClient> {
  options.signal?.throwIfAborted();
  const session = options.session === undefined ? undefined : importSession(options.session);
  const driver = new Driver({ ...options, session }, await settle(options));
  try {
    const client = new IsochronClient(driver);
    await driver.call({ f: 'connect' }, options.signal);
    return client;
  } catch (error) {
    await driver.call({ f: 'close' });
    throw error;
  }
}

async function settle(options: ConnectOptions): Promise<Settings> {
  return {
    keyspace: options.keyspace ?? 'default',
    credentials: options.credentials,
    requestTimeoutMs: options.requestTimeoutMs ?? 10_000,
    connectTimeoutMs: options.connectTimeoutMs ?? 5_000,
    commitTimeoutMs: options.commitTimeoutMs ?? 30_000,
    returnAfterMs: options.returnAfterMs ?? 5_000,
    codec: options.codec ?? jsonCodec,
    WebSocket: options.WebSocket ?? (await findWebSocket()),
    random: options.random ?? Math.random,
    logger: options.logger ?? silent,
  };
}

async function findWebSocket(): Promise<WebSocketConstructor> {
  const { WebSocket } = globalThis as { WebSocket?: WebSocketConstructor };
  if (WebSocket !== undefined) return WebSocket;
  // A name that bundlers cannot follow: only Node below 22 ever gets here.
  const name = 'ws';
  try {
    const { WebSocket: found } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as {
      WebSocket: WebSocketConstructor;
    };
    return found;
  } catch (cause) {
    const message = 'there is no global WebSocket: install the package "ws", or pass a WebSocket class to connect';
    throw new IsochronError('NOT_SUPPORTED_BY_PROTOCOL', message, { cause });
  }
}
