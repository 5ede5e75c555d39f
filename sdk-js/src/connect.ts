import { jsonCodec } from '@isochron/client/link/codec';
import type { ExportedSession, ImportedSession } from '@isochron/client/session/exported';
import { CLIENT_KIT } from '@isochron/client/session/kit';
import { IsochronError } from '@isochron/core/errors';
import { IsochronClient } from './api/client.js';
import { checkOptions } from './documents.js';
import { Driver } from './driver.js';
import type { ConnectOptions, Settings, WebSocketConstructor } from './options.js';

const silent = (): void => undefined;

const DEFAULTS = {
  keyspace: 'default',
  requestTimeoutMs: 10_000,
  connectTimeoutMs: 5_000,
  commitTimeoutMs: 30_000,
  returnAfterMs: 5_000,
  codec: jsonCodec,
  random: Math.random,
  logger: { debug: silent, warn: silent },
};
const SETTINGS = Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[];

/**
 * Connects to the nearest of the endpoints and opens a session, or continues one.
 *
 * Rejects with CONNECTION_LOST when none can be reached; with the cluster's refusal (UNAUTHENTICATED, TOKEN_INVALID,
 * TOKEN_FOREIGN, …); with CREDENTIALS_UNAVAILABLE when `auth` gave no credentials within `requestTimeoutMs`; with
 * TOKEN_INVALID for a damaged `session`; with INVALID_REQUEST for endpoints that are no URLs, for unknown options, and
 * for `auth` beside `credentials`; with SESSION_GAP when the writes of a `token`'s session were not visible within
 * `requestTimeoutMs`; with the signal's reason.
 */
export async function connect(options: ConnectOptions): Promise<IsochronClient> {
  checkOptions(
    options,
    'auth',
    'ca',
    'token',
    'signal',
    'WebSocket',
    'session',
    'credentials',
    'endpoints',
    ...SETTINGS,
  );
  options.signal?.throwIfAborted();
  const session = options.session === undefined ? undefined : await imported(options.session);
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

/** Few applications import a session: a bundler keeps this code in a file of its own. */
async function imported(session: ExportedSession | string): Promise<ImportedSession> {
  const { importSession } = await import('@isochron/client/session/imported');
  return importSession(session, CLIENT_KIT);
}

async function settle(options: ConnectOptions): Promise<Settings> {
  const { WebSocket: Global, process } = globalThis as { WebSocket?: WebSocketConstructor; process?: unknown };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return {
    ...DEFAULTS,
    ...(Object.fromEntries(given) as Partial<Settings>),
    ...(options.auth && (await import('./auth.js')).renewed(IsochronError, options)),
    Homing: options.endpoints.length > 1 ? (await import('@isochron/client/link/homing')).Homing : undefined,
    WebSocket:
      options.WebSocket ??
      (process || !Global ? await (await import('./ws.js')).nodeWebSocket(IsochronError, options, Global) : Global),
  };
}
