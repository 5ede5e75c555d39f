import { number, table } from '../markdown.js';
import { renderPlot } from '../plot.js';
import type { Claim } from './claim.js';
import { CLAIMS } from './claims.js';
import { EXPERIMENTS } from './experiments.js';
import { REPORT_FILE, renderReport } from './report.js';
import { CASE, EXPERIMENT, recorded, round, runOf } from './testing.js';

const place = (system: string) => ({ system, case: CASE });
const claim = (more: Partial<Claim>): Claim => ({
  experiment: EXPERIMENT.name,
  claim: 'throughput of Fast over Slow',
  paper: 'up to 1.5×',
  rule: { kind: 'curves', quantity: { is: 'throughput' }, of: place('Fast'), to: place('Slow'), at: 'peak' },
  unit: '×',
  ...more,
});
const render = (run = runOf([recorded()]), claims: readonly Claim[] = [claim({})]) =>
  renderReport(run, claims, 'npm run bench:papers');
const textOf = (files: ReadonlyMap<string, string>) => files.get(REPORT_FILE)!;

describe('the report', () => {
  it('the report names its machine, sources, seed and command', () => {
    const text = textOf(render());
    for (const part of ['2 × a processor', 'commit abc123', 'Seed 42', '3 rounds of 5 s', '`npm run bench:papers`']) {
      expect(text).toContain(part);
    }
    expect(text).not.toContain('quick run');
  });

  it('the report compares each claim with the measured figure, its bound and its conditions', () => {
    const text = textOf(
      render(runOf([recorded()]), [
        claim({ bound: { is: 'at least', value: 1.1 } }),
        claim({ claim: 'the same, more', bound: { is: 'at least', value: 1.4 } }),
        claim({ claim: 'of no system', rule: { kind: 'keys held', of: 'Missing', to: 'Slow' } }),
        claim({ claim: 'of another run', experiment: 'another' }),
      ]),
    );
    expect(text).toContain(
      '| throughput of Fast over Slow | up to 1.5× | 1.2× | ≥ 1.1× | yes | fast-vs-slow, 3 regions, at 20 and 40 sessions |  |',
    );
    expect(text).toMatch(/\| the same, more \| up to 1\.5× \| 1\.2× \| ≥ 1\.4× \| \*\*no\*\* \|.*share 2 cores/);
    expect(text).toMatch(/\| of no system \|.*\| not measured \|/);
    expect(text).not.toContain('of another run');
  });

  it('the report shows every point of every system, and the distribution of visibility', () => {
    const text = textOf(render());
    expect(text).toContain('| Fast | 10 | 1,000 | 10 | 10 | 20 | 30 | 100 |');
    expect(text).toContain('| Slow | 40 | 1,250 | 120 | 120 | 240 | 360 | 100 |');
    expect(text).toContain('| Fast, remote | 2 | 60 | 69 | 69.8 | 70 | 0 |');
    expect(text).not.toContain('Slow, local');
    // The axis of a plot ends behind its largest value, 70 ms.
    expect(render().get('fast-vs-slow-visibility.svg')).toMatch(/>[6-8]0</);
  });

  it('the report has a plot for each that it refers to, and no other', () => {
    const files = render();
    const referred = [...textOf(files).matchAll(/\]\((.*\.svg)\)/g)].map(([, file]) => file!);
    expect(referred).toEqual(['fast-vs-slow-95-5.svg', 'fast-vs-slow-visibility.svg']);
    expect([...files.keys()]).toEqual([REPORT_FILE, ...referred]);
    for (const file of referred) expect(files.get(file)).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
  });

  it('the report of a quick run is marked as no measurement', () => {
    const { settings } = runOf([]);
    expect(textOf(render(runOf([], { settings: { ...settings, quick: true } })))).toContain('measures nothing');
  });

  it('the report lists missing measurements, and metrics that the nodes do not count', () => {
    const systems = [{ name: 'Fast' }, { name: 'Slow', absent: 'no such protocol' }];
    const failures = [{ experiment: 'other', error: 'the disk is full' }];
    const text = textOf(render(runOf([recorded({ systems })], { failures })));
    expect(text).toContain('- Slow was not measured: no such protocol');
    expect(text).toContain('- other failed: the disk is full\n');
    expect(text).toContain('do not count `isochron_metadata_bytes_total`');
    expect(text).not.toContain('do not count `isochron_blocked_reads_total`');
  });

  it('the report shows writes beside reads for single operations', () => {
    const { points: all } = recorded();
    const latencies = {
      read: all[0]!.rounds[0]!.latencies.transaction!,
      write: all[3]!.rounds[0]!.latencies.transaction!,
    };
    const points = [10, 20].map((sessions) => ({ ...all[0]!, sessions, rounds: [{ ...round(10, 1), latencies }] }));
    const files = render(runOf([recorded({ points })]));
    expect(textOf(files)).toContain('| Fast | 10 | 10 | 10 | 10 | 20 | 30 | 100 | 100 | 300 |');
    expect(files.get('fast-vs-slow-95-5.svg')).toContain('mean read latency');
  });

  it('the report can be rendered for every experiment and claim, with or without measurements', () => {
    const records = EXPERIMENTS.map((experiment) => ({
      experiment,
      systems: experiment.systems.map(({ name }) => ({ name, absent: 'not yet' })),
      points: [],
      visibility: [],
      failures: [],
    }));
    const text = textOf(render(runOf(records), CLAIMS));
    expect(text.match(/\| not measured \|/g)).toHaveLength(CLAIMS.length);
    for (const { name } of EXPERIMENTS) expect(text).toContain(`## ${name}\n`);
  });
});

describe('a plot', () => {
  it('a plot shows title, axes and the name of each series', () => {
    const series = [
      { name: 'one', points: [[1, 10] as const, [2, 1000] as const] },
      { name: 'two', points: [] },
    ];
    const svg = renderPlot({ title: 'A & B', x: 'load', y: 'ms', logarithmic: true, dots: true, series });
    for (const text of ['A &amp; B', 'load', 'ms', 'one', 'two', '1,000']) expect(svg).toContain(`>${text}<`);
  });
});

describe('Markdown', () => {
  it('a Markdown table aligns numbers to the right, and keeps cells in their line', () => {
    expect(table(['a', 'b'], [['x|y', '1\n2']], true)).toBe('| a | b |\n| --- | ---: |\n| x\\|y | 1 2 |');
  });

  it('Markdown numbers have only significant digits', () => {
    expect([number(undefined), number(0), number(0.01234), number(1.234), number(12.34), number(12345.6)]).toEqual([
      '–',
      '0',
      '0.0123',
      '1.23',
      '12.3',
      '12,346',
    ]);
  });
});
