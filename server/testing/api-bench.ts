/**
 * Micro-benchmark of the API alone, over a fake node: each route beside a bare Fastify route, or bare `ws` echo, with
 * the same bytes. Run after a build: `node server/dist/testing/api-bench.js [seconds]`. The load comes from the parent,
 * the servers run in a child.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import fastify from 'fastify';
import { WebSocket, WebSocketServer } from 'ws';
import { HttpLatency } from '../src/http/metrics/latency.js';
import { FakeCluster } from './fake-node.js';
import { startApi } from './test-api.js';

const CONNECTIONS = 50;
const IN_FLIGHT = 64;
const ROUNDS = 3;
const DOCUMENT = '{"title":"buy milk"}';
const keys = Array.from({ length: 20 }, (_, i) => ({ keyspace: 'default', key: `todos/${i}` }));
const READ_BODY = JSON.stringify({ keys });

interface Ports {
  readonly api: string;
  readonly bare: string;
  readonly echo: number;
}

/** The child: the API and the bare servers. */
async function serve(): Promise<void> {
  const cluster = new FakeCluster();
  for (const { key } of keys) cluster.put(`default/${key}`, DOCUMENT);
  cluster.stabilise();
  const { url, node, call } = await startApi({ cluster, latency: new HttpLatency() });
  node.recording = false;
  const { text } = await call('POST', '/v1/read', { body: JSON.parse(READ_BODY) });
  const bare = fastify();
  bare.get(
    '/get',
    (_request, reply) => void reply.header('content-type', 'application/json; charset=utf-8').send(DOCUMENT),
  );
  bare.post(
    '/read',
    (_request, reply) => void reply.header('content-type', 'application/json; charset=utf-8').send(text),
  );
  const bareUrl = await bare.listen({ port: 0, host: '127.0.0.1' });
  const echo = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  echo.on('connection', (socket) => socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })));
  await once(echo, 'listening');
  const address = echo.address();
  const ports: Ports = {
    api: url,
    bare: bareUrl,
    echo: typeof address === 'object' && address !== null ? address.port : 0,
  };
  // Stable time advances as in a live cluster.
  setInterval(() => cluster.stabilise(), 5);
  process.send?.(ports);
}

/**
 * Requests a second over keep-alive connections, one in flight on each. Plain sockets: an HTTP client would be the
 * bottleneck.
 */
function http(url: string, body: string | undefined, seconds: number): Promise<number> {
  const { hostname, port, pathname } = new URL(url);
  const post =
    body === undefined ? '' : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
  const request = `${body === undefined ? 'GET' : 'POST'} ${pathname} HTTP/1.1\r\nhost: localhost\r\n${post}\r\n${body ?? ''}`;
  const end = performance.now() + seconds * 1000;
  const run = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.write(request));
      let done = 0;
      let received = '';
      socket.on('error', reject);
      socket.on('data', (chunk) => {
        received = received === '' ? chunk.toString('latin1') : received + chunk.toString('latin1');
        const head = received.indexOf('\r\n\r\n');
        if (head < 0) return;
        if (!received.startsWith('HTTP/1.1 200')) reject(new Error(received));
        const length = Number(/content-length: (\d+)/i.exec(received)?.[1]);
        if (received.length < head + 4 + length) return;
        received = '';
        done++;
        if (performance.now() < end) socket.write(request);
        else {
          socket.destroy();
          resolve(done);
        }
      });
    });
  return Promise.all(Array.from({ length: CONNECTIONS }, run)).then(
    (counts) => counts.reduce((a, b) => a + b) / seconds,
  );
}

/** Frames a second over one connection with 64 in flight, every one a WebSocket message of its own. */
function frames(
  url: string,
  hello: string | undefined,
  frame: (id: number) => string,
  seconds: number,
): Promise<number> {
  const socket = new WebSocket(url, hello === undefined ? [] : ['isochron.v1+json'], { perMessageDeflate: false });
  return new Promise((resolve, reject) => {
    let id = 0;
    let done = 0;
    let end = 0;
    const begin = (): void => {
      end = performance.now() + seconds * 1000;
      for (let i = 0; i < IN_FLIGHT; i++) socket.send(frame(++id));
    };
    socket.on('error', reject);
    socket.on('open', () => (hello === undefined ? begin() : socket.send(hello)));
    socket.on('message', (data: Buffer) => {
      const text = data.toString('latin1');
      if (text.includes('"welcome"')) return begin();
      if (text.includes('"error"')) return reject(new Error(text));
      const answers = text.startsWith('[') ? text.split('"type":"values"').length - 1 : 1;
      done += answers;
      if (performance.now() >= end) {
        socket.terminate();
        return resolve(done / seconds);
      }
      for (let i = 0; i < answers; i++) socket.send(frame(++id));
    });
  });
}

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

async function compare(what: string, ours: () => Promise<number>, limit: () => Promise<number>): Promise<void> {
  const [a, b]: [number[], number[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round++) {
    const [x, y] = [await ours(), await limit()];
    // The first round warms up.
    if (round > 0) {
      a.push(x);
      b.push(y);
    }
  }
  const figures = `${Math.round(median(a))}/s ÷ ${Math.round(median(b))}/s`;
  process.stdout.write(`${what.padEnd(44)} ${(median(a) / median(b)).toFixed(2)}  ${figures}\n`);
}

async function main(): Promise<void> {
  const seconds = Number(process.argv[2] ?? 2);
  const child = fork(fileURLToPath(import.meta.url), { env: { ...process.env, API_BENCH_CHILD: '1' } });
  const { api, bare, echo } = await new Promise<Ports>((resolve) =>
    child.once('message', (ports) => resolve(ports as Ports)),
  );
  const get = `${api}/v1/keyspaces/default/keys/todos%2F1`;
  const ws = api.replace('http', 'ws');
  const read = (id: number): string => `{"type":"read","id":${id},"keys":["default/todos/1"]}`;
  const pad = (id: number): string => `{"type":"values","id":${id},"snapshot":1,"values":[[1,"${'x'.repeat(30)}"]]}`;
  await compare(
    'GET one key, 50 connections',
    () => http(get, undefined, seconds),
    () => http(`${bare}/get`, undefined, seconds),
  );
  await compare(
    'POST /v1/read, 20 keys',
    () => http(`${api}/v1/read`, READ_BODY, seconds),
    () => http(`${bare}/read`, READ_BODY, seconds),
  );
  await compare(
    'WebSocket read of 1 key, 64 in flight',
    () => frames(`${ws}/v1/session`, '{"type":"hello"}', read, seconds),
    () => frames(`ws://127.0.0.1:${echo}`, undefined, pad, seconds),
  );
  child.kill();
}

await (process.env.API_BENCH_CHILD === '1' ? serve() : main());
