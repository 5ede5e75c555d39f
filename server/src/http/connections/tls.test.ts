import { once } from 'node:events';
import { get } from 'node:http';
import { Agent, request as requestOverTls } from 'node:https';
import { text } from 'node:stream/consumers';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { connect } from '@isochron/sdk';
import { TestAuthority } from '../../../testing/certificates.js';
import { startApi, type TestApi } from '../../../testing/test-api.js';
import { Certificates } from '../../tls/certificates.js';

const silent = { info: () => undefined, error: () => undefined };

let authority: TestAuthority;
let certificates: Certificates;
let api: TestApi;
beforeEach(async () => {
  authority = await TestAuthority.make();
  certificates = new Certificates('api', await authority.issue('api'), { now: Date.now }, silent as never);
  api = await startApi({ certificates });
});
afterEach(async () => {
  await api.close();
  certificates.close();
  authority.dispose();
});

/** A TLS connection to the API. */
async function dial(options: object = {}): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port: Number(new URL(api.url).port), ca: authority.pem, ...options });
  await once(socket, 'secureConnect');
  return socket;
}

const serialNow = async (): Promise<string> => {
  const socket = await dial();
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
};

async function read(path: string, agent?: Agent): Promise<{ status: number | undefined; body: string }> {
  const sent = requestOverTls(`${api.url}${path}`, {
    ca: authority.pem,
    ...(agent === undefined ? {} : { agent }),
  }).end();
  const [answer] = await once(sent, 'response');
  return { status: answer.statusCode, body: await text(answer) };
}

describe('the API over TLS', () => {
  it('the API over TLS serves HTTP and sessions to clients that accept its authority', async () => {
    api.cluster.put('default/a', '{"n":1}');
    api.cluster.stabilise();
    expect(await read('/v1/keyspaces/default/keys/a')).toEqual({ status: 200, body: '{"n":1}' });
    const client = await connect({ endpoints: [api.url], ca: authority.pem });
    expect(await client.get('a')).toEqual({ n: 1 });
    await client.close();
  });

  it('a client of the API over TLS without its authority is not connected, and gets the reason', async () => {
    const other = await TestAuthority.make();
    for (const ca of [{}, { ca: other.pem }, { ca: [other.pem] }]) {
      const error = await connect({ endpoints: [api.url], ...ca }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'TLS_FAILED', message: expect.stringMatching(/certificate/) });
    }
    other.dispose();
  });

  it('the API over TLS serves TLS 1.3 alone', async () => {
    const socket = await dial();
    expect(socket.getProtocol()).toBe('TLSv1.3');
    socket.destroy();
    await expect(dial({ maxVersion: 'TLSv1.2' })).rejects.toMatchObject({ code: expect.stringContaining('PROTOCOL') });
  });

  it('the API over TLS answers no request without TLS', async () => {
    const sent = get(api.url.replace('https:', 'http:'));
    await expect(once(sent, 'response')).rejects.toMatchObject({ code: expect.stringMatching(/ECONNRESET|HPE_/) });
  });

  it('sessions and connections live through a change of the certificate, and new ones get the new one', async () => {
    const client = await connect({ endpoints: [api.url], ca: authority.pem });
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: authority.pem });
    const transaction = client.transaction(async (tx) => {
      await tx.get('a');
      expect((await read('/livez', agent)).status).toBe(200);
      const [socket] = Object.values(agent.freeSockets).flat();
      const before = await serialNow();
      await authority.issue('api');
      certificates.reload();
      expect(await serialNow()).not.toBe(before);
      expect((await read('/livez', agent)).status).toBe(200);
      expect(Object.values(agent.freeSockets).flat()).toEqual([socket]);
      tx.set('a', 1);
    });
    await transaction;
    expect(client.status.state).toBe('online');
    agent.destroy();
    await client.close();
  });

  it('connections over TLS are counted from their first byte, and end where there are too many of them', async () => {
    await api.close();
    api = await startApi({ certificates, limits: { connectionsPerAddress: 2 } });
    const [one, two] = [await dial(), await dial()];
    await expect(dial()).rejects.toMatchObject({ code: 'ECONNRESET' });
    one.destroy();
    await once(one, 'close');
    await new Promise((resolve) => setImmediate(resolve));
    (await dial()).destroy();
    two.destroy();
  });

  it('a client over TLS that does not read its answers is closed', async () => {
    await api.close();
    api = await startApi({ certificates, limits: { stalledMs: 300 } });
    api.cluster.put('default/a', JSON.stringify('x'.repeat(900_000)));
    api.cluster.stabilise();
    const socket = await dial();
    socket.pause();
    const closed = once(socket, 'close');
    for (let i = 0; i < 40; i++) socket.write('GET /v1/keyspaces/default/keys/a HTTP/1.1\r\nhost: localhost\r\n\r\n');
    socket.on('error', () => undefined);
    const connections = () =>
      new Promise<number>((resolve) => api.app.server.getConnections((_error, count) => resolve(count)));
    for (let i = 0; i < 500 && (await connections()) > 0; i++) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await connections()).toBe(0);
    socket.resume();
    await closed;
  });
});
