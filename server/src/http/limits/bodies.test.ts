import { connect, type Socket } from 'node:net';
import { startApi, type TestApi } from '../../../testing/test-api.js';

const KEY = '/v1/keyspaces/default/keys/a';

let api: TestApi;
const sockets: Socket[] = [];
beforeAll(async () => {
  api = await startApi({ limits: { bodyBytes: 150_000, bodyBytesPerAddress: 100_000 } });
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => api.close());

/** A request whose body stays unfinished. Resolves when the connection ends. */
function unfinished(bytes: number, localAddress = '127.0.0.2'): { ended: Promise<void> } {
  const { hostname, port } = new URL(api.url);
  const socket = connect({ port: Number(port), host: hostname, localAddress });
  sockets.push(socket.on('error', () => undefined).resume());
  const head = [`PUT ${KEY} HTTP/1.1`, 'host: localhost', 'content-type: application/json', 'content-length: 900000'];
  socket.write(`${head.join('\r\n')}\r\n\r\n"${'x'.repeat(bytes)}`);
  return { ended: new Promise((resolve) => socket.on('close', () => resolve())) };
}

it('bodies of one address are bounded, and those of other addresses are accepted', async () => {
  unfinished(60_000);
  await unfinished(60_000).ended;
  expect((await api.call('PUT', KEY, { body: { text: 'x'.repeat(60_000) } })).status).toBe(200);
});

it('the bytes of a body are released when its connection ends', async () => {
  for (let i = 0; i < 5; i++) {
    unfinished(90_000);
    await unfinished(90_000).ended;
    for (const socket of sockets.splice(0)) socket.destroy();
    let answer = await api.call('PUT', KEY, { body: { text: 'x'.repeat(90_000) } }).catch(() => undefined);
    while (answer?.status !== 200)
      answer = await api.call('PUT', KEY, { body: { text: 'x'.repeat(90_000) } }).catch(() => undefined);
  }
});
