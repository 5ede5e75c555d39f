/** Sockets of a bare server, each of which answers every message with one of the size of a live request. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { answerJobs } from '../jobs.js';

/** Opens sockets; returns their number. */
export interface PushedJob {
  readonly url: string;
  readonly sockets: number;
}

/** Sockets that are opened at the same time. */
const AT_ONCE = 50;
const REQUEST = JSON.stringify({ type: 'live', id: 1_000, after: 2 ** 52, waitMs: 60_000 });

answerJobs<PushedJob, number>(async ({ url, sockets }) => {
  for (let open = 0; open < sockets; open += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, sockets - open) }, () => connect(url)));
  return sockets;
});

async function connect(url: string): Promise<void> {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await once(socket, 'open');
  socket.on('message', () => socket.send(REQUEST));
}
