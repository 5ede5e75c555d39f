/** `isochron node` for several nodes of a machine. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster, cleanUp, logged } from '../harness.js';
import { call, keyPath } from '../http.js';
import { freePortBase } from '../ports.js';
import { Child, ISOCHRON, isochron } from '../processes.js';
import { until } from '../until.js';

jest.setTimeout(90_000);
afterEach(cleanUp);

const NODES = ['virginia-1', 'virginia-2'];
const TWO_NODES = { regions: ['virginia'], nodesPerRegion: 2 };

const argsOf = ({ configFile, secretFile, folder }: Cluster, ...more: readonly string[]): string[] => [
  ...['node', '--node', NODES.join(','), '--config', configFile, '--secret-file', secretFile],
  ...['--data', join(folder, 'of-{node}'), ...more],
];

/** The processes of a node, as its log has them. */
const pidsOf = (log: string, node: string): number[] =>
  log
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { name: string; pid?: number; msg: string })
    .flatMap(({ name, pid, msg }) => (name === node && msg === 'listening' && pid !== undefined ? [pid] : []));

describe('several nodes by one command', () => {
  it(
    'one command runs several nodes, starts one that was killed again, and closes all on SIGTERM',
    logged(async () => {
      const cluster = await Cluster.prepare(TWO_NODES);
      const metrics = await freePortBase([0, 1]);
      const several = new Child(process.execPath, [ISOCHRON, ...argsOf(cluster, '--metrics-port', `${metrics}`)], {
        channel: true,
      });
      const explain = () => several.output;
      const isReady = async (port: number) => (await call(`http://127.0.0.1:${port}`, 'GET', '/readyz')).status === 200;
      const ready = () =>
        until('both nodes are ready', async () => (await isReady(metrics)) && isReady(metrics + 1), {
          timeoutMs: 40_000,
          explain,
        });
      await ready();
      const [first, second] = NODES.map((id) => cluster.node(id));
      expect((await call(first!.api, 'PUT', keyPath('one'), { body: 1 })).status).toBe(200);
      for (const id of NODES) expect(existsSync(join(cluster.folder, `of-${id}`))).toBe(true);

      const [killed] = pidsOf(several.stderr, 'virginia-2');
      process.kill(killed!, 'SIGKILL');
      await until('the other process listens', () => pidsOf(several.stderr, 'virginia-2').length === 2, {
        timeoutMs: 40_000,
        explain,
      });
      expect(several.stderr).toContain('virginia-2 ended (signal SIGKILL); it starts again in 250 ms.');
      expect(pidsOf(several.stderr, 'virginia-1')).toHaveLength(1);
      await ready();
      // Stable time stood while the process was gone.
      await until('the write is visible', async () => (await call(second!.api, 'GET', keyPath('one'))).text === '1');

      several.signal('SIGHUP');
      await until('both nodes read their files again', () => several.stderr.split('"SIGHUP: ').length === 3, {
        explain,
      });
      expect(await several.kill('SIGTERM')).toEqual({ code: 0, signal: null });
      expect(several.stderr.split('"msg":"closed"')).toHaveLength(3);
    }),
  );

  it(
    'a SIGTERM to the whole group closes each node once, and a second one makes the command end with 1',
    logged(async () => {
      const cluster = await Cluster.prepare(TWO_NODES);
      const start = async () => {
        const several = new Child(process.execPath, [ISOCHRON, ...argsOf(cluster)], { channel: true });
        const explain = () => several.output;
        const listens = () => NODES.every((id) => pidsOf(several.stderr, id).length === 1);
        await until('both nodes listen', listens, { timeoutMs: 40_000, explain });
        return several;
      };
      const closed = await start();
      for (const id of NODES) process.kill(pidsOf(closed.stderr, id)[0]!, 'SIGTERM');
      expect(await closed.kill('SIGTERM')).toEqual({ code: 0, signal: null });
      for (const text of ['"msg":"closing"', '"msg":"closed"']) expect(closed.stderr.split(text)).toHaveLength(3);

      const forced = await start();
      // A node that is stopped does not close.
      process.kill(pidsOf(forced.stderr, 'virginia-1')[0]!, 'SIGSTOP');
      forced.signal('SIGTERM');
      await until('the command closes', () => forced.stderr.includes('closing all nodes'));
      expect(await forced.kill('SIGTERM')).toEqual({ code: 1, signal: null });
      expect(forced.stderr).toMatch(/^error: NODE_ENDED: not closed in order: .*virginia-1 \(signal SIGKILL\)/m);
    }),
  );

  it.each([
    ['one folder for all', ['--data', 'data'], /--data data would be shared by several nodes; write \{node\} in it/],
    ['one file of the audit', ['--audit-log', 'a.log'], /--audit-log a\.log would be shared/],
    ['one address for peers', ['--peer-listen', '127.0.0.1:1'], /--peer-listen is for one node/],
    ['other addresses of peers', ['--peer-dial', 'virginia-2=ws://127.0.0.1:1'], /--peer-dial is for one node/],
    ['a port for metrics that is too high', ['--metrics-port', '65535'], /virginia-2 would serve metrics on 65536/],
    ['a file of the secret that is not there', ['--secret-file', 'none'], /none/],
    ['a node twice', ['--node', 'virginia-1,virginia-1'], /Expected the id of a node, or different ids/],
    ['a node that the file lacks', ['--node', 'virginia-1,mars-1'], /CONFIG_INVALID: .* has no node "mars-1"/],
  ])('a command for several nodes with %s is refused, and starts none', async (_what, more, error) => {
    const cluster = await Cluster.prepare(TWO_NODES);
    const { code, stderr } = await isochron(argsOf(cluster, ...more));
    expect(stderr).toMatch(error);
    expect(stderr).not.toContain('starting nodes');
    expect(code).toBeGreaterThan(0);
  });

  it('a command for several nodes whose metrics would take the port of an API is refused', async () => {
    const cluster = await Cluster.prepare(TWO_NODES);
    const port = new URL(cluster.node('virginia-1').api).port;
    const { code, stderr } = await isochron(argsOf(cluster, '--metrics-port', port));
    expect(stderr).toContain(`virginia-1 would serve metrics on ${port}, and that is another port of these nodes`);
    expect(code).toBe(2);
  });
});
