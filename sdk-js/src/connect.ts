import { jsonCodec } from '@isochron/client/link/codec';
import type { ExportedSession, ImportedSession } from '@isochron/client/session/exported';
import { CLIENT_KIT } from '@isochron/client/session/kit';
import { DEFAULT_TIMES } from '@isochron/client/times';
import { IsochronError } from '@isochron/core/errors';
import { IsochronClient } from './api/client.js';
import { checkOptions } from './check-options.js';
import { Driver } from './driver.js';
import type { ConnectOptions, Settings, WebSocketConstructor } from './options.js';
import { part } from './parts.js';
import { loadParis } from './protocols.js';
import { throwIfAborted } from './signals.js';

const silent = (): void => undefined;

const DEFAULTS = {
  keyspace: 'default',
  ...DEFAULT_TIMES,
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
 * `requestTimeoutMs`; with CODE_UNAVAILABLE when a file of the client could not be fetched; with PLATFORM_UNSUPPORTED
 * on a platform without WebSocket or secure randomness; with the signal's reason. The text and the `cause` of
 * CONNECTION_LOST have the reason of each endpoint.
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
  throwIfAborted(options.signal);
  // A failure is reported by the load that needs the file.
  loadParis().catch(silent);
  const [session, settings] = await Promise.all([imported(options.session), settle(options)]);
  const driver = new Driver({ ...options, session }, settings);
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
async function imported(session: ExportedSession | string | undefined): Promise<ImportedSession | undefined> {
  if (session === undefined) return undefined;
  const { importSession } = await part(import('@isochron/client/session/imported'));
  return importSession(session, CLIENT_KIT);
}

/** All files that the settings need are fetched at the same time. */
async function settle(options: ConnectOptions): Promise<Settings> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const [auth, homing, WebSocket] = await Promise.all([
    options.auth && part(import('./auth.js')),
    options.endpoints.length > 1 ? part(import('@isochron/client/link/homing')) : undefined,
    options.WebSocket ?? webSocketOf(options),
  ]);
  return {
    ...DEFAULTS,
    ...(Object.fromEntries(given) as Partial<Settings>),
    ...auth?.renewed(IsochronError, options),
    Homing: homing?.Homing,
    WebSocket,
  };
}

/** The global class, in Node one for shared sockets. */
async function webSocketOf(options: ConnectOptions): Promise<WebSocketConstructor> {
  const { WebSocket: Global, process } = globalThis as { WebSocket?: WebSocketConstructor; process?: unknown };
  if (!process && Global) return Global;
  return (await part(import('./ws.js'))).nodeWebSocket(IsochronError, options, Global);
}
