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

/** The process of a node, as its log has it. */
const pidOf = (log: string, node: string): number[] =>
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

      const [killed] = pidOf(several.stderr, 'virginia-2');
      process.kill(killed!, 'SIGKILL');
      await until('the other process listens', () => pidOf(several.stderr, 'virginia-2').length === 2, {
        timeoutMs: 40_000,
        explain,
      });
      expect(several.stderr).toContain('virginia-2 ended (signal SIGKILL); it starts again in 250 ms.');
      expect(pidOf(several.stderr, 'virginia-1')).toHaveLength(1);
      await ready();
      expect((await call(second!.api, 'GET', keyPath('one'))).text).toBe('1');

      several.signal('SIGHUP');
      await until('both nodes read their files again', () => several.stderr.split('"SIGHUP: ').length === 3, {
        explain,
      });
      expect(await several.kill('SIGTERM')).toEqual({ code: 0, signal: null });
      expect(several.stderr.split('"msg":"closed"')).toHaveLength(3);
    }),
  );

  it.each([
    ['one folder for all', ['--data', 'data'], /--data data would be shared by several nodes; write \{node\} in it/],
    ['one file of the audit', ['--audit-log', 'a.log'], /--audit-log a\.log would be shared/],
    ['one address for peers', ['--peer-listen', '127.0.0.1:1'], /--peer-listen is the address of one node/],
    ['a node twice', ['--node', 'virginia-1,virginia-1'], /Expected the id of a node, or different ids/],
    ['a node that the file lacks', ['--node', 'virginia-1,mars-1'], /CONFIG_INVALID: .* has no node "mars-1"/],
  ])('a command for several nodes with %s is refused', async (_what, more, error) => {
    const cluster = await Cluster.prepare(TWO_NODES);
    const { code, stderr } = await isochron(argsOf(cluster, ...more));
    expect(stderr).toMatch(error);
    expect(code).toBeGreaterThan(0);
  });
});
