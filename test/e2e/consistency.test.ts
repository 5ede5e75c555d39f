import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkHistory, formatVerdict, parseHistory } from '@isochron/checker';
import { type HistoryLine, HistoryRecorder } from '@isochron/workload';
import { Cluster, cleanUp, logged } from './harness.js';
import { ROOT, run } from './processes.js';
import { withFracturedRead, withStaleRead } from './spoilt.js';
import { runSession } from './workload.js';

jest.setTimeout(180_000);
afterAll(cleanUp);

const SEED = 20_250_101;
const SESSIONS = 8;
const TRANSACTIONS = 650;
const REGIONS = ['virginia', 'oregon', 'ireland'];
/** Uneven, and different for each direction. */
const ONE_WAY_MS = {
  'virginia>oregon': 1,
  'oregon>virginia': 4,
  'virginia>ireland': 25,
  'ireland>virginia': 15,
  'oregon>ireland': 60,
  'ireland>oregon': 40,
};

const lines: string[] = [];
const linesOf = (): HistoryLine[] => lines.map((line) => JSON.parse(line) as HistoryLine);
const verdictOf = (history: readonly string[]) => checkHistory(parseHistory(history.join('\n')));
let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start({ wan: ONE_WAY_MS });
});

describe('eight sessions in three regions, on hot keys and with uneven link delays', () => {
  it(
    'sessions on hot keys in three regions record a causally consistent history',
    logged(async () => {
      const recorder = new HistoryRecorder(lines);
      const results = await Promise.all(
        Array.from({ length: SESSIONS }, (_, i) => {
          const first = REGIONS.map((_region, r) => REGIONS[(i + r) % REGIONS.length]!);
          return runSession({
            recorder: recorder.session(`c${i}`),
            route: first.map((region) => cluster.endpoint(region)),
            seed: SEED + i,
            keys: 50,
            transactions: TRANSACTIONS,
            // Half of the sessions stay in their regions.
            stay: i % 2 === 0 ? 100 : TRANSACTIONS,
          });
        }),
      );
      recorder.close();
      expect(lines.length).toBeGreaterThanOrEqual(5000);
      expect(results.map(({ unknown }) => unknown)).toEqual(results.map(() => 0));
      expect(results.reduce((sum, { moves }) => sum + moves, 0)).toBe(4 * 6);
      const verdict = verdictOf(lines);
      if (!verdict.ok) throw new Error(formatVerdict(`seed ${SEED}`, verdict, 0));
      expect(verdict.stats).toMatchObject({ transactions: lines.length });
    }),
  );

  it('the command line gives the same verdict on the history', async () => {
    const file = join(cluster.folder, 'history.jsonl');
    writeFileSync(file, `${lines.join('\n')}\n`);
    const result = await run(process.execPath, [join(ROOT, 'packages/checker/dist/main.js'), '--json', file]);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(result.stdout)).toMatchObject({ ok: true });
  });

  it('the checker detects a read of a value that its session had overwritten', async () => {
    const history = linesOf();
    const broken = withStaleRead(history);
    expect(verdictOf(broken.map((line) => JSON.stringify(line)))).toMatchObject({ ok: false });
    const file = join(cluster.folder, 'broken.jsonl');
    writeFileSync(file, `${broken.map((line) => JSON.stringify(line)).join('\n')}\n`);
    const result = await run(process.execPath, [join(ROOT, 'packages/checker/dist/main.js'), file]);
    expect(result.code).toBe(1);
  });

  it('the checker detects a read of half of a transaction', () => {
    const broken = withFracturedRead(linesOf());
    expect(verdictOf(broken.map((line) => JSON.stringify(line)))).toMatchObject({ ok: false });
  });
});
