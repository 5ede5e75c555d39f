/** `/v1/session`: admits connections and looks after them. */
import { SESSION_CLOSE, SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import type { FastifyInstance } from 'fastify';
import type { RawData, WebSocket } from 'ws';
import type { ApiContext } from '../http/context.js';
import { codecOf } from './codec.js';
import { SessionConnection } from './connection.js';

const UST_INTERVAL_MS = 1000;
const PING_EVERY_TICKS = 30;
/** Clients of a node that restarts come back spread over this time. */
const RETURN_SPREAD_MS = 5000;
const RETURN_AFTER_MS = 500;

/** Chooses the subprotocol: MessagePack where it is offered, as it is cheaper; false when nothing offered is known. */
export function handleProtocols(offered: Set<string>): string | false {
  for (const known of [SESSION_SUBPROTOCOLS.msgpack, SESSION_SUBPROTOCOLS.json]) if (offered.has(known)) return known;
  return false;
}

export function sessionRoute(app: FastifyInstance, api: ApiContext): void {
  const connections = new Set<SessionConnection>();
  let ticks = 0;
  const timer = setInterval(() => {
    ticks++;
    for (const connection of connections) {
      connection.tellUst();
      if (ticks % PING_EVERY_TICKS === 0) connection.checkAlive();
    }
  }, UST_INTERVAL_MS);
  timer.unref();
  app.addHook('preClose', async () => {
    clearInterval(timer);
    for (const connection of connections) {
      connection.goaway('the node is restarting', Math.round(RETURN_AFTER_MS + Math.random() * RETURN_SPREAD_MS));
    }
  });
  app.get('/v1/session', { websocket: true, schema: { hide: true } }, (socket, request) => {
    const offered = request.headers['sec-websocket-protocol'];
    const codec = offered !== undefined && socket.protocol === '' ? undefined : codecOf(socket.protocol);
    if (codec === undefined) {
      socket.on('error', (error) => api.log.debug({ err: error }, 'session socket'));
      socket.close(SESSION_CLOSE.protocolError, 'unknown subprotocol');
      return;
    }
    const connection = new SessionConnection(socket, codec, api);
    connections.add(connection);
    attach(socket, connection, api, () => connections.delete(connection));
  });
}

/** Attached at once: a message that arrived with the handshake must not be missed. */
function attach(socket: WebSocket, connection: SessionConnection, api: ApiContext, gone: () => void): void {
  socket.on('message', (data: RawData, isBinary: boolean) => connection.receive(toBuffer(data), isBinary));
  socket.on('pong', () => connection.alive());
  // A message that is too large, or a broken frame: ws closes the connection, with 1009 or 1002.
  socket.on('error', (error) => api.log.debug({ err: error }, 'session socket'));
  socket.on('close', () => {
    connection.disconnected();
    gone();
  });
}

const toBuffer = (data: RawData): Buffer => {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
};
