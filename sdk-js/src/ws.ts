/** The WebSocket of Node below 22: browsers never load this file, which therefore shares none with the others. */
import type { IsochronError } from '@isochron/core/errors';
import type { WebSocketConstructor } from './options.js';

/**
 * @param name of the package: bundlers cannot follow it
 * @throws NOT_SUPPORTED_BY_PROTOCOL, as an error of the given class, where the package is not installed
 */
export async function findWebSocket(ErrorOf: typeof IsochronError, name = 'ws'): Promise<WebSocketConstructor> {
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
