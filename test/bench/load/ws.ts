/** The load on the bare WebSocket: connections that keep messages in flight. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';

export interface WsJob {
  readonly url: string;
  readonly connections: number;
  /** Unanswered messages on each connection. */
  readonly inFlight: number;
  readonly messageBytes: number;
  readonly durationMs: number;
}

answerJobs<WsJob, Load>(async ({ url, connections, inFlight, messageBytes, durationMs }) => {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(url)));
  const message = 'x'.repeat(messageBytes);
  const end = performance.now() + durationMs;
  const counts = await Promise.all(sockets.map((socket) => keepInFlight(socket, message, inFlight, end)));
  for (const socket of sockets) socket.terminate();
  return { operations: counts.reduce((sum, count) => sum + count, 0), elapsedMs: durationMs };
});

async function open(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await once(socket, 'open');
  return socket;
}

function keepInFlight(socket: WebSocket, message: string, inFlight: number, end: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let answers = 0;
    socket.on('message', () => {
      if (performance.now() >= end) return resolve(answers);
      answers++;
      socket.send(message);
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the echo server closed the connection')));
    for (let i = 0; i < inFlight; i++) socket.send(message);
  });
}
