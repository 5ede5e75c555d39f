/** Callers that do not authenticate. */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { logged } from '../harness.js';
import { call } from '../http.js';
import { until } from '../until.js';
import { target } from './target.js';

jest.setTimeout(120_000);

const SOCKETS = 60;
const MEGABYTE = Buffer.alloc(2 ** 20);
const MESSAGE_MEGABYTES = 15;
const UPGRADE = [
  'GET /v1/session HTTP/1.1',
  'host: localhost',
  'connection: upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
];

const victim = target();

const open = (): Socket => {
  const { hostname, port } = new URL(victim.api);
  return connect(Number(port), hostname).on('error', () => undefined);
};
const ended = (socket: Socket): Promise<void> => new Promise((resolve) => socket.on('close', () => resolve()));

/** Resident memory of the node, in MB. */
function memory(): number {
  const { pid } = victim.cluster.process('virginia-1');
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}

/** A message of 15 MiB in place of a hello, in one frame. */
function flood(socket: Socket): void {
  const header = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(MESSAGE_MEGABYTES * MEGABYTE.length, 6);
  socket.write([...UPGRADE, '', ''].join('\r\n'));
  socket.once('data', () => {
    socket.write(header);
    // One byte less, so that the frame is never complete.
    for (let i = 1; i < MESSAGE_MEGABYTES; i++) socket.write(MEGABYTE);
    socket.write(MEGABYTE.subarray(1));
  });
}

it(
  '60 sockets that send 15 MiB before their hello take no memory, and a healthy client is served meanwhile',
  logged(async () => {
    const before = memory();
    const sockets = Array.from({ length: SOCKETS }, open);
    const all = Promise.all(sockets.map(ended));
    for (const socket of sockets) flood(socket);
    let highest = 0;
    let over = false;
    void all.then(() => {
      over = true;
    });
    while (!over) {
      expect((await call(victim.api, 'GET', '/v1/clock', { timeoutMs: 5_000 })).status).toBe(200);
      highest = Math.max(highest, memory());
    }
    // 1,150 MB if the node reads a message before it has authenticated the sender.
    expect(highest - before).toBeLessThan(200);
    await until('memory is back', async () => memory() - before < 150);
  }),
);

it(
  'sockets that send half a header end within seconds',
  logged(async () => {
    const sockets = Array.from({ length: SOCKETS }, open);
    for (const socket of sockets) socket.resume().write('GET /v1/clock HTTP/1.1\r\nhost: loc');
    const started = performance.now();
    await Promise.all(sockets.map(ended));
    expect(performance.now() - started).toBeLessThan(20_000);
    expect((await call(victim.api, 'GET', '/v1/clock')).status).toBe(200);
  }),
);
