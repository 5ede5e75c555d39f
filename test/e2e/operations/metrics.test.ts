import { Cluster, cleanUp, logged } from '../harness.js';
import { call } from '../http.js';
import { isochron } from '../processes.js';

jest.setTimeout(60_000);
afterEach(cleanUp);

describe('--metrics-host', () => {
  it(
    'metrics, liveness and readiness listen at the address of --metrics-host, and nothing else does',
    logged(async () => {
      const cluster = await Cluster.start({ regions: ['virginia'], args: ['--metrics-host', '127.0.0.2'] });
      const { port } = new URL(cluster.node('virginia-1').metrics);
      const there = `http://127.0.0.2:${port}`;
      expect((await call(there, 'GET', '/metrics')).text).toMatch(/^isochron_ready\{node="virginia-1".*\} 1$/m);
      for (const path of ['/livez', '/readyz']) expect((await call(there, 'GET', path)).status).toBe(200);
      expect((await call(there, 'GET', '/v1/cluster')).status).toBe(404);
      await expect(call(`http://127.0.0.1:${port}`, 'GET', '/metrics')).rejects.toThrow('ECONNREFUSED');
      await cluster.stop();
    }),
  );

  it(
    'a --metrics-host that this machine does not have is refused with a remedy',
    logged(async () => {
      const cluster = await Cluster.prepare({ regions: ['virginia'] });
      const files = ['--config', cluster.configFile, '--secret-file', cluster.secretFile];
      const { dataDir, metrics } = cluster.node('virginia-1');
      const listen = ['--metrics-port', new URL(metrics).port, '--metrics-host', '192.0.2.1'];
      const args = ['node', '--node', 'virginia-1', ...files, '--data', dataDir, ...listen];
      const refused = await isochron(args);
      expect(refused.stderr).toMatch(/^error: CONFIG_INVALID: metrics listen on loopback only, not on 192\.0\.2\.1/m);
      const result = await isochron([...args, '--insecure', 'metrics']);
      expect(result.code).toBe(1);
      expect(result.stderr).toMatch(/^error: EADDRNOTAVAIL: .*--metrics-host/m);
    }),
  );
});
