import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { append, connect, type IsochronClient, increment } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { newerNode } from './newer-node.js';
import { Child, ROOT, run } from './processes.js';
import { until } from './until.js';

jest.setTimeout(240_000);

const KEYSPACES = ['default', 'stock'];
const ITEMS = 20;
/** Transactions of the feed after which each follower is killed, at the earliest. */
const KILLED_AFTER = [1, 7, 2, 19, 4];
/** Prints the tables of a copy. */
const DUMP = `
  const { DatabaseSync } = require('node:sqlite');
  const sqlite = new DatabaseSync(process.argv[1]);
  const [{ timestamp }] = sqlite.prepare('select timestamp from position').all();
  console.log(JSON.stringify({ timestamp, rows: sqlite.prepare('select * from documents').all() }));`;

interface Dump {
  readonly timestamp: number;
  readonly rows: readonly { keyspace: string; key: string; document: string }[];
}

const folder = mkdtempSync(join(tmpdir(), 'isochron-feed-'));
afterAll(async () => {
  await cleanUp();
  rmSync(folder, { recursive: true, force: true });
});

/** Orders in one keyspace that take items out of the other, until it is stopped. Resolves to the last timestamp. */
async function order(endpoint: string, region: string, isStopped: () => boolean): Promise<number> {
  const client = await connect({ endpoints: [endpoint], requestTimeoutMs: 60_000, commitTimeoutMs: 60_000 });
  try {
    let last = 0;
    for (let i = 0; !isStopped(); i++) {
      const item = `item-${i % ITEMS}`;
      const { write } = await client.transaction((tx) => {
        tx.set(`orders/${region}-${i}`, { item });
        if (i >= ITEMS) tx.delete(`orders/${region}-${i - ITEMS}`);
        tx.keyspace('stock').update(item, [increment('/left', -1), append('/log', `${region}-${i}`)]);
      });
      last = write!.timestamp;
    }
    return last;
  } finally {
    await client.close();
  }
}

/** All documents of the keyspaces in the snapshot at a timestamp. */
async function snapshotAt(client: IsochronClient, timestamp: number): Promise<Dump['rows']> {
  const snapshot = await client.snapshot({ at: timestamp });
  const rows: { keyspace: string; key: string; document: string }[] = [];
  for (const keyspace of KEYSPACES)
    for await (const { key, value } of snapshot.keyspace(keyspace).list())
      rows.push({ keyspace, key, document: JSON.stringify(value) });
  await snapshot.close();
  return rows;
}

const sorted = (rows: Dump['rows']): Dump['rows'] =>
  [...rows].map(({ keyspace, key, document }) => ({ keyspace, key, document })).sort(byKey);
const byKey = (a: Dump['rows'][number], b: Dump['rows'][number]): number =>
  `${a.keyspace}/${a.key}` < `${b.keyspace}/${b.key}` ? -1 : 1;

describe('the example "feed"', () => {
  it(
    'the tables of the feed example equal the snapshot of the store at their position, after each kill -9 and restart in another region',
    logged(async () => {
      const [node, cluster] = await Promise.all([newerNode(), Cluster.start({ keyspaces: KEYSPACES })]);
      const endpoints = cluster.endpoints();
      const database = join(folder, 'copy.sqlite');
      const start = (first: number): Child =>
        new Child(node, [
          `${ROOT}/examples/feed/dist/main.js`,
          '--json',
          ...['--endpoint', endpoints[first % endpoints.length]!],
          ...['--keyspaces', KEYSPACES.join(',')],
          ...['--database', database],
        ]);
      const steps = ({ stdout }: Child) =>
        stdout
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line));
      const dump = async (): Promise<Dump> => {
        const { stdout, stderr } = await run(node, ['-e', DUMP, database]);
        if (stdout === '') throw new Error(stderr);
        return JSON.parse(stdout);
      };
      const client = await connect({ endpoints });
      let isStopped = false;
      const writers = ['virginia', 'ireland'].map((region) => order(cluster.endpoint(region), region, () => isStopped));
      try {
        for (const [kill, wanted] of KILLED_AFTER.entries()) {
          const follower = start(kill);
          const transactions = () => steps(follower).reduce((sum, step) => sum + step.transactions, 0);
          await until('transactions of the feed', () => transactions() >= wanted, { explain: () => follower.stderr });
          await follower.kill('SIGKILL');
          const { timestamp, rows } = await dump();
          expect(sorted(rows)).toEqual(sorted(await snapshotAt(client, timestamp)));
        }
        isStopped = true;
        const last = Math.max(...(await Promise.all(writers)));
        const follower = start(KILLED_AFTER.length);
        await until('the last order', () => steps(follower).some(({ timestamp }) => timestamp >= last));
        await follower.kill('SIGINT');
        const { timestamp, rows } = await dump();
        expect(rows.length).toBeGreaterThan(ITEMS);
        expect(sorted(rows)).toEqual(sorted(await snapshotAt(client, timestamp)));
      } finally {
        isStopped = true;
        await Promise.allSettled([...writers, client.close()]);
      }
    }),
  );
});
