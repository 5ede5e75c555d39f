/** The bare limit of the WebSocket: `ws`, each message answered by one of a given size. */
import { once } from 'node:events';
import { WebSocketServer } from 'ws';
import { answerJobs } from '../jobs.js';

/** Serves; returns the port. */
export interface EchoJob {
  readonly answerBytes: number;
}

answerJobs<EchoJob, number>(async ({ answerBytes }) => {
  const answer = Buffer.alloc(answerBytes, 'x');
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
  server.on('connection', (socket) => {
    // Text frames, like the real ones: the receiver validates UTF-8.
    socket.on('message', () => socket.send(answer, { binary: false }));
  });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the echo server has no port');
  return address.port;
});
