import { connect } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { Child, ISOCHRON, isochron } from './processes.js';
import { until } from './until.js';

jest.setTimeout(120_000);
afterEach(cleanUp);

const REGIONS = ['virginia', 'oregon', 'ireland'];
const VICTIM = 'oregon-1';
const KEYS = 4;
const CONNECTION = { requestTimeoutMs: 60_000, commitTimeoutMs: 60_000 };

interface Changed {
  readonly id: string;
  readonly timestamp: number;
  readonly writes: readonly { keyspace: string; key: string; value?: unknown }[];
}

interface Message {
  readonly from: number;
  readonly to: number;
  readonly cursor: string;
  readonly transactions: readonly Changed[];
}

/** The messages that a command has printed as whole lines. */
const messagesOf = (stdout: string): Message[] =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Message);
const changedIn = (stdout: string): Changed[] => messagesOf(stdout).flatMap(({ transactions }) => transactions);

/** Transactions of one region, each over several partitions, until it is stopped. Resolves to all of them. */
async function writeIn(endpoint: string, region: string, isStopped: () => boolean, done: () => void) {
  const client = await connect({ endpoints: [endpoint], ...CONNECTION });
  const committed: Changed[] = [];
  try {
    for (let i = 0; !isStopped(); i++) {
      const keys = Array.from({ length: KEYS }, (_, k) => `feed/${region}/${i % 7}/${k}`);
      const { write } = await client.transaction((tx) => {
        for (const key of keys) tx.set(key, i);
      });
      const writes = keys.map((key) => ({ keyspace: 'default', key, value: i }));
      committed.push({ id: write!.txId, timestamp: write!.timestamp, writes });
      done();
    }
    return committed;
  } finally {
    await client.close();
  }
}

/** Each transaction with its writes in the order of their keys. */
const byKey = (transactions: readonly Changed[]): Changed[] =>
  transactions.map((one) => ({ ...one, writes: [...one.writes].sort((a, b) => (a.key < b.key ? -1 : 1)) }));

/** In the total order. */
const inOrder = (transactions: readonly Changed[]): Changed[] =>
  byKey(transactions).sort((a, b) => a.timestamp - b.timestamp || (a.id < b.id ? -1 : 1));

describe('isochron changes --follow', () => {
  it(
    'a feed that is followed has every transaction of all regions once, in order and whole, through kill -9 of its node',
    logged(async () => {
      const cluster = await Cluster.start();
      const start = await isochron(['changes', '--json', '--endpoint', cluster.endpoint('virginia')]);
      expect(start).toMatchObject({ code: 0, stderr: '' });
      const [end] = messagesOf(start.stdout);
      const follow = (endpoints: readonly string[], ...from: string[]): Child => {
        const at = endpoints.flatMap((endpoint) => ['--endpoint', endpoint]);
        return new Child(process.execPath, [ISOCHRON, 'changes', '--follow', '--json', ...at, ...from]);
      };
      // One waits for the node that is killed, and one goes on at the others.
      const victim = cluster.node(VICTIM).api;
      const others = cluster.endpoints().filter((endpoint) => endpoint !== victim);
      const scope = ['--keyspace', 'default', '--prefix', 'feed/'];
      const followers = [
        follow([victim], '--since', end!.cursor),
        follow([victim, ...others], '--at', `${end!.to}`, ...scope),
      ];
      let stopped = false;
      let commits = 0;
      const writing = Promise.all(
        REGIONS.map((region) =>
          writeIn(
            cluster.endpoint(region),
            region,
            () => stopped,
            () => {
              commits++;
            },
          ),
        ),
      );
      // Its failure is checked below.
      writing.catch(() => undefined);
      await until('the feed is followed', () => followers.every(({ stdout }) => changedIn(stdout).length > 100));
      await cluster.kill(VICTIM);
      const killedAt = commits;
      await until('the follower reports the lost node', () => followers[0]!.stderr.includes('CONNECTION_LOST'));
      await cluster.restart(VICTIM);
      await until('the other regions went on', () => commits > killedAt + 100, { timeoutMs: 40_000 });
      stopped = true;
      const expected = inOrder((await writing).flat());
      expect(expected.length).toBeGreaterThan(200);
      expect(new Set(expected.map(({ writes }) => writes[0]!.key.split('/')[1]))).toEqual(new Set(REGIONS));
      for (const follower of followers) {
        await until('the feed has everything', () => changedIn(follower.stdout).length >= expected.length, {
          explain: () => follower.stderr,
        });
        expect(await follower.kill('SIGINT')).toEqual({ code: 0, signal: null });
        const messages = messagesOf(follower.stdout);
        expect(byKey(changedIn(follower.stdout))).toEqual(expected);
        expect(messages.slice(1).map(({ from }) => from)).toEqual(messages.slice(0, -1).map(({ to }) => to));
      }
      await cluster.stop();
    }),
  );
});
