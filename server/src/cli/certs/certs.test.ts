import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCertificates } from '../../tls/certificate-files.js';
import { runCli } from '../program.js';

const FILE = `protocol: paris
cluster: shop
regions:
  - id: a
    nodes: [{ id: a-1, api: "https://10.0.0.1:7101", peer: "wss://10.0.0.1:7201" }]
  - id: b
    nodes: [{ id: b-1, api: "https://localhost:7101", peer: "wss://b.example:7201" }]
keyspaces: [{ name: default, partitions: 3, replication: 2 }]
`;

let folder: string;
let out: string;
let config: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'isochron-certs-'));
  [out, config] = [join(folder, 'certs'), join(folder, 'cluster.yaml')];
  writeFileSync(config, FILE);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function certs(...args: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const spies = [process.stdout, process.stderr].map((stream) => jest.spyOn(stream, 'write').mockReturnValue(true));
  try {
    const exitCode = await runCli(['certs', ...args, '--out', out]);
    const [stdout, stderr] = spies.map((spy) => spy.mock.calls.map(([text]) => String(text)).join(''));
    return { exitCode, stdout: stdout!, stderr: stderr! };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

const text = (name: string): string => readFileSync(join(out, name), 'utf8');
const files = (name: string) => ({ cert: join(out, `${name}.pem`), key: join(out, `${name}-key.pem`) });
const accepted = (name: string, ca: string, uri?: string) =>
  readCertificates({ ...files(name), ca: join(out, ca) }, { now: Date.now, ...(uri === undefined ? {} : { uri }) });
const everyFile = (): string[] =>
  readdirSync(out, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.pem'));

describe('isochron certs', () => {
  it('certs makes an authority, and for each node certificates that name it', async () => {
    expect((await certs('create', '--config', config, '--host', 'api.example')).exitCode).toBe(0);
    for (const node of ['a-1', 'b-1']) {
      accepted(`${node}/peer`, `${node}/ca.pem`, `isochron://shop/node/${node}`);
      accepted(`${node}/api`, 'ca.pem');
      expect(new X509Certificate(text(`${node}/api.pem`)).checkHost('api.example')).toBe('api.example');
    }
    expect(new X509Certificate(text('a-1/api.pem')).checkIP('10.0.0.1')).toBe('10.0.0.1');
    expect(new X509Certificate(text('b-1/api.pem')).checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(new X509Certificate(text('a-1/api.pem')).subjectAltName).not.toContain('isochron:');
  });

  it('certs without a cluster file makes one certificate for the given hosts', async () => {
    expect((await certs('create', '--host', 'api.example,10.0.0.9')).stdout).toBe(`made ${files('api').cert}\n`);
    accepted('api', 'ca.pem');
  });

  it('certs makes keys that only their user can read', async () => {
    await certs('create', '--config', config);
    const keys = everyFile().filter((name) => name.endsWith('-key.pem'));
    expect(keys).toHaveLength(5);
    expect(keys.map((name) => statSync(join(out, name)).mode & 0o777)).toEqual(keys.map(() => 0o600));
  });

  it('certs overwrites nothing: it makes what is missing, and is refused where nothing is', async () => {
    await certs('create', '--config', config);
    const before = everyFile().map((name) => [name, text(name)]);
    expect(await certs('create', '--config', config)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('none is overwritten: isochron certs renew replaces them'),
    });
    writeFileSync(config, FILE.replace('a-1, api', 'a-0, api').replace('10.0.0.1:7201', '10.0.0.8:7201'));
    expect((await certs('create', '--config', config)).stdout).toContain('kept');
    expect(before.map(([name]) => [name, text(name!)])).toEqual(before);
    accepted('a-0/peer', 'a-0/ca.pem', 'isochron://shop/node/a-0');
  });

  it('certs renews all certificates for the same names and with new keys', async () => {
    await certs('create', '--config', config, '--host', 'api.example');
    const [cert, key] = [text('a-1/peer.pem'), text('a-1/peer-key.pem')];
    const names = new X509Certificate(text('a-1/api.pem')).subjectAltName;
    expect((await certs('renew', '--days', '7')).exitCode).toBe(0);
    expect([text('a-1/peer.pem') === cert, text('a-1/peer-key.pem') === key]).toEqual([false, false]);
    expect(new X509Certificate(text('a-1/api.pem')).subjectAltName).toBe(names);
    const { expiresAt } = accepted('a-1/peer', 'ca.pem', 'isochron://shop/node/a-1');
    expect(Math.round((expiresAt - Date.now()) / 86_400_000)).toBe(7);
    expect(statSync(files('a-1/peer').key).mode & 0o777).toBe(0o600);
  });

  it('certs replaces the authority in steps, in each of which every certificate is accepted', async () => {
    await certs('create', '--config', config);
    const former = text('ca.pem');
    await certs('new-ca');
    expect(text('ca.pem').match(/BEGIN/g)).toHaveLength(2);
    expect(text('a-1/ca.pem')).toBe(text('ca.pem'));
    accepted('a-1/peer', 'a-1/ca.pem');
    expect(await certs('new-ca')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('two authorities') });
    expect(await certs('drop-ca')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('is of the former authority: isochron certs renew replaces it'),
    });
    await certs('renew');
    accepted('a-1/peer', 'a-1/ca.pem');
    expect((await certs('drop-ca')).exitCode).toBe(0);
    expect(text('ca.pem')).not.toContain(former);
    accepted('b-1/peer', 'b-1/ca.pem');
    expect(await certs('drop-ca')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('none to drop') });
  });

  it.each([
    ['no cluster file and no host', ['create'], 2, 'give --config FILE, or --host NAME, or both'],
    ['a host that is none', ['create', '--host', 'https://a'], 2, 'Expected a host name such as api.example'],
    ['a folder without certificates', ['renew'], 1, 'has no certificates'],
    ['a folder without an authority', ['new-ca'], 1, 'has no authority'],
  ])('certs is refused with the reason for %s', async (_what, args, exitCode, stderr) => {
    expect(await certs(...args)).toMatchObject({ exitCode, stderr: expect.stringContaining(stderr) });
    expect(existsSync(out)).toBe(false);
  });

  it('certs is refused where the key of the authority is not that of its certificate', async () => {
    await certs('create', '--host', 'a.example');
    writeFileSync(join(out, 'ca-key.pem'), text('api-key.pem'));
    expect(await certs('renew')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('ca-key.pem') });
  });
});
