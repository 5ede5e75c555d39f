/** The Swift SDK beside the TypeScript one, against one cluster of real processes: the same keys, one history. */
import { checkHistory, formatVerdict, parseHistory } from '@isochron/checker';
import { connect } from '@isochron/sdk';
import { HistoryRecorder } from '@isochron/workload';
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { SWIFT_INPUTS, whenChanged } from './package-checks.js';
import { prepareSwift, type SwiftClient, SwiftDriver, swift } from './swift-client.js';
import { until } from './until.js';
import { type ConnectWorkload, runSession } from './workload.js';

jest.setTimeout(900_000);

const check = whenChanged(...SWIFT_INPUTS, 'test/e2e/swift.test.ts');
afterAll(cleanUp);

const REGIONS = ['virginia', 'oregon', 'ireland'];
const ONE_WAY_MS = { 'virginia<>oregon': 5, 'virginia<>ireland': 15, 'oregon<>ireland': 25 };
const SEED = 20_250_301;
const SESSIONS = 4;
const TRANSACTIONS = 400;
/** Enough for a node to be killed and to recover. */
const PATIENCE = { requestTimeoutMs: 60_000, commitTimeoutMs: 60_000 };
const KEYS = 50;
/** Memory that is kept for later use is allocated after this many. */
const WARM = 200;
const SEQUENTIAL = 1000;

let cluster: Cluster;
let driver: SwiftDriver;
/** Why Swift is not available. */
let problem: string | undefined;

beforeAll(async () => {
  problem = await prepareSwift();
  if (problem !== undefined) return;
  driver = new SwiftDriver();
  cluster = await Cluster.start({ wan: ONE_WAY_MS });
});
afterAll(() => driver?.end());

/** Continuous integration must have Swift. */
const withSwift = (test: () => Promise<void>) =>
  logged(async () => {
    if (problem === undefined) return test();
    if (process.env.CI) throw new Error(`there is no Swift: ${problem}`);
    console.warn(`not run: ${problem}`);
  });

/** All endpoints, the given one first. */
const fromThere = (endpoint: string): string[] => [
  endpoint,
  ...REGIONS.map((region) => cluster.endpoint(region)).filter((other) => other !== endpoint),
];

describe('Swift and TypeScript clients on the same keys', () => {
  check(
    'Swift and TypeScript clients record one causally consistent history, with a node killed, and move between the SDKs',
    withSwift(async () => {
      const lines: string[] = [];
      const recorder = new HistoryRecorder(lines);
      let done = 0;
      const withDriver: ConnectWorkload = (endpoint, session) =>
        driver.connect(fromThere(endpoint), { ...(session !== undefined && { session }) });
      const typescript: ConnectWorkload = (endpoint, session) =>
        connect({ ...PATIENCE, endpoints: fromThere(endpoint), ...(session !== undefined && { session }) });
      let turn = 0;
      /** One after the other, so that every move goes to the other SDK. */
      const both = (): ConnectWorkload => {
        let mine = turn++;
        return (endpoint, session) => (mine++ % 2 === 0 ? withDriver : typescript)(endpoint, session);
      };
      const kinds = [
        ...Array.from({ length: SESSIONS }, () => ({ connect: withDriver, stay: TRANSACTIONS })),
        ...Array.from({ length: SESSIONS / 2 }, () => ({ connect: typescript, stay: TRANSACTIONS })),
        ...Array.from({ length: SESSIONS }, () => ({ connect: both(), stay: 50 })),
      ];
      const sessions = kinds.map(({ connect, stay }, i) =>
        runSession({
          recorder: recorder.session(`c${i}`),
          route: REGIONS.map((_region, r) => cluster.endpoint(REGIONS[(i + r) % REGIONS.length]!)),
          seed: SEED + i,
          keys: KEYS,
          transactions: TRANSACTIONS,
          stay,
          connect,
          done: () => {
            done++;
          },
        }),
      );
      const ending = Promise.all(sessions);
      ending.catch(() => undefined);
      await until('a third is done', () => done > (kinds.length * TRANSACTIONS) / 3, { timeoutMs: 300_000 });
      await cluster.kill('oregon-1');
      await cluster.restart('oregon-1');
      await ending;
      recorder.close();
      expect(lines.length).toBeGreaterThanOrEqual(3000);
      const verdict = checkHistory(parseHistory(lines.join('\n')));
      if (!verdict.ok) throw new Error(formatVerdict(`seed ${SEED}`, verdict, 0));
    }),
  );

  check(
    'a Swift or TypeScript client that continues a session of the other language reads its writes in any region',
    withSwift(async () => {
      const swift = await driver.connect([cluster.endpoint('virginia')]);
      await swift.set('handed/over', 'from Swift');
      const session = JSON.stringify(await swift.session.export());
      const typescript = await connect({ endpoints: [cluster.endpoint('ireland')], session });
      expect(await typescript.get('handed/over')).toBe('from Swift');
      await typescript.set('handed/over', 'from TypeScript');
      const returned = JSON.stringify(typescript.session.export());
      const back = await driver.connect([cluster.endpoint('oregon')], { session: returned });
      expect(await back.getMany(['handed/over'])).toEqual(['from TypeScript']);
      await Promise.all([swift.close(), typescript.close(), back.close()]);
    }),
  );
});

describe('a Swift session whose node is suspended', () => {
  check(
    'a Swift session whose node was killed sees its own writes all the time, and commits them again for all others',
    withSwift(async () => {
      const suspending = await Cluster.start({ settings: { suspendAfterMs: 2_000 } });
      const [ireland, virginia] = [suspending.endpoint('ireland'), suspending.endpoint('virginia')];
      const client = await driver.connect([ireland, virginia]);
      const shown = async (key: string) => (await call(virginia, 'GET', keyPath(key))).text;
      await client.set('first', 'x');
      await until('another region shows a write', async () => (await shown('first')) === '"x"');
      const keys = Array.from({ length: 40 }, (_, n) => `own ${n}`);
      const watched = await client.follow('own 0', 'watch');
      await until('the first result', async () => (await watched()).length > 0);
      await Promise.all(keys.map((key) => client.set(key, key)));
      await suspending.kill('ireland-1', 'SIGKILL');
      const killedMs = performance.now();
      const session = JSON.stringify(await client.session.export());
      expect(session).toContain('"commits":[');
      let isVisible = false;
      while (!isVisible) {
        expect(await client.getMany(keys)).toEqual(keys);
        const texts = await Promise.all(keys.map(shown));
        isVisible = texts.every((text, i) => text === JSON.stringify(keys[i]));
      }
      // Times decide no test: the figure is for the reader of the output.
      console.info(`own writes were visible elsewhere ${Math.round(performance.now() - killedMs)} ms after a kill`);
      await until('the node is suspended', async () => {
        const { map } = (await suspending.status('virginia-1')).node;
        return map?.suspended.join() === 'ireland-1';
      });
      await client.set('later', 'x');
      await until('another region shows a later write', async () => (await shown('later')) === '"x"');
      expect(new Set((await watched()).slice(1))).toEqual(new Set(['own 0']));
      await client.set('own 0', 'changed');
      await until('the live query goes on', async () => (await watched()).at(-1) === 'changed');
      // The commits of the copy have been made again: another SDK goes on from there.
      const copy = await connect({ ...PATIENCE, endpoints: [virginia], session });
      expect(await copy.getMany(keys.slice(1))).toEqual(keys.slice(1));
      await copy.set('last', 'x');
      await Promise.all([client.close(), copy.close()]);
      await suspending.stop();
    }),
  );
});

describe('live queries and the change feed of Swift', () => {
  check(
    'a live query and the change feed of Swift go on where they were when their node is killed',
    withSwift(async () => {
      const swift = await driver.connect(fromThere(cluster.endpoint('oregon')));
      const typescript = await connect({ ...PATIENCE, endpoints: [cluster.endpoint('virginia')] });
      const watched = await swift.follow('live/kill', 'watch');
      const fed = await swift.follow('live/kill', 'follow');
      await until('the first result', async () => (await watched()).length === 1);
      const values = Array.from({ length: 30 }, (_, i) => String(100 + i));
      for (const [i, value] of values.entries()) {
        if (i === 10) await cluster.kill('oregon-1');
        if (i === 20) await cluster.restart('oregon-1');
        await typescript.set('live/kill', value);
      }
      const isLast = async (seen: () => Promise<readonly unknown[]>) => (await seen()).at(-1) === values.at(-1);
      await until('the last result', () => isLast(watched), { timeoutMs: 60_000 });
      await until('the last transaction', () => isLast(fed), { timeoutMs: 60_000 });
      expect(await fed()).toEqual(values);
      const [before, ...shown] = await watched();
      expect(before).toBeUndefined();
      expect(shown).toEqual([...new Set(shown)].sort());
      expect(values).toEqual(expect.arrayContaining(shown));
      await Promise.all([swift.close(), typescript.close()]);
    }),
  );
});

describe('the tests of the Swift package that need a cluster', () => {
  check(
    'the tests of the Swift package that need a cluster pass against this one',
    withSwift(async () => {
      const endpoints = REGIONS.map((region) => cluster.endpoint(region)).join(',');
      const { code, stdout, stderr } = await swift(['test', '--filter', 'ClusterTests'], {
        ISOCHRON_CLUSTER: endpoints,
      });
      if (code !== 0) throw new Error(`${stdout}\n${stderr}`);
      expect(stdout + stderr).toMatch(/Executed [1-9]\d* tests, with 0 failures/);
    }),
  );
});

describe('an app that the system kills', () => {
  check(
    'an app that the system kills reads its own writes on the next launch',
    withSwift(async () => {
      const store = `${cluster.folder}/session.json`;
      const first = new SwiftDriver();
      const before = await first.connect([cluster.endpoint('virginia')], { store });
      await before.set('after/kill', 'still mine');
      first.kill();
      // A distant region, where the write has not arrived yet.
      const second = new SwiftDriver();
      const after = await second.connect([cluster.endpoint('ireland')], { store });
      expect(await after.getMany(['after/kill'])).toEqual(['still mine']);
      await second.end();
    }),
  );
});

describe('the memory of a Swift client', () => {
  check(
    `the memory of a Swift client does not grow with ${SEQUENTIAL} transactions one after the other`,
    withSwift(async () => {
      const client: SwiftClient = await driver.connect([cluster.endpoint('virginia')]);
      const warm = await client.sequential(WARM);
      const grown = (await client.sequential(SEQUENTIAL)) - warm;
      expect(grown).toBeLessThan(4 * 2 ** 20);
      await client.close();
    }),
  );
});
