/** Floods of every resource that callers can use up: each has a cap, and other callers are served meanwhile. */
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectClient } from '@isochron/sdk';
import { WebSocket } from 'ws';
import { TIER } from '../../tier.js';
import { logged } from '../harness.js';
import { call, keyPath } from '../http.js';
import { SessionClient } from '../session-client.js';
import { until } from '../until.js';
import { ATTACKER, Attack, attackerCall, healthy, memory } from './flood.js';
import { target } from './target.js';

jest.setTimeout(120_000);

/** Floods whose bounds have tests in the process, over real sockets or at a time that stands still. */
const inAll = TIER === 'all' ? it : it.skip;

const MIB = 2 ** 20;
/** Low enough for a test to reach them in seconds; passed to the node on its command line. */
const LIMITS = {
  connections: 300,
  connectionsPerAddress: 200,
  bodyBytes: 48 * MIB,
  bodyBytesPerAddress: 32 * MIB,
  unsentBytes: 48 * MIB,
  requestMs: 5_000,
  headersMs: 5_000,
  stalledMs: 3_000,
  openTransactions: 300,
  openTransactionsPerClient: 200,
  waits: 300,
  waitsPerClient: 100,
  peerStrangers: 40,
  peerStrangersPerAddress: 30,
};
const limits = Object.entries(LIMITS).map(([name, number]) => `${name}=${number}`);
const victim = target({ regions: ['virginia'], args: ['--limit', limits.join(',')] });
/** Differences of a node's memory that have other causes, in MB. */
const NOISE_MB = 120;

/** Pause between large documents: many of them would take memory themselves, in LevelDB and its mapped files. */
const PAUSE_MS = 250;

/** Waits for the memory while the node handles large documents, which makes it collect garbage. */
async function memoryIsBack(before: number): Promise<void> {
  const body = { text: 'x'.repeat(MIB / 2) };
  const isBack = async () => {
    await call(victim.api, 'PUT', keyPath('back'), { body });
    await call(victim.api, 'GET', keyPath('back'));
    await delay(PAUSE_MS);
    return memory(victim.cluster) - before < NOISE_MB;
  };
  const explain = () => `${memory(victim.cluster).toFixed(0)} MB, ${before.toFixed(0)} before`;
  await until('memory is back', isBack, { timeoutMs: 60_000, explain });
}

it(
  'slow bodies hold a bounded amount of memory, and all of them end',
  logged(async () => {
    const before = memory(victim.cluster);
    const attack = new Attack(victim.api);
    const head = [`PUT ${keyPath('slow')} HTTP/1.1`, 'host: localhost', 'content-type: application/json'];
    const request = [...head, `content-length: ${MIB}`, '', `"${'x'.repeat(MIB / 2)}`].join('\r\n');
    // 150 MiB in all.
    for (let i = 0; i < 300; i++) attack.open().resume().write(request);
    const { highest } = await healthy(victim.cluster, () => attack.left === 0);
    expect(highest - before).toBeLessThan(100 + NOISE_MB);
    await memoryIsBack(before);
  }),
);

describe('readers that do not read', () => {
  beforeAll(async () => {
    if (TIER !== 'all') return;
    const body = { text: 'x'.repeat(MIB - 100) };
    for (let i = 0; i < 8; i++) {
      const { status, json } = await call(victim.api, 'PUT', keyPath(`large-${i}`), { body });
      expect(status).toBe(200);
      const { timestamp } = json as { timestamp: number };
      expect((await call(victim.api, 'GET', `/v1/stable?ts=${timestamp}`)).status).toBe(200);
    }
  });

  inAll(
    'connections over HTTP that do not read are ended, and so are those with most unsent data when too much waits in all',
    logged(async () => {
      const before = memory(victim.cluster);
      const attack = new Attack(victim.api);
      const get = `GET ${keyPath('large-0')} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
      for (let i = 0; i < 60; i++) attack.open().pause().write(get.repeat(20));
      const { highest } = await healthy(victim.cluster, () => attack.probe() === 0);
      // The requests are for 1,200 MiB.
      expect(highest - before).toBeLessThan(400);
      await memoryIsBack(before);
    }),
  );

  inAll(
    'sessions that do not read are ended',
    logged(async () => {
      const before = memory(victim.cluster);
      const attack = await Promise.all(Array.from({ length: 10 }, () => session()));
      for (const socket of attack) {
        socket.pause();
        for (let id = 1; id <= 200; id++)
          socket.send(JSON.stringify({ type: 'read', id, tx: null, keys: [`default/large-${id % 8}`] }));
      }
      const { highest } = await healthy(victim.cluster, () => attack.map(isEnded).every(Boolean));
      expect(highest - before).toBeLessThan(400);
      for (const socket of attack) socket.terminate();
      await memoryIsBack(before);
    }),
  );
});

/** A session of the attacker that has sent its hello. */
async function session(): Promise<WebSocket> {
  const url = `${victim.api.replace('http', 'ws')}/v1/session`;
  const socket = new WebSocket(url, ['isochron.v1+json'], { localAddress: ATTACKER });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  socket.on('error', () => undefined);
  const welcome = new Promise((resolve) => socket.once('message', resolve));
  socket.send(JSON.stringify({ type: 'hello' }));
  await welcome;
  return socket;
}

/** Whether the node has ended a connection that is not read: then writing to it fails. */
function isEnded(socket: WebSocket): boolean {
  if (socket.readyState === socket.OPEN) socket.send('{}');
  return socket.readyState !== socket.OPEN;
}

inAll(
  'a client has a share of the open transactions over HTTP and in sessions, and others still open theirs',
  logged(async () => {
    const path = '/v1/transactions';
    const answers = await Promise.all(Array.from({ length: 250 }, () => attackerCall(victim.api, 'POST', path)));
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(250 - LIMITS.openTransactionsPerClient);
    for (const { text } of refused) expect(JSON.parse(text)).toMatchObject({ code: 'OVERLOADED' });
    const socket = await session();
    const reply = new Promise((resolve) => socket.once('message', (data: Buffer) => resolve(JSON.parse(String(data)))));
    socket.send(JSON.stringify({ type: 'start', id: 1, tx: `${'a'.repeat(22)}.1` }));
    expect(await reply).toMatchObject({ type: 'error', code: 'OVERLOADED' });
    socket.terminate();
    const client = await connectClient({ endpoints: [victim.api] });
    for (let i = 0; i < 150; i++) {
      // Each is aborted, so that there is room for the next.
      await client.transaction(async (tx) => {
        await tx.get('healthy');
        if (i % 2 === 0) tx.set('healthy', i);
      });
    }
    await client.close();
    const { id } = (await call(victim.api, 'POST', path)).json as { id: string };
    expect((await call(victim.api, 'DELETE', `${path}/${id}`)).status).toBe(204);
  }),
);

inAll(
  'a client has a share of the waiting requests, and others still wait for theirs',
  logged(async () => {
    const { hlc } = (await call(victim.api, 'GET', '/v1/clock')).json as { hlc: number };
    const later = hlc + 2_000 * 4096;
    const attack = new Attack(victim.api);
    const wait = `GET /v1/stable?ts=${later} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
    let text = '';
    for (let i = 0; i < 150; i++) {
      const socket = attack.open();
      socket.on('data', (part: Buffer) => {
        text += part;
      });
      socket.write(wait);
    }
    const refusals = () => text.split('"code":"OVERLOADED"').length - 1;
    await until('those above the share are refused', () => refusals() === 150 - LIMITS.waitsPerClient);
    const own = await call(victim.api, 'GET', `/v1/stable?ts=${later}`);
    expect(own.status).toBe(200);
    attack.end();
    expect(refusals()).toBe(150 - LIMITS.waitsPerClient);
  }),
);

inAll(
  'an address has a share of the idle sockets, and sockets that send nothing end',
  logged(async () => {
    const attack = new Attack(victim.api);
    const started = performance.now();
    for (let i = 0; i < 400; i++) attack.open().resume();
    await until('those above the share have ended', () => attack.left <= LIMITS.connectionsPerAddress);
    // Before the idle sockets end for being idle.
    expect(performance.now() - started).toBeLessThan(LIMITS.headersMs - 500);
    await healthy(victim.cluster, () => attack.left === 0);
  }),
);

inAll(
  'an address has a share of the idle sessions, and clients of other addresses still connect',
  logged(async () => {
    const before = memory(victim.cluster);
    const opened = await Promise.allSettled(Array.from({ length: 300 }, () => session()));
    const sessions = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(sessions.length).toBeGreaterThan(100);
    expect(sessions.length).toBeLessThanOrEqual(LIMITS.connectionsPerAddress);
    await healthy(victim.cluster, () => true);
    const client = await SessionClient.open(victim.api);
    expect(await client.hello()).toMatchObject({ type: 'welcome' });
    client.close();
    for (const socket of sessions) socket.terminate();
    await memoryIsBack(before);
  }),
);

inAll(
  'a session that floods the node with pings is ended',
  logged(async () => {
    const sockets = await Promise.all(Array.from({ length: 20 }, () => session()));
    let left = sockets.length;
    for (const socket of sockets) {
      socket.on('close', () => left--);
      for (let i = 0; i < 1_000; i++) socket.ping('x'.repeat(125));
    }
    await healthy(victim.cluster, () => left === 0);
  }),
);

it(
  'unauthenticated connections to the peering port are bounded, for each address and in all, and end',
  logged(async () => {
    const started = performance.now();
    const peer = victim.cluster.nodes[0]!.peer.replace('ws', 'http');
    const attacks = ['127.0.0.2', '127.0.0.3', '127.0.0.4'].map((address) => new Attack(peer, address));
    for (const attack of attacks) for (let i = 0; i < 100; i++) attack.open().resume().write('GET / HT');
    const left = () => attacks.reduce((sum, attack) => sum + attack.left, 0);
    await until('those above the total have ended', () => left() <= LIMITS.peerStrangers);
    // Before unauthenticated connections end by the timeout of 3 s.
    expect(performance.now() - started).toBeLessThan(2_500);
    await healthy(victim.cluster, () => left() === 0);
  }),
);
