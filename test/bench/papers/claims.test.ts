import { type Claim, findingOf, isReached, type Rule } from './claim.js';
import { CLAIMS } from './claims.js';
import { curveOf, latencyAt, measureAt, peakOf } from './curve.js';
import { quickForm } from './experiment.js';
import { EXPERIMENTS } from './experiments.js';
import { MEASURES, measured, measureNamed, missingMetrics } from './measures.js';
import { reasonsOf } from './reasons.js';
import { CASE, EXPERIMENT, POINTS, point, recorded, round, runOf } from './testing.js';

const place = (system: string) => ({ system, case: CASE });
const curves = (more: Partial<Extract<Rule, { kind: 'curves' }>>): Rule => ({
  kind: 'curves',
  quantity: { is: 'throughput' },
  of: place('Fast'),
  to: place('Slow'),
  at: 'peak',
  ...more,
});
const figure = (rule: Rule, record = recorded()) => findingOf({ rule }, record)?.value;
const MEAN = { is: 'latency', statistic: 'meanMs' } as const;

describe('a curve', () => {
  it('a curve has medians over the rounds of each point', () => {
    const [first] = curveOf(recorded(), CASE, 'Fast');
    expect(first!.rate).toBe(1000);
    expect(latencyAt(first!, 'meanMs')).toBe(10);
  });

  it('a curve has its peak at the highest throughput, not at the most sessions', () => {
    expect(peakOf(curveOf(recorded(), CASE, 'Fast'))?.sessions).toBe(20);
    expect(peakOf([])).toBeUndefined();
  });
});

describe('a claim', () => {
  it('a claim about throughput takes each system at its own peak', () => {
    expect(figure(curves({}))).toBeCloseTo(1500 / 1250);
    expect(findingOf({ rule: curves({}) }, recorded())?.conditions).toBe('at 20 and 40 sessions');
  });

  it('a claim ignores points with fewer sessions than its minimum', () => {
    expect(figure(curves({ minSessions: 40 }))).toBeCloseTo(1200 / 1250);
  });

  it('a claim at the same sessions takes the number with the greatest figure', () => {
    const rule = curves({ quantity: MEAN, of: place('Slow'), to: place('Fast'), at: 'sessions' });
    expect(findingOf({ rule }, recorded())).toEqual({ value: 10, conditions: 'at 10 sessions' });
  });

  it('a claim at the same throughput interpolates the other curve on its way up', () => {
    const rule = curves({ quantity: MEAN, of: place('Slow'), to: place('Fast'), at: 'throughput' });
    // 1250/s: half-way between 1000/s (10 ms) and 1500/s (14 ms). Below 1000/s: the first point's.
    expect(figure(rule)).toBeCloseTo(10);
    const onlyLast = recorded({
      points: POINTS.filter(({ system, sessions }) => system === 'Fast' || sessions === 40),
    });
    expect(figure(rule, onlyLast)).toBeCloseTo(120 / 12);
  });

  it('a claim has no figure at a throughput that the other system never reaches', () => {
    const points = [point('Fast', 10, round(100, 1)), point('Slow', 10, round(200, 50))];
    const rule = curves({ quantity: MEAN, of: place('Slow'), to: place('Fast'), at: 'throughput' });
    expect(figure(rule, recorded({ points }))).toBeUndefined();
  });

  it('a claim about a metric that the nodes do not count has no figure', () => {
    const block = (of: string): Rule => ({
      kind: 'curves',
      quantity: { is: 'measure', name: 'mean block' },
      of: place(of),
      at: 'sessions',
    });
    expect(figure(block('Slow'))).toBe(40);
    expect(figure(block('Fast'))).toBeUndefined();
  });

  it('a claim about visibility separates readers of the same region from others', () => {
    const rule = { kind: 'visibility', of: 'Fast', to: 'Slow', share: 0.5, as: 'difference' } as const;
    expect(figure({ ...rule, readers: 'remote' })).toBe(40);
    expect(figure({ ...rule, readers: 'remote', as: 'ratio' })).toBe(3);
    expect(figure({ kind: 'visibility', of: 'Fast', readers: 'local', share: 0.5, as: 'ratio' })).toBe(4);
    expect(figure({ ...rule, readers: 'local' })).toBeUndefined();
  });

  it('a claim about capacity compares the averages of regions', () => {
    const systems = [
      { name: 'Fast', keysByRegion: { virginia: 30, oregon: 50 } },
      { name: 'Slow', keysByRegion: { virginia: 100, oregon: 100 } },
    ];
    expect(figure({ kind: 'keys held', of: 'Fast', to: 'Slow' }, recorded({ systems }))).toBe(0.4);
  });

  it('a claim is reached from the right side, the bound itself included', () => {
    const finding = { value: 2, conditions: '' };
    expect(isReached({ bound: { is: 'at least', value: 2 } }, finding)).toBe(true);
    expect(isReached({ bound: { is: 'at least', value: 2.1 } }, finding)).toBe(false);
    expect(isReached({ bound: { is: 'at most', value: 1.9 } }, finding)).toBe(false);
    expect(isReached({}, finding)).toBeUndefined();
    expect(isReached({ bound: { is: 'at most', value: 1 } }, undefined)).toBeUndefined();
  });
});

describe('why a figure differs', () => {
  const claim: Claim = { experiment: EXPERIMENT.name, claim: 'c', paper: 'p', rule: curves({}), unit: '×' };
  const situation = {
    claim,
    run: runOf([]),
    record: recorded(),
    finding: { value: 1, conditions: '' },
    reached: false,
  };

  it('a claim that is reached has no reasons', () => {
    expect(reasonsOf({ ...situation, reached: true })).toBe('');
  });

  it('the reasons of a difference come from the run: shared cores, a loaded machine, a rising curve, a known reason', () => {
    const { machine } = situation.run;
    const busy = { ...situation.run, machine: { ...machine, loadBefore: 3 } };
    const text = reasonsOf({ ...situation, run: busy, claim: { ...claim, found: 'the disk was slow' } });
    for (const part of ['share 2 cores', 'load 3.0', 'sessions: Slow', 'the disk was slow'])
      expect(text).toContain(part);
    const roomy = { ...situation.run, machine: { ...machine, cores: 64 } };
    expect(reasonsOf({ ...situation, run: roomy })).not.toContain('cores');
  });

  it('the reason for a missing figure is the missing part of the run', () => {
    const without = { ...situation, finding: undefined, reached: undefined };
    const absent = recorded({ systems: [{ name: 'Slow', absent: 'no such protocol' }] });
    expect(reasonsOf({ ...without, record: undefined })).toMatch(/not run/);
    expect(reasonsOf({ ...without, record: absent })).toBe('not run: Slow');
    expect(reasonsOf({ ...without, record: recorded({ points: [] }) })).toBe('the case 95:5 was not run');
    const counted = { ...claim, rule: curves({ quantity: { is: 'measure', name: 'mean block' } }) };
    expect(reasonsOf({ ...without, claim: counted })).toContain('isochron_blocked_reads_total');
  });
});

describe('measures', () => {
  const bytes = (kind: string, scope: string) => `isochron_sent_bytes_total{kind=${kind},scope=${scope}}`;
  const counts = {
    [bytes('replication', 'region')]: 100,
    [bytes('replication', 'wan')]: 600,
    [bytes('stabilization', 'region')]: 280,
    [bytes('stabilization', 'wan')]: 20,
  };
  const of = (name: string, more = {}) => measured(measureNamed(name), round(50, 1, { ...counts, ...more }));

  it('measures are per operation, per second, or shares of the bytes', () => {
    expect(of('replication bytes')).toBe(14);
    expect(of('stabilisation bytes')).toBe(300);
    expect(of('replication share')).toBe(70);
    expect(of('stabilisation share in regions')).toBe(28);
    expect(of('stabilisation share between regions')).toBe(2);
  });

  it('measures are undefined without a needed metric or an event', () => {
    expect(of('mean block')).toBeUndefined();
    expect(
      of('mean block', { isochron_blocked_reads_total: 0, isochron_blocked_read_seconds_total: 0 }),
    ).toBeUndefined();
    expect(of('blocked reads', { isochron_blocked_reads_total: 0 })).toBe(0);
    expect(() => measureNamed('luck')).toThrow(/no measure/);
  });

  it('measures list their missing metrics', () => {
    const missing = missingMetrics([round(1, 1, counts)], new Set(['paris']));
    expect(missing).toContain('isochron_blocked_reads_total');
    expect(missing.filter((name) => name.startsWith('isochron_sent_bytes_total'))).toEqual([]);
    expect(missing.join()).not.toContain('readersChecks');
    expect(missingMetrics([round(1, 1)], new Set(['cc-lo'])).join()).toContain('readersChecks');
  });

  it('measures have a value for each curve point that counts them', () => {
    const [first] = curveOf(recorded(), CASE, 'Slow');
    expect(measureAt(first!, measureNamed('blocked reads'))).toBe(0.5);
  });
});

describe('the experiments', () => {
  it('the experiments have names of their own, and no system or case twice', () => {
    const names = (of: readonly { name: string }[]) => of.map(({ name }) => name);
    for (const each of [EXPERIMENTS, MEASURES, ...EXPERIMENTS.flatMap(({ systems, cases }) => [systems, cases])]) {
      expect(new Set(names(each)).size).toBe(each.length);
    }
  });

  it.each(EXPERIMENTS.map((experiment) => [experiment.name, experiment] as const))(
    'the experiment %s can run: replicas have regions, sessions too, and visibility is sampled in one of its cases',
    (_, { layout, sessions, systems, visibility, cases }) => {
      for (const { replication = layout.replication } of systems) {
        expect(replication).toBeLessThanOrEqual(layout.regions.length);
      }
      for (const count of sessions) expect(count).toBeGreaterThanOrEqual(layout.regions.length);
      if (visibility !== undefined) expect(cases.map(({ name }) => name)).toContain(visibility.case);
    },
  );

  it('the experiments are smaller in their quick form, with the same systems', () => {
    const quick = quickForm(EXPERIMENT);
    expect(quick).toMatchObject({ sessions: [10, 40], systems: EXPERIMENT.systems, visibility: { sessions: 10 } });
    expect(EXPERIMENTS.map(quickForm).every(({ cases }) => cases.length <= 1)).toBe(true);
    expect(quickForm({ ...EXPERIMENT, sessions: [5] }).sessions).toEqual([5]);
  });
});

describe('the claims', () => {
  it.each(CLAIMS.map((claim) => [claim.experiment, claim.claim, claim] as const))(
    'the claim of %s, “%s”, names existing systems, cases and measures',
    (_, __, { experiment, rule }) => {
      const found = EXPERIMENTS.find(({ name }) => name === experiment)!;
      const systems = found.systems.map(({ name }) => name);
      const places = rule.kind === 'curves' ? [rule.of, rule.to ?? rule.of] : [];
      const named = rule.kind === 'curves' ? places.map(({ system }) => system) : [rule.of, rule.to ?? rule.of];
      for (const system of named) expect(systems).toContain(system);
      for (const { case: name } of places) expect(found.cases.map((each) => each.name)).toContain(name);
      if (rule.kind === 'curves' && rule.quantity.is === 'measure') measureNamed(rule.quantity.name);
      if (rule.kind === 'visibility') expect(found.visibility).toBeDefined();
      if (rule.kind === 'curves') expect(Math.max(...found.sessions)).toBeGreaterThanOrEqual(rule.minSessions ?? 0);
    },
  );

  it.each([
    ['PaRiS', 'BPR', 5.9],
    ['Wren', 'Cure', 2],
  ])('the bound on the mean latency of %s and %s is at least %d×', (fast, slow, bound) => {
    const bounds = CLAIMS.filter(
      ({ rule }) =>
        rule.kind === 'curves' &&
        rule.quantity.is === 'latency' &&
        rule.quantity.statistic === 'meanMs' &&
        rule.of.system === slow &&
        rule.to?.system === fast &&
        rule.of.case === '95:5',
    ).map((claim) => claim.bound);
    expect(bounds.length).toBeGreaterThan(0);
    for (const own of bounds) expect(own).toEqual({ is: 'at least', value: bound });
  });
});
