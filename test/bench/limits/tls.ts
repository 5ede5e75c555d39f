/** The bare limit of session set-ups: `ws` over TLS, which answers a first message as a node answers a hello. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { answerJobs } from '../jobs.js';

/** Serves with these files; returns the port. */
export interface WelcomeJob {
  readonly cert: string;
  readonly key: string;
  /** Characters of the answer. */
  readonly answerCharacters: number;
}

answerJobs<WelcomeJob, number>(async ({ cert, key, answerCharacters }) => {
  const welcome = JSON.stringify({ type: 'welcome', rest: 'x'.repeat(answerCharacters) });
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) });
  const sockets = new WebSocketServer({ server, perMessageDeflate: false });
  sockets.on('connection', (socket) => socket.on('message', () => socket.send(welcome)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
});
