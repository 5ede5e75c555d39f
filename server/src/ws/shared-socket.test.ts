import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from '@isochron/sdk';
import type { ServedConnection } from '@isochron/sessions';
import { CHANNEL_LIMITS, ENTRY, EntryWriter, SHARED_SUBPROTOCOL } from '@isochron/wire/channels/entries';
import { SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import { WebSocket, WebSocketServer } from 'ws';
import { SessionClient } from '../../testing/session-client.js';
import { SharedClient } from '../../testing/shared-client.js';
import { send, startApi, type TestApi } from '../../testing/test-api.js';
import { ClientTurns } from '../http/limits/turns.js';
import { buildMetrics } from '../http/metrics/metrics.js';
import { codecOf } from './codec.js';
import { SessionChannel } from './session-channel.js';
import { SharedSocket, type SharedSocketOptions } from './shared-socket.js';

let api: TestApi;
afterEach(() => api.close());

const TX = 'abcdefghijklmnopqrstuv';
const read = (id: number, key = 'default/a') => ({ type: 'read', id, keys: [key] });

/** Resolves once the condition holds. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await delay(2);
}

describe('sessions on a shared socket', () => {
  it.each([SESSION_SUBPROTOCOLS.json, SESSION_SUBPROTOCOLS.msgpack])(
    'sessions on a shared socket are served as on sockets of their own, over %s',
    async (protocol) => {
      api = await startApi();
      const ts = api.cluster.put('default/a', '"é"');
      api.cluster.stabilise();
      const shared = await SharedClient.open(api.url);
      const [first, second] = [shared.session(protocol), shared.session(protocol)];
      expect(await first.hello()).toMatchObject({ type: 'welcome', node: 'virginia-1' });
      expect(await second.hello()).toMatchObject({ type: 'welcome' });
      first.send({ type: 'start', id: 1, tx: `${TX}.1` });
      first.send({ ...read(2), tx: `${TX}.1` });
      expect(await first.answer(2)).toMatchObject({ type: 'values', values: [[ts, '"é"']] });
      // Ids of requests are those of a session.
      second.send(read(1));
      expect(await second.answer(1)).toMatchObject({ type: 'values', values: [[ts, '"é"']] });
      expect(api.app.sessionCounts()).toEqual({ sockets: 1, sharedSockets: 1, sessions: 2 });
    },
  );

  it('sessions on a shared socket have the answers of one turn in one message', async () => {
    api = await startApi();
    const shared = await SharedClient.open(api.url);
    const sessions = await Promise.all(Array.from({ length: 8 }, () => shared.greeted()));
    const before = shared.batches.length;
    for (const session of sessions) session.send({ type: 'ping', id: 1 });
    await Promise.all(sessions.map((session) => session.answer(1)));
    expect(shared.batches.slice(before)).toEqual([sessions.map(({ socket }) => socket.number)]);
  });

  it('sessions on a shared socket are not held up by a large answer to one of them', async () => {
    api = await startApi();
    const [large, count] = [JSON.stringify('x'.repeat(1_000_000)), 20];
    for (let i = 0; i < count; i++) api.cluster.put(`default/${i}`, large);
    api.cluster.put('default/a', '1');
    api.cluster.stabilise();
    const shared = await SharedClient.open(api.url);
    const [greedy, other] = [await shared.greeted(), await shared.greeted()];
    const keys = Array.from({ length: count }, (_, i) => `default/${i}`);
    greedy.send({ type: 'read', id: 1, keys });
    other.send(read(1));
    expect(await other.answer(1)).toMatchObject({ type: 'values', values: [[expect.any(Number), '1']] });
    expect(greedy.frames.length).toBe(1);
    const { values } = await greedy.answer(1);
    expect((values as [number, string][]).map(([, value]) => value === large)).toEqual(keys.map(() => true));
  });

  it('sessions on a shared socket that do not read hold at most a window and their credits, and end', async () => {
    api = await startApi({ limits: { stalledMs: 1 } });
    api.cluster.put('default/a', JSON.stringify('x'.repeat(900_000)));
    api.cluster.stabilise();
    const shared = await SharedClient.open(api.url);
    const [slow, other] = [await shared.greeted(), await shared.greeted()];
    shared.channels.pause(slow.socket.number);
    for (let id = 1; id <= 20; id++) slow.send(read(id));
    for (let id = 1; id <= 5; id++) {
      other.send(read(id));
      expect(await other.answer(id)).toMatchObject({ type: 'values' });
    }
    expect(slow.frames.length).toBe(1);
    expect(await slow.closed).toBe(1013);
    other.send(read(6));
    await other.answer(6);
    expect(api.app.sessionCounts()).toMatchObject({ sockets: 1, sessions: 1 });
  });

  it('sessions on a shared socket that do not read are not read from until they do', async () => {
    api = await startApi();
    api.cluster.put('default/a', JSON.stringify('x'.repeat(900_000)));
    api.cluster.stabilise();
    const shared = await SharedClient.open(api.url);
    const [slow, other] = [await shared.greeted(), await shared.greeted()];
    const { number } = slow.socket;
    shared.channels.pause(number);
    slow.send([read(1), read(2), read(3)]);
    other.send(read(1));
    await other.answer(1);
    slow.send({ type: 'start', id: 4, tx: `${TX}.1` });
    // This request is behind it on the socket.
    other.send({ type: 'status', id: 2, tx: `${TX}.1` });
    expect(await other.answer(2)).toMatchObject({ status: 'unknown' });
    expect(slow.frames.length).toBe(1);
    shared.channels.resume(number);
    expect(await slow.answer(4)).toMatchObject({ type: 'started' });
    expect(slow.frames.map(({ id }) => id)).toEqual([undefined, 1, 2, 3, 4]);
  });

  it('sessions on a shared socket end alone by a bad hello, frame or text, or a too large message', async () => {
    api = await startApi({ apiKeys: ['right'] });
    const shared = await SharedClient.open(api.url);
    const good = shared.session();
    await good.hello({ credentials: 'right' });
    const wrong = shared.session();
    expect(await wrong.hello({ credentials: 'wrong' })).toMatchObject({ type: 'error', code: 'UNAUTHENTICATED' });
    expect(await wrong.closed).toBe(4401);
    const broken = shared.session();
    await broken.hello({ credentials: 'right' });
    broken.sendRaw('{');
    expect(await broken.closed).toBe(4400);
    const binary = shared.session();
    await binary.hello({ credentials: 'right' });
    binary.sendRaw(Buffer.from('{}'));
    expect(await binary.closed).toBe(4400);
    const large = shared.session();
    await large.hello({ credentials: 'right' });
    large.sendRaw('x'.repeat(8 * 2 ** 20 + 1));
    expect(await large.closed).toBe(1009);
    expect(large.frames.at(-1)).toMatchObject({ type: 'error', code: 'REQUEST_TOO_LARGE' });
    const unknown = shared.session('isochron.v9');
    expect(await unknown.closed).toBe(4400);
    const nothing = shared.session('');
    expect(await nothing.closed).toBe(4400);
    const notText = shared.session();
    await notText.hello({ credentials: 'right' });
    const writer = new EntryWriter();
    const text = Buffer.from('{"type":"ping","id":1,"x":"\xff"}', 'latin1');
    writer.bytes(ENTRY.text, notText.socket.number, text);
    shared.socket.send(writer.take());
    expect(await notText.closed).toBe(4400);
    good.send({ type: 'ping', id: 1 });
    expect(await good.answer(1)).toMatchObject({ type: 'pong' });
    await until(() => api.app.sessionCounts().sessions === 1);
  });

  it('sessions on a shared socket count as connections, and give their places back', async () => {
    api = await startApi({ limits: { connections: 100, connectionsPerAddress: 4 } });
    const shared = await SharedClient.open(api.url);
    const sessions = [await shared.greeted(), await shared.greeted(), await shared.greeted()];
    const refused = shared.session();
    expect(await refused.closed).toBe(1013);
    sessions[0]!.close();
    await sessions[0]!.closed;
    await shared.greeted();
    expect(await shared.session().closed).toBe(1013);
    expect(api.app.sessionCounts().sessions).toBe(3);
  });

  it('sessions on a shared socket count as strangers until their hello, and may send a hello only', async () => {
    api = await startApi({ limits: { strangers: 10, strangersPerAddress: 3, strangerBytes: 10_000 } });
    const shared = await SharedClient.open(api.url);
    const strangers = [shared.session(), shared.session()];
    expect(await shared.session().closed).toBe(1013);
    await strangers[0]!.hello();
    // Neither the socket nor the session is a stranger any more.
    const more = [shared.session(), shared.session()];
    expect(await shared.session().closed).toBe(1013);
    more[0]!.sendRaw('x'.repeat(10_001));
    expect(await more[0]!.closed).toBe(1009);
    await strangers[1]!.hello();
    await more[1]!.hello();
    expect(api.app.sessionCounts().sessions).toBe(3);
  });

  it('sessions on a shared socket hold no place once they are closed, even if their client is silent', async () => {
    api = await startApi({ apiKeys: ['right'], limits: { strangers: 10, strangersPerAddress: 3 } });
    const shared = await SharedClient.open(api.url);
    const last = shared.session();
    const answers = jest.spyOn(shared.channels, 'receive').mockImplementation(() => undefined);
    for (let i = 0; i < 10; i++) shared.session().send({ type: 'hello', credentials: 'wrong' });
    last.send({ type: 'hello', credentials: 'right' });
    await until(() => answers.mock.calls.length > 0 && api.app.sessionCounts().sessions === 1);
    answers.mockRestore();
  });

  it('sessions on a shared socket send a bounded number of bytes before their hello, in all messages', async () => {
    api = await startApi({ limits: { strangerBytes: 10_000 } });
    const shared = await SharedClient.open(api.url);
    await shared.greeted();
    const stranger = shared.session();
    // Messages without a frame: no hello, and no fault.
    for (let i = 0; i < 4; i++) stranger.sendRaw(`[${' '.repeat(3000)}]`);
    expect(await stranger.closed).toBe(1013);
  });

  it('sessions on a shared socket send no large message in parts before their hello', async () => {
    api = await startApi({ limits: { strangerBytes: 100_000 } });
    const shared = await SharedClient.open(api.url);
    await shared.greeted();
    const stranger = shared.session();
    stranger.sendRaw('x'.repeat(200_000));
    expect(await stranger.closed).toBe(1009);
  });

  it('sessions on a shared socket are limited in number, and opening more ends no other session', async () => {
    api = await startApi({ limits: { strangers: 5000, strangersPerAddress: 5000 } });
    const shared = await SharedClient.open(api.url);
    const session = await shared.greeted();
    const sessions = Array.from({ length: CHANNEL_LIMITS.channels + 5 }, () => shared.session());
    expect(await Promise.all(sessions.slice(-6).map(({ closed }) => closed))).toEqual(Array(6).fill(1013));
    session.send({ type: 'ping', id: 1 });
    await session.answer(1);
    expect(api.app.sessionCounts().sessions).toBe(CHANNEL_LIMITS.channels);
  });

  it('sessions on a shared socket are sent elsewhere and closed as for a restart when the node closes', async () => {
    api = await startApi();
    const shared = await SharedClient.open(api.url);
    const unused = await SharedClient.open(api.url);
    const sessions = [await shared.greeted(), await shared.greeted()];
    const drained = api.app.drain({ sessionsMs: 60_000 });
    for (const session of sessions) await session.next(({ type }) => type === 'goaway');
    sessions[0]!.send({ type: 'ping', id: 1 });
    expect(await sessions[0]!.answer(1)).toMatchObject({ type: 'pong' });
    expect(await shared.session().hello()).toMatchObject({ type: 'error', code: 'NOT_READY' });
    for (const session of sessions) session.close();
    await drained;
    expect(await shared.closedCode).toBe(1012);
    expect(await unused.closedCode).toBe(1012);
  });

  it('sessions on a shared socket that do not leave are closed as for a restart', async () => {
    api = await startApi();
    const shared = await SharedClient.open(api.url);
    const sessions = [await shared.greeted(), await shared.greeted()];
    await api.app.drain({ sessionsMs: 1 });
    expect(await Promise.all(sessions.map(({ closed }) => closed))).toEqual([1012, 1012]);
    expect(await shared.closedCode).toBe(1012);
  });

  it('sessions on a shared socket end with the socket, which ends with a fault of its client', async () => {
    api = await startApi();
    const [lost, faulty] = [await SharedClient.open(api.url), await SharedClient.open(api.url)];
    for (const shared of [lost, lost, faulty, faulty]) await shared.greeted();
    lost.socket.terminate();
    await until(() => api.app.sessionCounts().sessions === 2);
    faulty.socket.send(Buffer.from([9, 9, 9]));
    expect(await faulty.closedCode).toBe(4400);
    const text = await SharedClient.open(api.url);
    text.socket.send('text');
    expect(await text.closedCode).toBe(4400);
    await until(() => api.app.sessionCounts().sockets === 0);
    expect(api.app.sessionCounts().sessions).toBe(0);
  });

  it('sessions on a shared socket are pinged once for all of them', async () => {
    api = await startApi({ limits: { pingsPerSecond: 5 } });
    const [polite, flood] = [await SharedClient.open(api.url), await SharedClient.open(api.url)];
    for (const shared of [polite, polite, flood, flood]) await shared.greeted();
    let pongs = 0;
    polite.socket.on('pong', () => pongs++);
    for (let i = 0; i < 5; i++) polite.socket.ping();
    for (let i = 0; i < 6; i++) flood.socket.ping();
    expect(await flood.closedCode).toBe(1006);
    await until(() => pongs === 5);
    await until(() => api.app.sessionCounts().sessions === 2);
  });

  it('sessions on a shared socket are counted in the metrics, and so are their sockets', async () => {
    api = await startApi();
    const shared = await SharedClient.open(api.url);
    for (let i = 0; i < 3; i++) await shared.greeted();
    const single = await SessionClient.open(api.url);
    await single.hello();
    const metrics = buildMetrics(api.node, { api: api.app });
    const url = await metrics.listen({ port: 0, host: '127.0.0.1' });
    const body = (await send(url, 'GET', '/metrics')).text;
    await metrics.close();
    const values = [...body.matchAll(/^isochron_(\w*session\w*)\{.*\} (\d+)$/gm)].map(([, name, value]) => [
      name,
      value,
    ]);
    expect(values).toEqual([
      ['sessions', '4'],
      ['session_sockets', '2'],
      ['shared_session_sockets', '1'],
    ]);
    single.close();
  });
});

it('a socket without a session ends: after 5 s before its first one, after 60 s after its last one', async () => {
  api = await startApi();
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const opened = async (): Promise<{ shared: SharedSocket; socket: WebSocket; closed: Promise<unknown[]> }> => {
    const client = new WebSocket(`ws://127.0.0.1:${port}`);
    const [socket] = (await once(server, 'connection')) as [WebSocket];
    const admit: SharedSocketOptions['admit'] = (owner, channel) =>
      new SessionChannel(owner, channel, codecOf('')!, () => connection, options);
    const shared = new SharedSocket(socket, { maxMessageBytes: 1000, partials: 4, stalledMs: 1000, admit });
    return { shared, socket, closed: once(client, 'close') };
  };
  const connection = { disconnected: () => undefined } as ServedConnection;
  const [greeted, ended] = [() => undefined, () => undefined];
  const options = { address: '', maxMessageBytes: 1000, turns: new ClientTurns(), strangerBytes: 1000, greeted, ended };
  const [fresh, used] = [await opened(), await opened()];
  const writer = new EntryWriter();
  writer.open(1, SESSION_SUBPROTOCOLS.json);
  writer.close(1, 1000, '');
  used.shared.receive(Buffer.from(writer.take()), true);
  const now = performance.now();
  for (const { shared } of [fresh, used]) shared.check(now + 4000);
  for (const { shared } of [fresh, used]) shared.check(now + 6000);
  expect((await fresh.closed)[0]).toBe(1000);
  expect(used.socket.readyState).toBe(WebSocket.OPEN);
  used.shared.check(now + 61_000);
  expect((await used.closed)[0]).toBe(1000);
  server.close();
});

it('large transactions of many sessions of the SDK arrive whole over one socket, and so do their reads', async () => {
  api = await startApi();
  const stabilise = setInterval(() => api.cluster.stabilise(), 5);
  const apps = await Promise.all(Array.from({ length: 6 }, () => connect({ endpoints: [api.url] })));
  expect(api.app.sessionCounts()).toEqual({ sockets: 1, sharedSockets: 1, sessions: 6 });
  const document = (app: number, i: number): string => `${app}.${i} ${'é'.repeat(400_000 + i)}`;
  const indexes = [0, 1, 2, 3, 4];
  await Promise.all(
    apps.map((app, n) => app.transaction((tx) => indexes.forEach((i) => void tx.set(`${n}/${i}`, document(n, i))))),
  );
  const read = await Promise.all(apps.map((app, n) => app.getMany(indexes.map((i) => `${n}/${i}`))));
  expect(read.map((values, n) => values.map((value, i) => value === document(n, i)))).toEqual(
    apps.map(() => indexes.map(() => true)),
  );
  await Promise.all(apps.map((app) => app.close()));
  clearInterval(stabilise);
});

it('a client that also offers its own subprotocol gets a shared socket, and an old client its own', async () => {
  api = await startApi();
  const chosen = async (offered: string[]): Promise<string> => {
    const client = await SessionClient.open(api.url, offered);
    const { protocol } = client.socket;
    client.close();
    return protocol;
  };
  expect(await chosen([SESSION_SUBPROTOCOLS.json, SHARED_SUBPROTOCOL])).toBe(SHARED_SUBPROTOCOL);
  expect(await chosen([SESSION_SUBPROTOCOLS.json])).toBe(SESSION_SUBPROTOCOLS.json);
});
