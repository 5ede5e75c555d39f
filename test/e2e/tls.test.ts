/** Three regions with TLS for clients and mutual TLS between nodes. */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { connect, type IsochronClient } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { call } from './http.js';
import { isochron } from './processes.js';
import { until } from './until.js';

jest.setTimeout(180_000);

const NODES = ['virginia-1', 'oregon-1', 'ireland-1'];

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start({ tls: true, cluster: 'tls' });
});
afterAll(cleanUp);

const open = (...regions: readonly string[]): Promise<IsochronClient> =>
  connect({ endpoints: regions.map((region) => cluster.endpoint(region)), ca: cluster.ca });

/** Runs with clients that are closed afterwards. */
async function withClients<T>(
  regions: readonly (readonly string[])[],
  use: (...clients: IsochronClient[]) => Promise<T>,
): Promise<T> {
  const clients = await Promise.all(regions.map((all) => open(...all)));
  try {
    return await use(...clients);
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

/** The serial number of the certificate that a port presents to a new connection. */
function serialAt(url: string): Promise<string> {
  const { hostname: host, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

const linksUp = async (id: string): Promise<boolean> =>
  (await cluster.status(id)).node.links.every(({ up, lastError }) => up && !(lastError ?? '').includes('PEER_REFUSED'));

/** A metric of the certificates of one use. */
async function metric(id: string, name: string, use: 'api' | 'peer'): Promise<number> {
  const { text } = await call(cluster.node(id).metrics, 'GET', '/metrics');
  const line = new RegExp(`^isochron_certificate_${name}\\{[^}]*certificate="${use}"[^}]*\\} (.+)$`, 'm').exec(text);
  return line === null ? Number.NaN : Number(line[1]);
}

/** How often all nodes have taken changed certificates into use. */
async function reloaded(use: 'api' | 'peer', times: number): Promise<void> {
  const isDone = async () =>
    (await Promise.all(NODES.map((id) => metric(id, 'reloads_total', use)))).every((count) => count >= times);
  await until(`all nodes use ${times} changes of their ${use} certificates`, isDone, { timeoutMs: 30_000 });
}

describe('a cluster with TLS', () => {
  it(
    'transactions, sessions that move, and stable writes work over TLS in three regions',
    logged(() =>
      withClients([['virginia'], ['ireland']], async (virginia, ireland) => {
        await virginia.transaction(async (tx) => {
          tx.set('a', 1);
          tx.set('b', 1);
        });
        await (await virginia.set('c', 2)).stable();
        expect(await ireland.getMany(['a', 'b', 'c'])).toEqual([1, 1, 2]);
        const session = virginia.session.export();
        const moved = await connect({ endpoints: [cluster.endpoint('oregon')], session, ca: cluster.ca });
        expect(await moved.get('c')).toBe(2);
        await moved.close();
      }),
    ),
  );

  it(
    'a killed node comes back with its links, and a session goes on in another region meanwhile',
    logged(() =>
      withClients([['virginia', 'oregon']], async (client) => {
        await client.set('moving', 1);
        const first = client.status.region!;
        await cluster.kill(`${first}-1`);
        await client.set('moving', 2);
        expect([client.status.region === first, await client.get('moving')]).toEqual([false, 2]);
        await cluster.restart(`${first}-1`);
        await until('all links are up', async () => (await Promise.all(NODES.map(linksUp))).every(Boolean), {
          timeoutMs: 60_000,
        });
        await (await client.set('moving', 3)).stable({ timeoutMs: 60_000 });
      }),
    ),
  );

  it(
    'the command line works over TLS with the authority of the cluster, and names it where it is missing',
    logged(async () => {
      const env = { ISOCHRON_ENDPOINT: cluster.endpoint('virginia') };
      const ca = ['--ca', join(cluster.certificates, 'ca.pem')];
      const status = await isochron(['status', '--json', ...ca], { env });
      const { nodes } = JSON.parse(status.stdout) as { nodes: { error: string | null }[] };
      expect(nodes.map(({ error }) => error)).toEqual([null, null, null]);
      for (const args of [['set', 'k', '1'], ['get', 'k'], ['changes'], ['losses'], ['list']])
        expect([args, await isochron([...args, ...ca], { env })]).toMatchObject([args, { code: 0 }]);
      for (const args of [['status'], ['get', 'k']]) {
        const { code, stderr } = await isochron(args, { env });
        expect([code, stderr]).toEqual([
          1,
          expect.stringMatching(/^error: (?:CONNECTION_LOST|TLS_FAILED): .*certificate/),
        ]);
      }
    }),
  );

  it(
    'a session with an open transaction lives through new certificates and a new authority of API and links',
    logged(async () => {
      // Clients have both authorities before certificates change.
      await cluster.certify('new-ca');
      await reloaded('peer', 1);
      await withClients([['virginia']], async (client) => {
        const before = await serialAt(cluster.endpoint('virginia'));
        const downs: string[] = [];
        let watching = true;
        const watched = Promise.all(
          NODES.map(async (node) => {
            while (watching) if (!(await linksUp(node))) downs.push(node);
          }),
        );
        await client.transaction(async (tx) => {
          await tx.get('a');
          await cluster.certify('renew');
          await reloaded('api', 1);
          await reloaded('peer', 2);
          expect(await serialAt(cluster.endpoint('virginia'))).not.toBe(before);
          await cluster.certify('drop-ca');
          await reloaded('peer', 3);
          tx.set('after-the-change', 1);
        });
        // Each change renews the links one after the other, so that none is left to be cut when the authority goes.
        await delay(3_000);
        watching = false;
        await watched;
        expect(downs).toEqual([]);
        await (await client.set('later', 1)).stable();
        expect(await withClients([['oregon']], (other) => other.get('after-the-change'))).toBe(1);
        await cluster.kill('oregon-1');
        await cluster.restart('oregon-1');
        await until('the links are up with the new authority', () => linksUp('oregon-1'), { timeoutMs: 60_000 });
      });
    }),
  );

  it(
    'certificates that cannot be used are refused while the node runs, with a line in the log and a metric',
    logged(async () => {
      const folder = join(cluster.certificates, 'virginia-1');
      const before = await serialAt(cluster.endpoint('virginia'));
      const good = join(cluster.folder, 'good');
      cpSync(folder, good, { recursive: true });
      const failures = () => metric('virginia-1', 'reload_failures_total', 'api');
      expect(await failures()).toBe(0);
      cpSync(join(cluster.certificates, 'oregon-1/api-key.pem'), join(folder, 'api-key.pem'));
      await until('the refusal', async () => (await failures()) === 1, { timeoutMs: 30_000 });
      expect(cluster.fullLog('virginia-1')).toContain('is not that of the certificate');
      expect(await serialAt(cluster.endpoint('virginia'))).toBe(before);
      cpSync(good, folder, { recursive: true });
      rmSync(good, { recursive: true });
      expect(await metric('virginia-1', 'expiry_timestamp_seconds', 'api')).toBeGreaterThan(
        Date.now() / 1000 + 300 * 86_400,
      );
    }),
  );

  it(
    'a node does not start with the certificates of another node, and none is let in by them',
    logged(async () => {
      await cluster.kill('ireland-1', 'SIGTERM');
      const stolen = join(cluster.certificates, 'oregon-1');
      const args = ['--peer-cert', join(stolen, 'peer.pem'), '--peer-key', join(stolen, 'peer-key.pem')];
      const child = cluster.launch('ireland-1', { args });
      expect(await child.exited).toMatchObject({ code: 1 });
      expect(child.stderr).toMatch(
        /error: CERTIFICATE_INVALID: .* names isochron:\/\/tls\/node\/oregon-1, and has to name isochron:\/\/tls\/node\/ireland-1/,
      );
      await cluster.restart('ireland-1');
    }),
  );
});
