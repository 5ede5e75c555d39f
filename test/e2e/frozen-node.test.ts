/** A node that does not answer: writes go on in every region if each partition has another replica. */
import { connect, type IsochronClient, SessionBlockedError } from '@isochron/sdk';
import { ChaosCluster } from '../chaos/cluster.js';
import { cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { until, within } from './until.js';

jest.setTimeout(180_000);
let chaos: ChaosCluster | undefined;
afterEach(async () => {
  await chaos?.dispose();
  await cleanUp();
});

/** After this time every node has detected the fault. */
const DETECTED_MS = 2_000;
/** Far more than a write that does not wait takes on a busy machine, and far less than one that waits for the node. */
const PROMPT_MS = 1_500;
const KEYS = 12;

const keysOf = (prefix: string): string[] => Array.from({ length: KEYS }, (_, i) => `${prefix}-${i}`);

const prompt = <T>(what: string, promise: Promise<T>): Promise<T> => within(what, PROMPT_MS, promise);

/** New sessions write keys and transactions in these regions, each write promptly, and read everything back there. */
async function writesGoOn(regions: readonly string[], name: string): Promise<void> {
  for (const region of regions) {
    const endpoints = chaos!.cluster.endpoints(region);
    for (const key of keysOf(`${name}-${region}-single`)) {
      const client = await connect({ endpoints });
      await prompt(`the write of ${key}`, client.set(key, 1));
      await client.close();
    }
    const client = await connect({ endpoints });
    const keys = keysOf(`${name}-${region}-all`);
    const write = client.transaction((tx) => {
      for (const key of keys) tx.set(key, 2);
    });
    await prompt(`a transaction of ${KEYS} keys in ${region}`, write);
    expect(await prompt('a read', client.getMany(keys))).toEqual(keys.map(() => 2));
    await client.close();
    const put = await prompt(
      'a PUT',
      call(endpoints[0]!, 'PUT', keyPath(`${name}-${region}-http`), { body: { n: 1 } }),
    );
    expect(put.status).toBeLessThan(300);
  }
}

/** Resolves when the node of the connection has reported it. */
const reported = (client: IsochronClient, node: string): Promise<unknown> =>
  until(`the status names ${node}`, () => client.status.unresponsive.includes(node), { timeoutMs: DETECTED_MS });

const FAULTS: readonly (readonly [
  what: string,
  begin: (cluster: ChaosCluster) => unknown,
  end: (c: ChaosCluster) => unknown,
])[] = [
  ['is stopped', (c) => c.signal('oregon-1', 'SIGSTOP'), (c) => c.signal('oregon-1', 'SIGCONT')],
  ['is killed', (c) => c.end('oregon-1', 'SIGKILL'), (c) => c.launch('oregon-1')],
  ['is cut off by silent links', (c) => c.isolate('oregon', 'mute'), (c) => c.reconnect('oregon')],
];

describe('a node that does not answer', () => {
  it.each(FAULTS)(
    'new writes in the other regions do not wait for a node, from 2 s after it %s',
    logged(async (_what, begin, end) => {
      chaos = await ChaosCluster.start({});
      const { cluster } = chaos;
      const client = await connect({ endpoints: cluster.endpoints('virginia') });
      await begin(chaos);
      await reported(client, 'oregon-1');
      await writesGoOn(['virginia', 'ireland'], 'during');
      await end(chaos);
      await until('every node answers again', () => client.status.unresponsive.length === 0);
      const write = await client.set('afterwards', 1);
      await write.stable();
      await client.close();
      await writesGoOn(['oregon'], 'after');
    }),
  );

  it(
    'a frozen node blocks the session of an undecided write until it is back, and the session reports it; detach goes on',
    logged(async () => {
      chaos = await ChaosCluster.start({});
      const { cluster } = chaos;
      const options = { requestTimeoutMs: 1_000, commitTimeoutMs: 2_000 };
      const client = await connect({ endpoints: cluster.endpoints('virginia'), ...options });
      await client.set('seen', 1);
      chaos.signal('oregon-1', 'SIGSTOP');
      // Before the fault is detected: some of the keys have their cohort there.
      const keys = Array.from({ length: 60 }, (_, i) => `doubt-${i}`);
      const write = client.transaction((tx) => {
        for (const key of keys) tx.set(key, 1);
      });
      const failed = write.then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(await failed).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
      const { txId } = (await failed) as { txId: string };
      const blocked: unknown = await client.set('behind', 1).catch((error: unknown) => error);
      expect(blocked).toBeInstanceOf(SessionBlockedError);
      expect(blocked).toMatchObject({ blockedBy: txId });
      expect(client.status.pendingCommits).toBe(1);
      expect(client.status.oldestPendingCommitMs).toBeGreaterThan(options.commitTimeoutMs);
      expect(client.detach()).toBe(txId);
      await prompt('a write after detach', client.set('behind', 2));
      expect(await client.getMany(['seen', 'behind'])).toEqual([1, 2]);
      chaos.signal('oregon-1', 'SIGCONT');
      await until('the undecided commit is decided', () => client.status.pendingCommits === 0);
      const { state } = await client.transactionStatus(txId);
      expect(['committed', 'aborted']).toContain(state);
      await client.close();
    }),
  );

  it(
    'clients leave a frozen node within 2 s, and their writes are done elsewhere as the same attempt',
    logged(async () => {
      chaos = await ChaosCluster.start({});
      const { cluster } = chaos;
      const endpoints = [...cluster.endpoints('oregon'), ...cluster.endpoints('virginia')];
      const client = await connect({ endpoints: cluster.endpoints('oregon') });
      await client.set('a', 1);
      chaos.signal('oregon-1', 'SIGSTOP');
      const reading = client.get('a');
      await until('the client has left', () => client.status.region !== 'oregon' && client.status.state === 'online', {
        timeoutMs: DETECTED_MS + 1_000,
      });
      expect(await reading).toBe(1);
      expect(endpoints.length).toBe(2);
      chaos.signal('oregon-1', 'SIGCONT');
      await client.close();
    }),
  );
});
