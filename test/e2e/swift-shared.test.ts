/** The sessions of one Swift process on shared sockets, against a cluster of real processes. */
import { Cluster, cleanUp, logged } from './harness.js';
import { SWIFT_INPUTS, whenChanged } from './package-checks.js';
import { prepareSwift, type SwiftClient, SwiftDriver } from './swift-client.js';
import { until } from './until.js';

jest.setTimeout(900_000);

const check = whenChanged(...SWIFT_INPUTS, 'test/e2e/swift-shared.test.ts');
afterAll(cleanUp);

const SESSIONS = 16;
/** An answer with this many values is forty chunks and more than two windows. */
const LARGE = { values: 40, bytes: 64 * 1024 };

let cluster: Cluster;
let driver: SwiftDriver;
/** Why Swift is not available. */
let problem: string | undefined;

beforeAll(async () => {
  problem = await prepareSwift();
  if (problem !== undefined) return;
  driver = new SwiftDriver();
  cluster = await Cluster.start({ regions: ['virginia', 'oregon'] });
});
afterAll(() => driver?.end());

/** Continuous integration must have Swift. */
const withSwift = (test: () => Promise<void>) =>
  logged(async () => {
    if (problem === undefined) return test();
    if (process.env.CI) throw new Error(`there is no Swift: ${problem}`);
    console.warn(`not run: ${problem}`);
  });

/** Sessions, their sockets, and the shared ones among these, as a node counts them. */
async function socketsOf(id: string): Promise<number[]> {
  const text = await (await fetch(`${cluster.node(id).metrics}/metrics`)).text();
  return ['isochron_sessions', 'isochron_session_sockets', 'isochron_shared_session_sockets'].map((name) =>
    Number(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'm').exec(text)?.[1]),
  );
}

const allOn = (id: string): Promise<unknown> =>
  until(`${id} has all sessions on one socket`, async () => {
    const counts = await socketsOf(id);
    return JSON.stringify(counts) === JSON.stringify([SESSIONS, 1, 1]);
  });

/** They receive the other region from their node. */
const connectAll = (): Promise<SwiftClient[]> =>
  Promise.all(Array.from({ length: SESSIONS }, () => driver.connect([cluster.endpoint('virginia')])));

const closeAll = (clients: readonly SwiftClient[]): Promise<unknown> => Promise.all(clients.map((one) => one.close()));

/** Each session writes increasing numbers, and reads each of them back, until it is stopped. @returns the last ones */
function writeUntil(clients: readonly SwiftClient[], isOver: () => boolean): Promise<number[]> {
  return Promise.all(
    clients.map(async (client, i) => {
      let n = 0;
      while (!isOver()) {
        await client.set(`order/${i}`, String(++n));
        expect(await client.getMany([`order/${i}`])).toEqual([String(n)]);
      }
      return n;
    }),
  );
}

describe('the sessions of one Swift process', () => {
  check(
    'the sessions of one Swift process share one socket to a node, and none is left when they are closed',
    withSwift(async () => {
      const clients = await connectAll();
      expect(await socketsOf('virginia-1')).toEqual([SESSIONS, 1, 1]);
      await Promise.all(clients.map((client, i) => client.set(`own/${i}`, `value ${i}`)));
      const read = await Promise.all(clients.map((client, i) => client.getMany([`own/${i}`])));
      expect(read).toEqual(clients.map((_client, i) => [`value ${i}`]));
      await closeAll(clients);
      await until('the socket is closed', async () => (await socketsOf('virginia-1')).join() === '0,0,0');
    }),
  );

  check(
    "a session in a shared Swift process gets its answer before the end of another session's large one",
    withSwift(async () => {
      const clients = await connectAll();
      const [large, small] = clients as [SwiftClient, SwiftClient];
      const keys = Array.from({ length: LARGE.values }, (_, i) => `large/${i}`);
      const value = 'x'.repeat(LARGE.bytes);
      for (const key of keys) await large.set(key, value);
      await small.set('small', 'one');
      const order: string[] = [];
      const answer = large.getMany(keys).then((values) => {
        order.push('large');
        return values;
      });
      expect(await small.getMany(['small'])).toEqual(['one']);
      order.push('small');
      expect(await answer).toEqual(keys.map(() => value));
      expect(order).toEqual(['small', 'large']);
      await closeAll(clients);
    }),
  );

  check.each([
    ['drained', 'SIGTERM'],
    ['killed', 'SIGKILL'],
  ] as const)(
    'the sessions of one Swift process go on in their order on one socket of another node when theirs is %s',
    (_how, signal) =>
      withSwift(async () => {
        const clients = await connectAll();
        await allOn('virginia-1');
        let isOver = false;
        const writing = writeUntil(clients, () => isOver);
        await cluster.kill('virginia-1', signal);
        await allOn('oregon-1');
        // Operations in flight may need the other node for their outcomes.
        await cluster.restart('virginia-1');
        isOver = true;
        const last = await writing;
        const read = await Promise.all(clients.map((client, i) => client.getMany([`order/${i}`])));
        expect(read).toEqual(last.map((n) => [String(n)]));
        await closeAll(clients);
      })(),
  );
});
