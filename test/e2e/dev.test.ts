import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanUp, logged } from './harness.js';
import { call, keyPath, trust } from './http.js';
import { freePortBase, isFree } from './ports.js';
import { Child, ISOCHRON, isochron } from './processes.js';
import { until } from './until.js';

jest.setTimeout(90_000);

/** API, peering and metrics of three nodes. */
const OFFSETS = [0, 1, 2, 100, 101, 102, 200, 201, 202];

let folder: string;
let base: number;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'isochron-dev-'));
  base = await freePortBase(OFFSETS);
});
afterEach(async () => {
  await cleanUp();
  rmSync(folder, { recursive: true, force: true });
});

const args = (...more: readonly string[]) => ['dev', '--data', join(folder, 'data'), '--port-base', `${base}`, ...more];
const api = (index: number) => `http://127.0.0.1:${base + index}`;

/** Starts the command and waits until it has printed the addresses of the nodes. */
async function start(...more: readonly string[]): Promise<Child> {
  const dev = new Child(process.execPath, [ISOCHRON, ...args(...more)], { channel: true });
  const explain = () => `${dev.stdout}${dev.stderr}${JSON.stringify(dev.exit)}`;
  const end = await until(
    'the cluster runs',
    () => dev.exit ?? (dev.stdout.includes('\n') && dev.stdout.endsWith('\n')),
    {
      timeoutMs: 40_000,
      explain,
    },
  );
  if (end !== true) throw new Error(`ended before it ran: ${explain()}`);
  return dev;
}

/** Every other process whose command line names this test's folder, as `pid command line`. */
function processes(): string[] {
  const lines = existsSync('/proc/self/cmdline') ? fromProc() : fromPs();
  return lines.filter((line) => line.includes(folder));
}

function fromProc(): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      return [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`];
    } catch {
      // The process has ended meanwhile.
      return [];
    }
  });
}

const fromPs = (): string[] =>
  execFileSync('ps', ['-axo', 'pid=,command='], { encoding: 'utf8' }).trim().split(/\n\s*/);

/** A folder in which no file can be made: a folder of the kernel, so that it holds for root, too. */
function unwritable(): string | undefined {
  if (process.getuid?.() === 0) return existsSync('/proc/self') ? '/proc' : undefined;
  const path = join(folder, 'read-only');
  mkdirSync(path, { mode: 0o500 });
  return path;
}

describe('isochron dev', () => {
  it(
    'isochron dev --tls serves three regions over TLS, and its own commands reach them with the authority it prints',
    logged(async () => {
      const dev = await start('--tls', '--json');
      const { nodes, ca } = JSON.parse(dev.stdout) as { nodes: { api: string }[]; ca: string };
      expect(nodes.map((node) => node.api)).toEqual([0, 1, 2].map((i) => api(i).replace('http:', 'https:')));
      trust(readFileSync(ca, 'utf8'));
      expect((await call(nodes[0]!.api, 'PUT', keyPath('a'), { body: 1 })).status).toBe(200);
      const env = { ISOCHRON_CA: ca, ISOCHRON_ENDPOINT: nodes[0]!.api };
      const status = await isochron(['status', '--json'], { env });
      const report = JSON.parse(status.stdout) as { nodes: { error: string | null }[] };
      expect(report.nodes.map(({ error }) => error)).toEqual([null, null, null]);
      const before = readFileSync(join(folder, 'data/certs/virginia-1/api.pem'), 'utf8');
      expect(await dev.kill('SIGINT')).toEqual({ code: 0, signal: null });
      const again = await start('--tls');
      expect(again.stdout).toContain('Clients accept the certificates with');
      expect(readFileSync(join(folder, 'data/certs/virginia-1/api.pem'), 'utf8')).toBe(before);
      expect(await again.kill('SIGINT')).toEqual({ code: 0, signal: null });
    }),
  );

  it(
    'isochron dev starts three regions, prints their addresses, and stops all processes on Ctrl-C with exit code 0',
    logged(async () => {
      const dev = await start();
      expect(dev.stdout).toContain('Isochron is running: 3 regions, 3 nodes, 6 partitions, protocol paris.');
      for (const region of ['virginia', 'oregon', 'ireland']) expect(dev.stdout).toContain(`${region}-1`);
      for (const index of [0, 1, 2]) {
        expect(dev.stdout).toContain(api(index));
        expect((await call(api(index), 'GET', '/readyz')).status).toBe(200);
        expect((await call(api(index), 'GET', '/docs/')).status).toBe(200);
      }
      // The commands that it suggests.
      expect(dev.stdout.match(/^ {2}(curl|npm|node) /gm)).toHaveLength(3);
      expect(processes().length).toBe(4);
      expect(await dev.kill('SIGINT')).toEqual({ code: 0, signal: null });
      expect(processes()).toEqual([]);
      expect(await Promise.all(OFFSETS.map((offset) => isFree(base + offset)))).toEqual(OFFSETS.map(() => true));
    }),
  );

  it(
    'isochron dev keeps its data over a restart',
    logged(async () => {
      const first = await start('--json');
      const { nodes } = JSON.parse(first.stdout) as { nodes: { region: string; api: string }[] };
      expect(nodes.map((node) => [node.region, node.api])).toEqual([
        ['virginia', api(0)],
        ['oregon', api(1)],
        ['ireland', api(2)],
      ]);
      const put = await call(api(0), 'PUT', keyPath('kept'), { body: { n: 1 } });
      const { timestamp } = put.json as { timestamp: number };
      expect(await first.kill('SIGTERM')).toEqual({ code: 0, signal: null });
      const second = await start();
      expect((await call(api(2), 'GET', `/v1/stable?ts=${timestamp}`)).status).toBe(200);
      expect((await call(api(2), 'GET', keyPath('kept'))).json).toEqual({ n: 1 });
      expect(await second.kill('SIGINT')).toEqual({ code: 0, signal: null });
    }),
  );

  it('isochron dev restarts a node that was killed', async () => {
    const dev = await start();
    const victim = processes().find((line) => line.includes('--node oregon-1'))!;
    process.kill(Number(victim.split(' ')[0]), 'SIGKILL');
    await until('it reports the end of the node', () => /oregon-1 ended \(signal SIGKILL\)/.test(dev.stderr));
    await until('the node serves again', async () => (await call(api(1), 'GET', '/readyz')).status === 200);
    expect(await dev.kill('SIGINT')).toEqual({ code: 0, signal: null });
    expect(processes()).toEqual([]);
  });

  it('isochron dev leaves no process behind when it is killed', async () => {
    const dev = await start();
    await dev.kill('SIGKILL');
    await until('all nodes have ended', () => processes().length === 0);
  });

  it('isochron dev reports a used port in one line, and starts no node', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(base + 101, '127.0.0.1', resolve));
    try {
      const result = await isochron(args());
      expect(result).toMatchObject({ code: 1, stdout: '' });
      expect(result.stderr).toMatch(new RegExp(`^error: EADDRINUSE: port ${base + 101} is in use: .+\n$`));
    } finally {
      taken.close();
    }
    expect(processes()).toEqual([]);
  });

  it('isochron dev reports in one line that its folder cannot be made', async () => {
    writeFileSync(join(folder, 'data'), 'a file');
    const result = await isochron(args());
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toMatch(/^error: (ENOTDIR|EEXIST): .*choose another place.*\n$/);
    const below = await isochron(['dev', '--data', join(folder, 'data', 'below'), '--port-base', `${base}`]);
    expect(below).toMatchObject({ code: 1, stdout: '' });
    expect(below.stderr).toMatch(/^error: (ENOTDIR|EEXIST): .*choose another place.*\n$/);
  });

  it('isochron dev reports in one line that its folder is not writable', async () => {
    const path = unwritable();
    if (path === undefined) {
      process.stderr.write('Not tested: root may write everywhere, and this system has no folder of its own.\n');
      return;
    }
    const result = await isochron(['dev', '--data', join(path, 'data'), '--port-base', `${base}`]);
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toMatch(/^error: [A-Z]+: .+\n$/);
  });

  it('isochron dev reports in one line that its data belongs to another placement', async () => {
    const first = await start('--partitions', '4');
    await first.kill('SIGINT');
    const result = await isochron(args('--partitions', '6'));
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toMatch(/^error: PLACEMENT_MISMATCH: .+$/m);
    expect(processes()).toEqual([]);
  });

  it('isochron dev emulates the distances between regions with --wan aws', async () => {
    const dev = await start('--wan', 'aws');
    await until('round trips have been measured', async () => {
      const { node } = (await call(api(0), 'GET', '/v1/cluster')).json as {
        node: { links: { node: string; rttMs: number | null }[] };
      };
      const rtt = Object.fromEntries(node.links.map((link) => [link.node, link.rttMs ?? 0]));
      return rtt['oregon-1']! >= 80 && rtt['ireland-1']! >= 75;
    });
    expect(await dev.kill('SIGINT')).toEqual({ code: 0, signal: null });
  });
});
