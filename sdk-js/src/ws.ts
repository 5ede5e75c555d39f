/** The WebSocket in Node: browsers never load this file, so it shares no code with the others. */
import type { IsochronError } from '@isochron/core/errors';
import type { WebSocketConstructor } from './options.js';

/**
 * The class of the sockets that sessions share, made with the global one, or with that of the package `ws`. If
 * `process` is not Node's, the global class.
 * @throws NOT_SUPPORTED_BY_PROTOCOL, as an error of the given class, if both are missing
 */
export async function nodeWebSocket(
  ErrorOf: typeof IsochronError,
  credentials: string | undefined,
  Global: WebSocketConstructor | undefined,
): Promise<WebSocketConstructor> {
  const Base = Global ?? (await findWebSocket(ErrorOf));
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  if (process?.versions?.node === undefined) return Base;
  return (await import('./shared.js')).sharedWebSocket(Base, credentials);
}

/**
 * @param name of the package: bundlers cannot follow it
 * @throws NOT_SUPPORTED_BY_PROTOCOL, as an error of the given class, where the package is not installed
 */
async function findWebSocket(ErrorOf: typeof IsochronError, name = 'ws'): Promise<WebSocketConstructor> {
  try {
    const { WebSocket } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as {
      WebSocket: WebSocketConstructor;
    };
    return WebSocket;
  } catch (cause) {
    const message = 'there is no global WebSocket: install the package "ws", or pass a WebSocket class to connect';
    throw new ErrorOf('NOT_SUPPORTED_BY_PROTOCOL', message, { cause });
  }
}
