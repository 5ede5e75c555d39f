/** The WebSocket in Node: browsers never load this file, so it shares no code with the others. */
import type { IsochronError } from '@isochron/core/errors';
import type { ConnectOptions, WebSocketConstructor, WebSocketLike } from './options.js';

/**
 * The class of the sockets that sessions share, made with the global one, or with that of the package `ws`. If
 * `process` is not Node's, the global class.
 * @throws PLATFORM_UNSUPPORTED, as an error of the given class, if both are missing
 */
export async function nodeWebSocket(
  ErrorOf: typeof IsochronError,
  { auth, credentials, ca }: Pick<ConnectOptions, 'auth' | 'credentials' | 'ca'>,
  Global: WebSocketConstructor | undefined,
): Promise<WebSocketConstructor> {
  const Base =
    ca === undefined ? (Global ?? (await findWebSocket(ErrorOf))) : trusting(ca, await findWebSocket(ErrorOf));
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  if (process?.versions?.node === undefined) return Base;
  return (await import('./shared.js')).sharedWebSocket(Base, auth ?? credentials);
}

/**
 * @param name of the package: bundlers cannot follow it
 * @throws PLATFORM_UNSUPPORTED, as an error of the given class, where the package is not installed
 */
async function findWebSocket(ErrorOf: typeof IsochronError, name = 'ws'): Promise<NodeWebSocket> {
  try {
    const { WebSocket } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as {
      WebSocket: NodeWebSocket;
    };
    return WebSocket;
  } catch (cause) {
    const message = 'there is no WebSocket for that: install the package "ws", or pass a WebSocket class to connect';
    throw new ErrorOf('PLATFORM_UNSUPPORTED', message, { cause });
  }
}

/** The class of `ws`, which takes options of TLS. */
type NodeWebSocket = new (
  url: string,
  protocols?: string[],
  options?: { readonly ca: string | readonly string[] },
) => WebSocketLike;

/** One class for the same authorities, so that sessions share sockets. */
const trustingClasses = new Map<string, WebSocketConstructor>();

function trusting(ca: string | readonly string[], Base: NodeWebSocket): WebSocketConstructor {
  const key = [ca].flat().join('\n');
  let known = trustingClasses.get(key);
  if (known === undefined) {
    known = new Proxy(Base, { construct: (_, [url, protocols]) => new Base(url, protocols, { ca }) });
    trustingClasses.set(key, known);
  }
  return known;
}
