/** The server of an API over TLS. */
import type { Server, ServerOptions } from 'node:http';
import { createServer } from 'node:https';
import type { FastifyServerFactory } from 'fastify';
import type { CertificateSet } from './certificate-files.js';
import type { Certificates } from './certificates.js';

/** Clients speak TLS 1.3 or nothing. */
const VERSION = { minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3' } as const;

/** How long a connection without a request stays open, ms: as Fastify has it without TLS. */
const KEEP_ALIVE_MS = 72_000;

/**
 * Makes the servers of an API, which take new certificates for new connections. Connections that are open stay as they
 * are.
 */
export const tlsServers =
  (certificates: Certificates, options: ServerOptions & { readonly headersTimeout: number }): FastifyServerFactory =>
  (handler): Server => {
    const times = { handshakeTimeout: options.headersTimeout, keepAliveTimeout: KEEP_ALIVE_MS };
    const server = createServer({ ...options, ...times, ...contextOf(certificates.current) }, handler);
    const stop = certificates.onChange((set) => server.setSecureContext(contextOf(set)));
    server.on('close', stop);
    return server;
  };

const contextOf = ({ cert, key }: CertificateSet) => ({ ...VERSION, cert, key });
