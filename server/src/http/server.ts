/** The server of a port: over TLS with certificates, else without. */
import { lookup } from 'node:dns/promises';
import { createServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { FastifyInstance, FastifyListenOptions, FastifyServerFactory } from 'fastify';
import type { CertificateSet } from '../tls/certificate-files.js';
import type { Certificates } from '../tls/certificates.js';
import { KEEP_ALIVE_MS } from './connections/connections.js';
import type { NodeLimits } from './limits/limits.js';

/** Clients speak TLS 1.3 or nothing. */
const VERSION = { minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3' } as const;

/** The times of Node's own checks, whose ends have a reason. */
export const timesOf = ({ headersMs, requestMs }: Pick<NodeLimits, 'headersMs' | 'requestMs'>) => ({
  // Node refuses a longer one.
  headersTimeout: Math.min(headersMs, requestMs),
  requestTimeout: requestMs,
  keepAliveTimeout: KEEP_ALIVE_MS,
  connectionsCheckingInterval: 1000,
});

/** How long a server that closes waits for its connections to end, ms. */
export const CLOSE_MS = 3000;

type Options = ServerOptions & { readonly headersTimeout: number };

/** Makes the servers of a port. */
export const servers =
  (certificates: Certificates | undefined, options: Options): FastifyServerFactory =>
  (handler) =>
    certificates === undefined ? createServer(options, handler) : tlsServer(certificates, options, handler);

/** A server that takes new certificates for new connections. Connections that are open stay as they are. */
function tlsServer(certificates: Certificates, options: Options, handler: Parameters<FastifyServerFactory>[0]): Server {
  const times = { handshakeTimeout: options.headersTimeout };
  const server = createTlsServer({ ...options, ...times, ...contextOf(certificates.current) }, handler);
  // Before the handler of broken requests: its answer would wait for a handshake that does not come.
  server.prependListener('tlsClientError', (_error: Error, socket: TLSSocket) => socket.destroy());
  const stop = certificates.onChange((set) => server.setSecureContext(contextOf(set)));
  server.on('close', stop);
  return server;
}

const contextOf = ({ cert, key }: CertificateSet) => ({ ...VERSION, cert, key });

/** Listens: on all addresses of the machine that `localhost` names, or on the one of another host. */
export async function listenAt(app: FastifyInstance, options: FastifyListenOptions): Promise<void> {
  await app.listen(options);
  if (options.host === 'localhost') await listenOnLocalhost(app.server);
}

/** Takes connections to the other addresses of `localhost` for a server: it treats them as its own. */
async function listenOnLocalhost(server: Server): Promise<void> {
  const { address: first, port } = server.address() as AddressInfo;
  const addresses = await lookup('localhost', { all: true });
  for (const { address } of addresses) {
    if (address === first) continue;
    const options = { allowHalfOpen: true, noDelay: true };
    const other = createTcpServer(options, (socket) => server.emit('connection', socket));
    server.on('close', () => other.close());
    await new Promise<void>((resolve) => {
      // The machine may have no such address: IPv6 may be switched off.
      other.on('error', () => resolve());
      other.listen(port, address, resolve);
    });
  }
}
