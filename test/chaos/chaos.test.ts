import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkHistory, parseHistory } from '@isochron/checker';
import type { HistoryLine } from '@isochron/workload';
import { cleanUp } from '../e2e/harness.js';
import { withFracturedRead, withStaleRead } from '../e2e/spoilt.js';
import { TIER } from '../tier.js';
import { principalOf, RULES } from './access.js';
import { differences } from './convergence.js';
import { ALWAYS, type FaultKind } from './faults.js';
import { isolation } from './isolation.js';
import { type RunOptions, run, type Scenario } from './run.js';
import { storm } from './storm.js';
import { summaryOf } from './summary.js';
import { auditAll, EXIT, exitCodeOf, type Report, violationsOf } from './verdict.js';

jest.setTimeout(600_000);

const SEED = Math.floor(Math.random() * 1_000_000);
const LONG = TIER === 'all';
/** Kinds of faults that find no room in this time come after it. */
const STORM_MS = LONG ? 60_000 : 20_000;
const KINDS: readonly FaultKind[] = [...ALWAYS, 'lose'];
const STORM_TRANSACTIONS = LONG ? 500 : 200;
const PHASE_MS = LONG ? 10_000 : 4_000;
const THREE_REGIONS = {
  regions: ['virginia', 'oregon', 'ireland'],
  nodesPerRegion: 2,
  partitions: 12,
  replication: 2,
  wan: { 'virginia<>oregon': 3, 'virginia>ireland': 7, 'ireland>virginia': 2, 'oregon<>ireland': 5 },
};
const ONE_NODE = { regions: ['virginia'], partitions: 2, replication: 1 };
const silent = () => undefined;

let folder: string;
/** Whether the folder of a run is kept for inspection. */
let keep = false;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'isochron-chaos-'));
  process.stderr.write(
    `chaos: seed ${SEED}; again with npm run chaos -- --minutes 1 --lose --rules --tls --seed ${SEED}\n`,
  );
});
afterEach(cleanUp);
afterAll(() => {
  if (!keep) rmSync(folder, { recursive: true, force: true });
});

function expectFine(report: Report): void {
  if (exitCodeOf(report) === EXIT.fine) return;
  keep = true;
  throw new Error(`${summaryOf(report)}\nHistory, logs and schedule: ${folder}`);
}

const optionsOf = (name: string, cluster: RunOptions['cluster']): RunOptions => ({
  seed: SEED,
  cluster,
  folder: join(folder, name),
  onStep: silent,
});

/** A load without faults. */
const calm = (name: string): Scenario =>
  storm({ seed: SEED, durationMs: 2000, kinds: [], sessions: 2, keys: 10, folder: join(folder, name), onStep: silent });

describe('a storm of faults of every kind', () => {
  let report: Report;
  const history = (): HistoryLine[] =>
    readFileSync(join(folder, 'storm', 'history.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as HistoryLine);
  const isConsistent = (lines: readonly HistoryLine[]): boolean =>
    checkHistory(parseHistory(lines.map((line) => JSON.stringify(line)).join('\n'))).ok;

  it('a storm of faults of every kind loses nothing, tears no transaction, shows no photo to a removed reader, and leaves regions that agree', async () => {
    const options = optionsOf('storm', { ...THREE_REGIONS, tls: true, rules: RULES });
    const scenario = storm({
      ...options,
      durationMs: STORM_MS,
      kinds: KINDS,
      sessions: 9,
      keys: 50,
      least: STORM_TRANSACTIONS,
    });
    report = await run(scenario, options);
    expectFine(report);
    expect(new Set(Object.keys(report.faults))).toEqual(new Set(KINDS));
    expect(report.tally.ledger.some(({ status }) => status === 'committed')).toBe(true);
  });

  it('an acknowledged write that is missing in one region is reported', () => {
    const spoilt = new Map(report.contents!);
    const [lost] = report.tally.ledger.find(({ status }) => status === 'committed')!.writes.keys();
    spoilt.set('oregon', new Map([...spoilt.get('oregon')!].filter(([key]) => key !== lost)));
    expect(auditAll(report.tally, spoilt).lost).toEqual([expect.stringContaining(lost!)]);
    expect(differences(spoilt)).toHaveLength(1);
    const changed = { ...report, audit: auditAll(report.tally, spoilt) };
    expect(exitCodeOf(changed)).toBe(EXIT.violation);
  });

  it.each([
    ["a read of an older value than its session's own", withStaleRead],
    ['a read of a part of a transaction', withFracturedRead],
  ])('%s in the history is reported', (_what, spoil) => {
    const lines = history();
    expect(isConsistent(lines)).toBe(true);
    expect(isConsistent(spoil(lines))).toBe(false);
  });
});

describe('albums', () => {
  it('access rules that let a removed reader in are reported', async () => {
    const leaky = RULES.replace(/auth\.id in get\(.*\)\.readers/, `auth.id == '${principalOf('reader')}'`);
    expect(leaky).not.toBe(RULES);
    const report = await run(calm('leaky'), optionsOf('leaky', { ...ONE_NODE, rules: leaky }));
    expect(violationsOf(report)['photos shown to a reader that was removed']).toContainEqual(
      expect.stringMatching(/^reader\/0, in virginia, album a0-\d+, was shown hidden-\d+ by /),
    );
    expect(exitCodeOf(report)).toBe(EXIT.violation);
  });
});

describe('a region that is cut off', () => {
  it('a region that is cut off goes on with local reads and writes, shows its staleness, and catches up', async () => {
    const scenario = isolation({ seed: SEED, phaseMs: PHASE_MS, sessionsPerRegion: 2, onStep: silent });
    const report = await run(scenario, optionsOf('isolation', THREE_REGIONS));
    expectFine(report);
    expect(report.tally.outcomes.committed).toBeGreaterThan(0);
  });

  it('a region that is never connected again is reported as not converged', async () => {
    const scenario = isolation({ seed: SEED, phaseMs: 1000, sessionsPerRegion: 1, onStep: silent });
    const unhealed: Scenario = {
      ...scenario,
      load: async (...args) => ({ ...(await scenario.load(...args)), heal: async () => undefined }),
    };
    const cluster = { regions: ['virginia', 'oregon', 'ireland'], partitions: 4 };
    const report = await run(unhealed, { ...optionsOf('unhealed', cluster), limitMs: 3000 });
    expect(report.notConverged).toContain('all nodes are back');
    expect([exitCodeOf(report), summaryOf(report)]).toEqual([EXIT.notConverged, expect.any(String)]);
  });
});

describe('failures that no fault explains', () => {
  it('a node that ends by itself is reported', async () => {
    const scenario = calm('ended');
    const withKill: Scenario = {
      ...scenario,
      load: async (chaos, recorder) => {
        const load = await scenario.load(chaos, recorder);
        await chaos.cluster.kill('virginia-1');
        return load;
      },
    };
    const report = await run(withKill, optionsOf('ended', ONE_NODE));
    expect(report.failures).toEqual([expect.stringContaining('virginia-1 ended by itself (SIGKILL)')]);
    expect(exitCodeOf(report)).toBe(EXIT.violation);
  });

  it('the loss of the only data folder is reported', async () => {
    const scenario = calm('wiped');
    const withWipe: Scenario = {
      ...scenario,
      load: async (chaos, recorder) => {
        const load = await scenario.load(chaos, recorder);
        await load.stop();
        await chaos.end('virginia-1', 'SIGKILL');
        chaos.wipe('virginia-1');
        return load;
      },
    };
    const report = await run(withWipe, optionsOf('wiped', ONE_NODE));
    const acknowledged = report.tally.ledger.filter(({ status }) => status === 'committed');
    expect(acknowledged.length).toBeGreaterThan(0);
    expect(report.audit?.lost).toHaveLength(acknowledged.length);
    expect(exitCodeOf(report)).toBe(EXIT.violation);
  });
});
