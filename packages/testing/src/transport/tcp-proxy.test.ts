import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { TcpProxy } from './tcp-proxy.js';

let server: Server;
let proxy: TcpProxy;
let client: Socket;
/** The server's end of the connection. */
let accepted: Socket;

beforeEach(async () => {
  server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await TcpProxy.open((server.address() as AddressInfo).port);
  await open();
});

afterEach(async () => {
  client.destroy();
  await proxy.close();
  server.close();
});

async function open(): Promise<void> {
  const connection = once(server, 'connection');
  client = connect({ host: '127.0.0.1', port: proxy.port });
  [accepted] = (await connection) as [Socket];
  for (const socket of [client, accepted]) socket.setEncoding('utf8').on('error', () => undefined);
}

/** The next data at this end. */
const next = async (socket: Socket): Promise<string> => ((await once(socket, 'data')) as [string])[0];

it('the proxy carries bytes both ways', async () => {
  client.write('ask');
  expect(await next(accepted)).toBe('ask');
  accepted.write('answer');
  expect(await next(client)).toBe('answer');
});

it('the proxy delays each direction by itself, and keeps the order', async () => {
  proxy.delay({ there: 0, back: 80 });
  client.write('ask');
  expect(await next(accepted)).toBe('ask');
  const askedMs = performance.now();
  let received = '';
  client.on('data', (text) => {
    received += text;
  });
  for (const text of ['1', '2', '3']) accepted.write(text);
  while (received.length < 3) await once(client, 'data');
  expect(received).toBe('123');
  expect(performance.now() - askedMs).toBeGreaterThanOrEqual(80);
});

it('the proxy is silent in one direction only, until it is healed', async () => {
  let answered = '';
  client.on('data', (text) => {
    answered += text;
  });
  proxy.silence(['back']);
  accepted.write('answer');
  client.write('ask');
  expect(await next(accepted)).toBe('ask');
  expect(answered).toBe('');
  proxy.heal();
  while (answered === '') await once(client, 'data');
  expect(answered).toBe('answer');
});

it('the proxy ends connections and takes no new ones while it is cut', async () => {
  const closed = Promise.all([once(client, 'close'), once(accepted, 'close')]);
  proxy.cut();
  await closed;
  const refused = connect({ host: '127.0.0.1', port: proxy.port }).on('error', () => undefined);
  await once(refused, 'close');
  proxy.heal();
  await open();
  client.write('again');
  expect(await next(accepted)).toBe('again');
});
