import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { whenChanged } from '../e2e/package-checks.js';
import { run } from '../e2e/processes.js';
import { TIER } from '../tier.js';
import { decodeMeasured } from './page/measured.js';
import { PAGE_FILE, renderPage } from './page/page.js';
import type { Failure, Result } from './report.js';

const MAIN = join(__dirname, '../dist/bench/main.js');
const BUILDS = join(__dirname, '../dist/bench/builds/main.js');
const MOST_MS = 600_000;
/** A run is ended before its test is, and the error has its output so far. */
const RUN_MS = MOST_MS - 10_000;

/** These build: other tests cover them, and may run at the same time as this one. */
const NOT_HERE = ['swift-reads', 'start'];
/** Benchmarks without a load generator or limit of their own: only in the tier `all`. */
const NOTHING_OF_THEIR_OWN = [
  'idle',
  'idle-partitions',
  'http-304',
  'http-read',
  'http-list',
  'http-commit',
  'shared-sockets',
  'sessions',
  'staleness',
  'waits',
  'staleness-wan',
  'partitions',
  'keys',
  'race-million',
  'watches-long',
  'write-amplification',
  'memory-large',
  'start-after-kill',
  'suspension',
  'profile',
];
const LEFT_OUT = TIER === 'all' ? NOT_HERE : [...NOT_HERE, ...NOTHING_OF_THEIR_OWN];
/** They read no value of a key. */
const WITHOUT_VALUES = [
  'idle',
  'idle-partitions',
  'idle-sessions',
  'waits',
  'log-appends',
  'start-after-kill',
  'suspension',
];
/** They use the loads of `sessions`, `sdk-commits` and `memory` on other clusters: the check of values is the same. */
const SAME_LOADS = [
  'staleness',
  'staleness-wan',
  'shared-sockets',
  'partitions',
  'keys',
  'race-million',
  'write-amplification',
  'memory-large',
  'profile',
];

interface Report {
  readonly results: readonly Result[];
  readonly failures: readonly Failure[];
}

describe('npm run bench', () => {
  const folder = mkdtempSync(join(tmpdir(), 'isochron-bench-test-'));
  const json = join(folder, 'report.json');
  const docs = join(folder, 'docs');
  let names: readonly string[];
  const report = () => JSON.parse(readFileSync(json, 'utf8')) as Report;
  const bench = (...args: string[]) => run(process.execPath, [MAIN, ...args], { cwd: folder, timeoutMs: RUN_MS });
  const quick = (...args: string[]) => bench('--quick', '--json', json, ...args);
  const done = (...args: string[]) => expect(bench(...args)).resolves.toMatchObject({ code: 0 });

  beforeAll(async () => {
    const { stdout } = await bench('--help');
    const list = stdout.slice(stdout.indexOf('\nBenchmarks:\n')).matchAll(/^ {2}(\S+) {2,}\S/gm);
    names = [...list].map(([, name]) => name!).filter((name) => !LEFT_OUT.includes(name));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it(
    'npm run bench runs a benchmark of every load generator on real nodes, and renders the page of its figures',
    async () => {
      await done('--quick', '--json', json, '--only', names.join(','), '--page', docs);
      const { results, failures } = report();
      expect(failures).toEqual([]);
      expect(results.map(({ benchmark }) => benchmark)).toEqual(names);
      for (const { rows } of results) {
        expect(rows.length).toBeGreaterThan(0);
        for (const { measured } of rows) expect(Number.isFinite(measured.median)).toBe(true);
      }
      const measured = decodeMeasured(readFileSync(join(docs, 'performance/measured.json'), 'utf8'));
      expect(measured.benchmarks.map(({ name }) => name)).toEqual(names);
      for (const [file, text] of renderPage(measured)) expect(readFileSync(join(docs, file), 'utf8')).toBe(text);
      const again = join(folder, 'again');
      await done('--from', join(docs, 'performance/measured.json'), '--page', again);
      expect(readFileSync(join(again, PAGE_FILE), 'utf8')).toBe(readFileSync(join(docs, PAGE_FILE), 'utf8'));
    },
    MOST_MS,
  );

  whenChanged('test/bench', 'packages/workload')(
    'npm run bench detects a wrong value under every load that reads values',
    async () => {
      const readers = names.filter((name) => ![...WITHOUT_VALUES, ...SAME_LOADS].includes(name));
      expect((await quick('--only', readers.join(','), '--plant-wrong-values')).code).toBe(1);
      const { results, failures } = report();
      expect(results.map(({ benchmark }) => benchmark)).toEqual([]);
      expect(failures.map(({ benchmark }) => benchmark)).toEqual(readers);
      for (const { error } of failures) expect(error).toContain('wrong value');
    },
    MOST_MS,
  );

  (process.platform === 'linux' ? it : it.skip)(
    'npm run bench refuses a loaded machine, and names the option that measures all the same',
    async () => {
      const others = Array.from({ length: availableParallelism() }, () =>
        spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
      );
      try {
        const { code, stderr } = await bench('--only', 'waits', '--json', json);
        expect([code, stderr]).toEqual([2, expect.stringMatching(/others use .*--loaded/)]);
      } finally {
        for (const other of others) other.kill('SIGKILL');
      }
    },
    MOST_MS,
  );

  // Its parts are those of the benchmarks above, and a comparison that has a test of its own.
  (TIER === 'all' ? it : it.skip)(
    'npm run bench:builds measures this build beside another one',
    async () => {
      const args = [BUILDS, '--quick', '--only', 'get,commits', join(__dirname, '../..')];
      const { stdout } = await run(process.execPath, args, { timeoutMs: RUN_MS });
      expect(stdout).toMatch(/GET one key .*\/s .*\/s/);
      expect(stdout).toMatch(/SDK commits of one key .*\/s .*\/s/);
    },
    MOST_MS,
  );

  it('npm run bench refuses an unknown name', async () => {
    expect((await quick('--only', 'http-everything')).stderr).toMatch(/http-get, /);
  });
});
