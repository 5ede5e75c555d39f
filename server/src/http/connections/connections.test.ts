import { connect, type Socket } from 'node:net';
import { pino } from 'pino';
import { startApi, type TestApi } from '../../../testing/test-api.js';
import type { NodeLimits } from '../limits/limits.js';

const KEY = '/v1/keyspaces/default/keys/large';
const GET = `GET ${KEY} HTTP/1.1\r\nhost: localhost\r\n\r\n`;

let api: TestApi;
let sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await api.close();
});

async function under(limits: Partial<NodeLimits>): Promise<void> {
  api = await startApi({ limits });
  api.cluster.put('default/large', JSON.stringify('x'.repeat(900_000)));
  api.cluster.stabilise();
}

function open(localAddress = '127.0.0.2'): Socket {
  const socket = connect({ port: Number(new URL(api.url).port), host: '127.0.0.1', localAddress });
  sockets.push(socket.on('error', () => undefined));
  return socket;
}
const connections = (): Promise<number> =>
  new Promise((resolve, reject) =>
    api.app.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  );

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('connections', () => {
  it('connections are limited in all and for each address, and an ended one makes room', async () => {
    await under({ connections: 3, connectionsPerAddress: 2 });
    const [, second] = ['127.0.0.2', '127.0.0.2', '127.0.0.2', '127.0.0.3', '127.0.0.4'].map(open);
    await until(async () => sockets.filter(({ destroyed }) => !destroyed).length === 3);
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, false, true, false, false]);
    second!.destroy();
    await until(async () => (await connections()) === 2);
    const answer = api.call('GET', KEY);
    expect((await answer).status).toBe(200);
  });

  it('connections that send no request give their places to new ones, the oldest first', async () => {
    await under({ connections: 3, connectionsPerAddress: 3 });
    const [first, second] = [open(), open(), open()];
    await until(async () => (await connections()) === 3);
    expect((await api.call('GET', KEY)).status).toBe(200);
    await until(async () => first!.destroyed);
    expect(second!.destroyed).toBe(false);
  });

  it('a request may have less time than its headers', async () => {
    await under({ requestMs: 5000, headersMs: 10_000 });
    expect((await api.call('GET', KEY)).status).toBe(200);
  });

  it('an address that has all its places takes none of those of others', async () => {
    await under({ connections: 3, connectionsPerAddress: 2 });
    const quiet = open('127.0.0.3');
    open();
    open();
    await until(async () => (await connections()) === 3);
    const refused = open();
    await until(async () => refused.destroyed);
    expect([quiet.destroyed, await connections()]).toEqual([false, 3]);
  });

  it('connections near their limit make the node unready, and the log reports it, until there is room again', async () => {
    const log = Object.assign(pino({ level: 'silent' }), { warn: jest.fn(), info: jest.fn() });
    api = await startApi({ limits: { connections: 10, connectionsPerAddress: 10 }, logger: log });
    for (let i = 0; i < 8; i++) open();
    await until(async () => (await connections()) === 8);
    expect((await api.call('GET', '/readyz')).status).toBe(200);
    open();
    await until(async () => api.serving.crowding() !== undefined);
    const answer = await api.call('GET', '/readyz');
    expect(answer.json()).toMatchObject({
      code: 'NOT_READY',
      detail: expect.stringMatching(/near its limit of 10 conn/),
    });
    expect(log.warn).toHaveBeenCalledWith({ connections: 9, limit: 10 }, expect.stringContaining('near their limit'));
    for (let i = 0; i < 5; i++) open();
    await until(async () => log.warn.mock.calls.some(([, text]) => /is reached/.test(text)));
    expect([...api.serving.reached]).toContainEqual(['connections', expect.any(Number)]);
    for (const socket of sockets) socket.destroy();
    await until(async () => api.serving.crowding() === undefined);
    expect(log.info).toHaveBeenCalledWith(expect.anything(), expect.stringContaining('room for connections again'));
    expect((await api.call('GET', '/readyz')).status).toBe(200);
  });

  it('connections whose clients do not read their answers are ended, and slow readers are served', async () => {
    await under({ stalledMs: 1_000 });
    for (let i = 0; i < 3; i++) open().pause().write(GET.repeat(40));
    const slow = open('127.0.0.1');
    let read = 0;
    slow.on('data', ({ length }: Buffer) => {
      read += length;
      slow.pause();
      setTimeout(() => slow.resume(), 2);
    });
    slow.write(GET.repeat(40));
    await until(async () => (await connections()) === 1);
    await until(async () => read > 36_000_000);
  });

  it('the connections with most unsent bytes are ended when all together hold too many', async () => {
    await under({ unsentBytes: 1_000_000, stalledMs: 60_000 });
    for (let i = 0; i < 5; i++) open().pause().write(GET.repeat(40));
    await until(async () => (await connections()) === 0);
    expect((await api.call('GET', KEY)).status).toBe(200);
  });
});
