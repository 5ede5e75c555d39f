// The TLS listeners of the transport tests: one with a good certificate, and one for each fault that a client has to
// detect. All serve the same handler as the listener without TLS.

import { createServer } from 'node:https';
import { connect, createServer as createTcpServer } from 'node:net';
import { Authority, validFor } from '@isochron/server';

const HOSTS = ['localhost', '127.0.0.1', '::1'];
const DAY_MS = 86_400_000;
const DAYS = 2;

const named = (hosts) => ({ commonName: 'Isochron test', hosts, uris: [], client: false });
const daysFromNow = (from, to) => ({ from: Date.now() + from * DAY_MS, to: Date.now() + to * DAY_MS });

/** The listeners by name: the options of Node's TLS, by the accepted authority and another one. */
async function plan(authority, other) {
  const options = async (issuer, hosts, validity = validFor(DAYS)) => {
    const { certificate, key } = await issuer.issue(named(hosts), validity);
    return { cert: certificate, key };
  };
  const good = await options(authority, HOSTS);
  return {
    good,
    expired: await options(authority, HOSTS, daysFromNow(-3, -1)),
    future: await options(authority, HOSTS, daysFromNow(1, 3)),
    otherHost: await options(authority, ['node.example', '192.0.2.1']),
    otherAuthority: await options(other, HOSTS),
    tls12: { ...good, maxVersion: 'TLSv1.2' },
    tls11: { ...good, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
    needsCertificate: { ...good, requestCert: true, rejectUnauthorized: true, maxVersion: 'TLSv1.2' },
  };
}

/** A relay to a port that alters one bit of what the server sends once the client has sent this many bytes. */
function altering(port, afterBytes) {
  return createTcpServer((client) => {
    const server = connect(port, '127.0.0.1');
    let sent = 0;
    let isAltered = false;
    client.on('data', (bytes) => {
      sent += bytes.length;
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (!isAltered && sent >= afterBytes) {
        bytes[bytes.length - 1] ^= 1;
        isAltered = true;
      }
      client.write(bytes);
    });
    for (const [one, peer] of [
      [client, server],
      [server, client],
    ]) {
      one.on('error', () => peer.destroy());
      one.on('end', () => peer.end());
    }
  });
}

/** A server that accepts connections, and ends each with the first bytes of its client. */
const hangingUp = () =>
  createTcpServer((client) => {
    client.on('error', () => {});
    client.once('data', () => client.destroy());
  });

const listening = (server) =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));

/**
 * Starts all listeners.
 * @param onRequest the handler of HTTP
 * @param onUpgrade the handler of the opening handshake of a WebSocket
 * @returns the accepted authority in PEM, another one, and the port of each listener
 */
export async function startTls(onRequest, onUpgrade) {
  const [{ authority, pair }, other] = await Promise.all(
    ['Isochron test', 'Another authority'].map((name) => Authority.make(name, validFor(DAYS))),
  );
  const ports = {};
  for (const [name, options] of Object.entries(await plan(authority, other.authority))) {
    const server = createServer({ minVersion: 'TLSv1.2', ...options }, onRequest).on('upgrade', onUpgrade);
    server.on('tlsClientError', () => {});
    ports[name] = await listening(server);
  }
  ports.alteredHandshake = await listening(altering(ports.good, 0));
  ports.alteredData = await listening(altering(ports.good, 10_000));
  ports.hangsUp = await listening(hangingUp());
  return { ca: pair.certificate, otherCa: other.pair.certificate, ports };
}
