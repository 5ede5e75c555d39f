import { connect, type IsochronClient, isIsochronError, type Transaction } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { until } from './until.js';

jest.setTimeout(240_000);
afterAll(cleanUp);

const KEPT_MS = 3000;
const REGIONS = ['virginia', 'oregon'];
let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start({ regions: REGIONS, nodesPerRegion: 2, partitions: 4 });
});

/** Kills the node that a client is connected to, or all nodes of its region. */
async function killCoordinator(client: IsochronClient, where: Where): Promise<void> {
  const { node, region } = client.status;
  const victims = cluster.nodes.filter(({ id, region: its }) => (where === 'node' ? id === node : its === region));
  await Promise.all(victims.map(({ id }) => cluster.kill(id)));
  // A restart takes long: the transaction goes on without these nodes. Only a commit that needs their replicas waits.
  for (const { id } of victims) cluster.launch(id);
}

afterEach(async () => {
  for (const { id } of cluster.nodes) if (!cluster.runs(id)) cluster.launch(id);
  await cluster.ready();
});

type Where = 'node' | 'region';
type Moment = 'between start and first read' | 'between two reads' | 'before the commit' | 'while it commits';
const MOMENTS: Moment[] = [
  'between start and first read',
  'between two reads',
  'before the commit',
  'while it commits',
];
const WHERE: Where[] = ['node', 'region'];
const cases = MOMENTS.flatMap((moment) => WHERE.map((where) => [moment, where] as const));

/** Writes through another client, and waits until every region has the write. */
async function overtake(key: string, from: IsochronClient): Promise<void> {
  const write = await from.set(key, 'newer');
  await write.stable();
}

describe('a transaction whose coordinator is killed by kill -9 (D8)', () => {
  it.each(cases)(
    'a transaction whose coordinator is killed goes on in its snapshot, and commits once: %s, the whole %s',
    (moment, where) =>
      logged(async () => {
        const name = `${moment} ${where}`.replaceAll(' ', '-');
        const [a, b, c] = [`${name}/a`, `${name}/b`, `${name}/c`] as const;
        const client = await connect({ endpoints: cluster.endpoints('virginia') });
        const other = await connect({ endpoints: cluster.endpoints('oregon') });
        try {
          const before = await client.transaction((tx) => {
            tx.set(a, 'old');
            tx.set(b, 'old');
          });
          await before.write!.stable();
          const die = async (now: Moment) => {
            if (now === moment) await killCoordinator(client, where);
          };
          const run = async (tx: Transaction) => {
            // The first read also starts the transaction; for a key that does not matter, only the start counts.
            await tx.get(`${name}/none`);
            const at = tx.timestamp;
            // While all nodes can reach both regions: later, stable time may stand still.
            for (const key of [a, b]) await overtake(key, other);
            await die('between start and first read');
            const first = await tx.get(a);
            await die('between two reads');
            const second = await tx.get(b);
            await die('before the commit');
            tx.set(c, [first, second]);
            return { first, second, sameSnapshot: tx.timestamp === at };
          };
          let dying: Promise<void> | undefined;
          // `overtake` commits through the other client.
          const unsubscribe = client.on('status', ({ pendingCommits }) => {
            if (pendingCommits === 0) return;
            unsubscribe();
            // A microtask after the commit was sent: it may or may not arrive.
            dying = die('while it commits');
          });
          const { result, write } = await client.transaction(run);
          await dying;
          await cluster.ready();
          expect(result).toEqual({ first: 'old', second: 'old', sameSnapshot: true });
          // Exactly once: every region has it at the acknowledged timestamp, under the transaction's own id.
          await write!.stable();
          for (const api of cluster.endpoints()) {
            const got = await call(api, 'GET', keyPath(c));
            expect(got.json).toEqual(['old', 'old']);
            expect(got.headers['isochron-commit-timestamp']).toBe(String(write!.timestamp));
          }
          const { timestamp, txId } = write!;
          // The answering node may not have detected yet that another one is gone, and wait for it in vain.
          const state = await until('it is known', async () => {
            const status = await other.transactionStatus(txId);
            return status.state !== 'unknown' && status;
          });
          expect(state).toEqual({ state: 'committed', timestamp });
        } finally {
          await Promise.all([client.close(), other.close()]);
        }
      })(),
  );
});

describe('a coordinator that stands still, SIGSTOP', () => {
  it(
    'a client leaves a stopped coordinator before any operation times out, and its continuation does no harm',
    logged(async () => {
      const client = await connect({ endpoints: cluster.endpoints('virginia') });
      await (await client.set('still/a', 'old')).stable();
      const { node } = client.status;
      const process = cluster.process(node!);
      try {
        const { result, write } = await client.transaction(async (tx) => {
          await tx.get('still/none');
          process.signal('SIGSTOP');
          const a = await tx.get('still/a');
          expect(client.status.node).not.toBe(node);
          // The stopped node is a cohort of commits of its region, which would wait for it.
          process.signal('SIGCONT');
          tx.set('still/b', a);
          return a;
        });
        expect(result).toBe('old');
        await write!.stable();
        expect(await client.getMany(['still/a', 'still/b'])).toEqual(['old', 'old']);
      } finally {
        process.signal('SIGCONT');
        await client.close();
      }
    }),
  );
});

describe('a transaction that is resumed too late', () => {
  it(
    'a transaction that is resumed too late ends with SNAPSHOT_TOO_OLD, because its versions have been collected',
    logged(async () => {
      const small = await Cluster.start({
        regions: REGIONS,
        partitions: 2,
        settings: { retentionMs: 0, maxTransactionMs: KEPT_MS },
      });
      const client = await connect({ endpoints: small.endpoints('virginia') });
      const other = await connect({ endpoints: small.endpoints('oregon') });
      await (await client.set('a', 'old')).stable();
      const transaction = client.transaction(async (tx) => {
        await tx.get('none');
        const { node } = client.status;
        await small.kill(node!);
        const at = tx.timestamp!;
        await small.restart(node!);
        // The lease ended with the coordinator, so the versions of the snapshot may be collected.
        await until('the snapshot is collected', async () => {
          await other.set('a', 'newer');
          const past = await call(small.endpoint('oregon'), 'GET', `${keyPath('a')}?at=${at}`);
          return (past.json as { code?: string }).code === 'SNAPSHOT_TOO_OLD';
        });
        return tx.get('a');
      });
      const error: unknown = await transaction.catch((reason: unknown) => reason);
      expect(isIsochronError(error, 'SNAPSHOT_TOO_OLD')).toBe(true);
      // The session still works.
      expect(await client.get('a')).toBe('newer');
      await Promise.all([client.close(), other.close()]);
      await small.stop();
    }),
  );
});
