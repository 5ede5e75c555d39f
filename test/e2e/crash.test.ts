import { checkHistory, formatVerdict, parseHistory } from '@isochron/checker';
import { connect } from '@isochron/sdk';
import { HistoryRecorder } from '@isochron/workload';
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { digestAt, digestOf, importRows, makeRows } from './rows.js';
import { until, within } from './until.js';
import { runSession } from './workload.js';

jest.setTimeout(120_000);
afterEach(cleanUp);

const REGIONS = ['virginia', 'oregon', 'ireland'];
const ROWS = makeRows(5000);
const SESSIONS = 4;
const SEED = 20_250_202;

describe('after kill -9 of a node in the middle of an import, and its restart', () => {
  it.each([
    ['virginia-1', 'the one that imports'],
    ['oregon-1', 'another one'],
    ['ireland-1', 'the third one'],
  ])('after kill -9 during an import no acknowledged write is lost, and all regions agree (%s: %s)', (victim) =>
    logged(async () => {
      const cluster = await Cluster.start();
      const survivor = cluster.endpoint(victim === 'ireland-1' ? 'oregon' : 'ireland');
      const put = await call(survivor, 'PUT', keyPath('before'), { body: { the: 'crash' } });
      expect(put.status).toBe(200);
      const clients = await Promise.all(
        Array.from({ length: SESSIONS }, () =>
          connect({ endpoints: [cluster.endpoint('virginia')], requestTimeoutMs: 60_000, commitTimeoutMs: 60_000 }),
        ),
      );
      try {
        let acknowledgedRows = 0;
        const acknowledged = (rows: number): void => {
          acknowledgedRows = rows;
        };
        const importing = importRows({ clients, rows: ROWS, rowsPerTransaction: 25, acknowledged });
        // Its failure is checked below, after the crash.
        importing.catch(() => undefined);
        await until('a third of the rows is acknowledged', () => acknowledgedRows > ROWS.length / 3);
        const killedAt = acknowledgedRows;
        expect(await cluster.kill(victim)).toEqual({ code: null, signal: 'SIGKILL' });
        expect(killedAt).toBeLessThan(ROWS.length);
        // The surviving nodes still answer reads.
        await until(
          'a surviving region answers',
          async () => (await call(survivor, 'GET', keyPath('before'))).status === 200,
        );
        await cluster.restart(victim);
        const last = await importing;
        for (const client of clients) await client.get('before');
        const late = await clients[0]!.set('after', 'the crash');
        await late.stable({ timeoutMs: 30_000 });
        const at = Math.max(last, late.timestamp);
        const digests = await Promise.all(
          REGIONS.map((region) => digestAt(cluster.endpoint(region), region, 'row/', at)),
        );
        expect(digests).toEqual(REGIONS.map(() => digestOf(ROWS)));
        const progress = await Promise.all(
          REGIONS.map((region) => digestAt(cluster.endpoint(region), region, 'progress/', at)),
        );
        expect(progress[0]!.count).toBe(SESSIONS);
        expect(progress).toEqual(REGIONS.map(() => progress[0]));
        await expectTransactionsWhole(cluster, at);
      } finally {
        await Promise.all(clients.map((client) => client.close()));
      }
      await cluster.stop();
    })(),
  );
});

describe('while every node in turn is killed and started again', () => {
  it(
    'the history is causally consistent while every node in turn is killed and restarted',
    logged(async () => {
      const cluster = await Cluster.start();
      const lines: string[] = [];
      const recorder = new HistoryRecorder(lines);
      const transactions = 400;
      let done = 0;
      const sessions = Array.from({ length: 6 }, (_, i) =>
        runSession({
          recorder: recorder.session(`c${i}`),
          route: REGIONS.map((_region, r) => cluster.endpoint(REGIONS[(i + r) % REGIONS.length]!)),
          seed: SEED + i,
          keys: 50,
          transactions,
          stay: transactions,
          connection: { requestTimeoutMs: 60_000, commitTimeoutMs: 60_000 },
          done: () => {
            done++;
          },
        }),
      );
      const all = Promise.all(sessions);
      // Its failure is checked below.
      all.catch(() => undefined);
      for (const [i, { id }] of cluster.nodes.entries()) {
        await until(`part ${i + 1} of the transactions`, () => done > ((i + 1) * sessions.length * transactions) / 5);
        await cluster.kill(id);
        await cluster.restart(id);
      }
      await within('the rest of the transactions', 60_000, all);
      recorder.close();
      const verdict = checkHistory(parseHistory(lines.join('\n')));
      if (!verdict.ok) throw new Error(formatVerdict(`seed ${SEED}`, verdict, 0));
      expect(verdict.stats).toMatchObject({ transactions: sessions.length * transactions, unknown: 0 });
      await cluster.stop();
    }),
  );
});

/** The sessions' counters add up to all transactions: each was applied once and as a whole, the last of each won. */
async function expectTransactionsWhole(cluster: Cluster, at: number): Promise<void> {
  const keys = Array.from({ length: SESSIONS }, (_, i) => ({ keyspace: 'default', key: `progress/${i}` }));
  for (const api of cluster.endpoints()) {
    const read = await call(api, 'POST', '/v1/read', { body: { keys, at } });
    const { values } = read.json as { values: { value: number }[] };
    expect(values.reduce((sum, { value }) => sum + value, 0)).toBe(ROWS.length / 25);
  }
}
