/** The clusters of `infra/examples`, with their addresses on this machine, started by the command of their page. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClusterConfig, parseClusterFile } from '@isochron/server';
import { codeBlocks } from '../tidy/pages.js';
import { type Answer, call, keyPath, trust } from './http.js';
import { freePorts } from './ports.js';
import { Child, killAll, ROOT, run } from './processes.js';
import { until } from './until.js';

jest.setTimeout(60_000);

const EXAMPLES = 'infra/examples';
const files = readdirSync(join(ROOT, EXAMPLES)).filter((name) => name.endsWith('.yaml'));
const page = `${EXAMPLES}/README.md`;
const blocks = codeBlocks(page, readFileSync(join(ROOT, page), 'utf8'));
const KEY = 'the-key-of-the-examples';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'isochron-examples-'));
});
afterEach(async () => {
  await killAll();
  rmSync(folder, { recursive: true, force: true });
});

/** The file with each address replaced by a free port of this machine. */
async function onThisMachine(name: string): Promise<string> {
  const text = readFileSync(join(ROOT, EXAMPLES, name), 'utf8');
  const addresses = [...text.matchAll(/\/\/([\d.]+:\d+)/g)].map(([, address]) => address!);
  const ports = await freePorts(addresses.length);
  return addresses.reduce((all, address, i) => all.replace(`//${address}"`, `//127.0.0.1:${ports[i]}"`), text);
}

/** The arguments of the command of the page of a kind, behind `node`, with this test's values of its options. */
function argsOf(kind: string, values: Readonly<Record<string, string>>): string[] {
  const { code } = blocks.find((block) => block.kind === kind)!;
  const [node, ...args] = code.replace(/\\\n/g, ' ').trim().split(/\s+/);
  expect([node, Object.keys(values).filter((option) => !args.includes(option))]).toEqual(['node', []]);
  return args.map((arg, i) => values[args[i - 1] ?? ''] ?? arg);
}

/** Makes the certificates by the command of the page. Returns their folder. */
async function certify(config: string): Promise<string> {
  const certs = join(folder, 'certs');
  expect(await run(process.execPath, argsOf('certs', { '--config': config, '--out': certs }))).toMatchObject({
    code: 0,
  });
  trust(readFileSync(join(certs, 'ca.pem'), 'utf8'));
  return certs;
}

/** Starts a node by the command of the page, with this test's files. */
function start(id: string, config: string, metricsPort: number, certs: string): Child {
  const args = argsOf('node', {
    '--config': config,
    '--node': id,
    '--data': join(folder, id),
    '--secret-file': join(folder, 'secret'),
    '--metrics-port': String(metricsPort),
    '--tls-cert': join(certs, id, 'api.pem'),
    '--tls-key': join(certs, id, 'api-key.pem'),
    '--peer-cert': join(certs, id, 'peer.pem'),
    '--peer-key': join(certs, id, 'peer-key.pem'),
    '--peer-ca': join(certs, id, 'ca.pem'),
  });
  return new Child(process.execPath, args, { channel: true, env: { ISOCHRON_API_KEYS: KEY } });
}

const apis = (config: ClusterConfig): string[] => config.regions.flatMap(({ nodes }) => nodes.map(({ api }) => api));
const ask = (api: string, method: string, path: string, body?: unknown): Promise<Answer> =>
  call(api, method, path, { headers: { authorization: `Bearer ${KEY}` }, ...(body === undefined ? {} : { body }) });

describe('the clusters of infra/examples', () => {
  it('the example clusters are for two, three and six machines', () => {
    const sizes = files.map((name) => {
      const config = parseClusterFile(readFileSync(join(ROOT, EXAMPLES, name), 'utf8'), name);
      return [name, apis(config).length];
    });
    expect(sizes).toEqual([
      ['six-machines.yaml', 6],
      ['two-machines.yaml', 2],
      ['two-regions-and-a-witness.yaml', 3],
    ]);
  });

  it.each(files)('the example cluster %s starts, and every node reads the writes of one node', async (name) => {
    const file = join(folder, 'cluster.yaml');
    const text = await onThisMachine(name);
    const config = parseClusterFile(text, file);
    writeFileSync(file, text);
    writeFileSync(join(folder, 'secret'), 'the secret of the examples', { mode: 0o600 });
    const ids = config.regions.flatMap(({ nodes }) => nodes.map(({ id }) => id));
    const ports = await freePorts(ids.length);
    const certs = await certify(file);
    const nodes = ids.map((id, i) => start(id, file, ports[i]!, certs));
    const explain = () => nodes.map(({ stderr }) => stderr.slice(-2000)).join('\n');
    const endpoints = apis(config);
    await until(
      'all nodes are ready',
      async () => {
        if (nodes.some(({ exit }) => exit !== undefined)) throw new Error(explain());
        const answers = await Promise.all(endpoints.map((api) => ask(api, 'GET', '/readyz').catch(() => undefined)));
        return answers.every((answer) => answer?.status === 200);
      },
      { timeoutMs: 40_000, explain },
    );
    for (const [i, { name: keyspace }] of config.keyspaces.entries()) {
      const path = keyPath('greeting').replace('/default/', `/${keyspace}/`);
      const written = await ask(endpoints[i]!, 'PUT', path, { hello: keyspace });
      expect([keyspace, written.status]).toEqual([keyspace, 200]);
      const { timestamp } = written.json as { timestamp: number };
      expect((await ask(endpoints[0]!, 'GET', `/v1/stable?ts=${timestamp}&timeout=15000`)).status).toBe(200);
      const reads = await Promise.all(endpoints.map((api) => ask(api, 'GET', path)));
      expect(reads.map(({ json }) => json)).toEqual(endpoints.map(() => ({ hello: keyspace })));
    }
    const exits = await Promise.all(nodes.map((node) => node.kill('SIGTERM')));
    expect(exits.map(({ code }) => code)).toEqual(nodes.map(() => 0));
  });
});
