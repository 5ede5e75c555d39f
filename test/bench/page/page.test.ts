import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atMost, figureOf, ratioAtLeast } from '../figures.js';
import { readMeasured, writePage } from './files.js';
import { decodeMeasured, encodeMeasured, type MeasuredBenchmark, mergeMeasured, NOTHING_MEASURED } from './measured.js';
import { PAGE_FILE, renderPage } from './page.js';

const conditions: MeasuredBenchmark['conditions'] = {
  machine: {
    cpu: 'a processor',
    cores: 2,
    memoryBytes: 2 ** 33,
    system: 'linux 6.1',
    node: 'v20.1.0',
    fileSystem: 'ext4',
  },
  seed: 42,
  rounds: 3,
  durationMs: 5000,
  keysPerPartition: 10_000,
  warmUpOperations: 10_000,
  quick: false,
};
const benchmark = (more: Partial<MeasuredBenchmark> = {}): MeasuredBenchmark => ({
  name: 'http-get',
  about: 'GET one key over HTTP ÷ bare Fastify',
  date: '2026-01-31',
  conditions,
  others: 0.01,
  rows: [
    {
      what: 'GET one key',
      unit: '/s',
      measured: figureOf([30_000, 28_000, 41_000]),
      limit: { what: 'bare Fastify', figure: figureOf([60_000]) },
      target: ratioAtLeast(0.6),
      latency: { p50Ms: 1.2, p99Ms: 20 },
      cpuUs: { measured: 40, limit: 12 },
    },
  ],
  ...more,
});
const point = (sessions: number, rate: number): MeasuredBenchmark['rows'][number] => ({
  what: `transactions of ${sessions} sessions`,
  unit: '/s',
  measured: figureOf([rate]),
  latency: { p50Ms: sessions, p99Ms: 2 * sessions },
  point: { over: 'sessions', series: '19 + 1', x: sessions },
});
const textOf = (...benchmarks: MeasuredBenchmark[]): string => renderPage({ benchmarks }).get(PAGE_FILE)!;

describe('the page', () => {
  it('the page shows each target with its figure, the bound, and whether it is met', () => {
    const row = { what: 'memory', unit: 'MB', measured: figureOf([100]), target: atMost(120) } as const;
    const text = textOf(benchmark(), benchmark({ name: 'idle', rows: [row] }));
    expect(text).toContain('| GET one key | 0.5 of bare Fastify | ≥ 0.60 | **missed** |');
    expect(text).toContain('| memory | 100 MB | ≤ 120 MB | met |');
  });

  it('the page shows each row with its range, latency, limit, ratio and CPU time', () => {
    expect(textOf(benchmark())).toContain(
      '| GET one key | 30,000/s (28,000–41,000) | 1.2 / 20 | 60,000/s, bare Fastify | 0.5 | 40 (12) |',
    );
  });

  it('the page names machine, rounds, warm-up and seed, for each group of benchmarks that shares them', () => {
    const page = textOf(benchmark(), benchmark({ name: 'idle' }), benchmark({ name: 'keys', date: '2026-02-01' }));
    const text = page.replace(/\s+/g, ' ');
    expect(text).toContain('- `http-get`, `idle`: 2026-01-31, 2 × a processor, 8 GiB, linux 6.1, ext4, Node v20.1.0;');
    expect(text).toContain(
      '3 rounds of 5 s in turn, warm-up 10,000 operations a process; 10,000 keys a partition, seed 42.',
    );
    expect(text).toContain('- `keys`: 2026-02-01');
  });

  it('the page marks figures of a loaded machine, and of a quick run', () => {
    const page = textOf(benchmark({ others: 0.4, conditions: { ...conditions, quick: true } }));
    const text = page.replace(/\s+/g, ' ');
    expect(text).toContain('**Others used the machine meanwhile: `http-get`.**');
    expect(text).toContain('**missed**, on a loaded machine');
    expect(text).toContain('**A quick run: it measures nothing.**');
    expect(textOf(benchmark({ others: 0.1 }))).not.toContain('Others used');
  });

  it('the page has plots of throughput and latency for the rows that are points, and refers to each', () => {
    const files = renderPage({ benchmarks: [benchmark({ rows: [point(1, 100), point(8, 500), point(32, 700)] })] });
    const plots = [...files.keys()].filter((file) => file !== PAGE_FILE);
    expect(plots).toEqual(['performance/sessions-throughput.svg', 'performance/sessions-latency.svg']);
    for (const file of plots) {
      expect(files.get(PAGE_FILE)).toContain(`](${file})`);
      expect(files.get(file)).toMatch(/^<svg [\s\S]*19 \+ 1[\s\S]*<\/svg>\n$/);
    }
  });

  it('the page shows costs as one table', () => {
    const cell = (line: string, column: string) =>
      ({ what: line, unit: 'µs', measured: figureOf([12]), cell: { line, column } }) as const;
    const text = textOf(benchmark({ rows: [cell('storage', '19 + 1'), cell('storage', '10 + 10')] }));
    expect(text).toContain('| of an operation | 19 + 1 | 10 + 10 |\n| --- | ---: | ---: |\n| storage, µs | 12 | 12 |');
  });

  it('the page shows a note of several rows once', () => {
    const row = { ...point(1, 100), note: 'Nothing was traced.' };
    expect(textOf(benchmark({ rows: [row, row] })).match(/^Nothing was traced\.$/gm)).toHaveLength(1);
  });

  it('the page without measurements states that', () => {
    expect(renderPage(NOTHING_MEASURED).get(PAGE_FILE)).toContain('Nothing was measured yet.');
  });
});

describe('what was measured', () => {
  it('measurements are the same after they were written and read', () => {
    const measured = { benchmarks: [benchmark()] };
    expect(decodeMeasured(encodeMeasured(measured))).toEqual(measured);
  });

  it('measurements are rounded to four digits unless they are whole numbers', () => {
    const measured = { benchmarks: [benchmark({ others: 0.123456 })] };
    expect(decodeMeasured(encodeMeasured(measured)).benchmarks[0]?.others).toBe(0.1235);
  });

  it.each(['{}', '{"format":1}', '{"format":2,"benchmarks":[]}', '{"format":1,"benchmarks":[{"name":"a"}]}', 'null'])(
    'a file of measurements is refused with %s',
    (text) => {
      expect(() => decodeMeasured(text)).toThrow();
    },
  );

  it('new measurements replace older figures of the same benchmarks only, in the order of the page', () => {
    const before = { benchmarks: [benchmark({ name: 'a' }), benchmark({ name: 'c' })] };
    const anew = { benchmarks: [benchmark({ name: 'c', date: '2026-03-03' }), benchmark({ name: 'b' })] };
    const { benchmarks } = mergeMeasured(before, anew, ['a', 'b', 'c']);
    expect(benchmarks.map(({ name, date }) => [name, date])).toEqual([
      ['a', '2026-01-31'],
      ['b', '2026-01-31'],
      ['c', '2026-03-03'],
    ]);
  });
});

describe('the files of the page', () => {
  const docs = mkdtempSync(join(tmpdir(), 'isochron-page-'));
  afterAll(() => rmSync(docs, { recursive: true, force: true }));

  it('the files of the page hold their measurements, and no plot that the page no longer has', () => {
    expect(readMeasured(docs)).toEqual(NOTHING_MEASURED);
    writePage(docs, { benchmarks: [benchmark({ rows: [point(1, 100), point(8, 500)] })] });
    expect(existsSync(join(docs, 'performance/sessions-latency.svg'))).toBe(true);
    const measured = { benchmarks: [benchmark()] };
    writePage(docs, measured);
    expect(existsSync(join(docs, 'performance/sessions-latency.svg'))).toBe(false);
    expect(readMeasured(docs)).toEqual(measured);
    expect(readFileSync(join(docs, PAGE_FILE), 'utf8')).toBe(renderPage(measured).get(PAGE_FILE));
    writeFileSync(join(docs, 'performance/measured.json'), '{"format":9}');
    expect(() => readMeasured(docs)).toThrow(/npm run bench -- --page docs/);
  });
});
