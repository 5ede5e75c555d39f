import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster, cleanUp, logged } from '../harness.js';
import { call, keyPath } from '../http.js';
import { isochron } from '../processes.js';
import { until } from '../until.js';

jest.setTimeout(180_000);
afterEach(cleanUp);

const BARE = 'oregon-1';
const rule = (more = '') => `rules:
  - name: all-write${more}
    match: default/{key}
    allow: [get, list, create, update, delete]
`;

describe('access rules', () => {
  it(
    'a node without rules where its peers have some serves no client, and different rules are shown and served',
    logged(async () => {
      const cluster = await Cluster.prepare();
      const rules = cluster.nodes.map(({ id }) => join(cluster.folder, `${id}.rules.yaml`));
      for (const path of rules) writeFileSync(path, rule());
      const fileOf = (id: string) => rules[cluster.nodes.findIndex((node) => node.id === id)]!;
      for (const { id } of cluster.nodes) cluster.launch(id, id === BARE ? {} : { args: ['--rules', fileOf(id)] });
      const { api, metrics } = cluster.node(BARE);
      const reason = /^The node is without access rules, which .*virginia-1.* has: start it with --rules/;
      const refusalOf = async () => (await call(api, 'PUT', keyPath('x'), { body: 1 })).json as { detail: string };
      await until('it refuses writes', async () => reason.test((await refusalOf()).detail), { timeoutMs: 60_000 });
      expect(await call(api, 'GET', keyPath('x'))).toMatchObject({ status: 503, json: { code: 'NOT_READY' } });
      expect(await call(api, 'GET', '/readyz')).toMatchObject({ status: 503, json: { code: 'NOT_READY' } });
      expect((await call(metrics, 'GET', '/metrics')).text).toMatch(/^isochron_rules_missing\{.*\} 1$/m);
      const shown = () => isochron(['status', '--endpoint', cluster.endpoint('ireland')]);
      expect((await shown()).stdout).toContain(`${BARE} has not the access rules of the others, and serves no client`);
      expect(cluster.log(BARE)).toContain('the node serves no client: it is without access rules');
      await cluster.kill(BARE, 'SIGTERM');
      cluster.launch(BARE, { args: ['--rules', fileOf(BARE)] });
      await cluster.ready();

      // A change reaches one node after the other, and no restart is needed for it.
      writeFileSync(fileOf(BARE), rule('-here'));
      const differsFrom = async (id: string) => (await cluster.status(id)).node.protection.rules.differsFrom;
      await until('the others see the change', async () => (await differsFrom('ireland-1')).includes(BARE));
      for (const endpoint of cluster.endpoints())
        expect((await call(endpoint, 'PUT', keyPath('x'), { body: 1 })).status).toBe(200);
      expect((await shown()).stdout).toContain('the access rules differ');
      for (const { id } of cluster.nodes) writeFileSync(fileOf(id), rule('-here'));
      await until('no node differs', async () =>
        (await Promise.all(cluster.nodes.map(({ id }) => differsFrom(id)))).every((nodes) => nodes.length === 0),
      );
      // A signal of a terminal that has gone, or of an operator: the files are read again, and the node goes on.
      process.kill(cluster.process(BARE).pid, 'SIGHUP');
      await until('the log has the signal', () => cluster.log(BARE).includes('SIGHUP'));
      expect((await call(api, 'PUT', keyPath('x'), { body: 2 })).status).toBe(200);
      await cluster.stop();
    }),
  );
});
