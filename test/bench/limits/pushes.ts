/** The bare limit of live queries: `ws`, which sends messages to many sockets, each when its client has answered. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';

/** Serves; returns the port. */
export interface ListenJob {
  readonly kind: 'listen';
}

/** Sends messages to the sockets in turn, at a rate, to each when it has answered its last one. */
export interface PushJob {
  readonly kind: 'push';
  readonly bytes: number;
  readonly messagesPerSecond: number;
  readonly durationMs: number;
}

export type PushesJob = ListenJob | PushJob;

export interface PushesLoad extends Load {
  readonly port: number;
}

/** Messages that are sent together, in one turn. */
const BURST_MS = 5;

let server: WebSocketServer | undefined;
const sockets: WebSocket[] = [];
/** Sockets whose client has answered. */
const ready = new Set<WebSocket>();

answerJobs<PushesJob, PushesLoad>(async (job) => {
  if (job.kind === 'listen') await listen();
  const load = job.kind === 'push' ? await push(job) : { operations: 0, elapsedMs: 0 };
  const address = server?.address();
  if (address == null || typeof address === 'string') throw new Error('the server has no port');
  return { ...load, port: address.port };
});

async function listen(): Promise<void> {
  server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
  server.on('connection', (socket) => {
    sockets.push(socket);
    ready.add(socket);
    socket.on('message', () => ready.add(socket));
  });
  await once(server, 'listening');
}

async function push({ bytes, messagesPerSecond, durationMs }: PushJob): Promise<Load> {
  const message = Buffer.alloc(bytes, 'x');
  const began = performance.now();
  let [turn, sent] = [0, 0];
  for (let now = began; now - began < durationMs; now = performance.now()) {
    const due = ((now - began) * messagesPerSecond) / 1000;
    for (let looked = 0; sent < due && looked < sockets.length; looked++) {
      const socket = sockets[turn++ % sockets.length]!;
      if (!ready.delete(socket)) continue;
      socket.send(message, { binary: false });
      sent++;
    }
    await delay(BURST_MS);
  }
  return { operations: sent, elapsedMs: performance.now() - began };
}
