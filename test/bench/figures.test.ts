import { atLeast, atMost, figureOf, isMet, quantile, type Row, ratioAtLeast, ratioOf } from './figures.js';
import { figureText, renderCells, renderTable, valueText } from './table.js';

const row = (more: Partial<Row> = {}): Row => ({
  benchmark: 'http-get',
  what: 'GET one key',
  unit: '/s',
  measured: figureOf([30_000, 28_000, 41_000]),
  limit: { what: 'bare Fastify', figure: figureOf([60_000, 10_000, 70_000]) },
  ...more,
});

describe('figures', () => {
  it('figures have as their median the middle sample, or the mean of the two in the middle', () => {
    expect(figureOf([5, 1, 9])).toEqual({ median: 5, min: 1, max: 9, samples: [5, 1, 9] });
    expect(figureOf([4, 1, 3, 2]).median).toBe(2.5);
    expect(() => figureOf([])).toThrow(RangeError);
  });

  it('figures have quantiles that are interpolated between neighbours', () => {
    const samples = Array.from({ length: 101 }, (_, i) => 100 - i);
    expect(quantile(samples, 0.99)).toBe(99);
    expect(quantile([0, 10], 0.25)).toBe(2.5);
  });

  it('figures are compared with their limit by medians, not by single rounds', () => {
    expect(ratioOf(row())).toBe(0.5);
    expect(ratioOf({ measured: figureOf([1]) })).toBeUndefined();
  });

  it('figures meet a target from the right side, the bound itself included', () => {
    expect(isMet(row({ target: ratioAtLeast(0.5) }))).toBe(true);
    expect(isMet(row({ target: ratioAtLeast(0.51) }))).toBe(false);
    expect(isMet(row({ target: atMost(30_000) }))).toBe(true);
    expect(isMet(row({ target: atMost(29_999) }))).toBe(false);
    expect(isMet(row({ target: atLeast(30_000) }))).toBe(true);
    expect(isMet(row({ target: atLeast(30_001) }))).toBe(false);
    expect(isMet(row())).toBeUndefined();
    expect(isMet({ measured: figureOf([1]), target: ratioAtLeast(0.1) })).toBe(false);
  });
});

describe('the table', () => {
  it('the table shows measured value, limit, ratio, target and verdict of each row', () => {
    const table = renderTable([
      row({ target: ratioAtLeast(0.6), latency: { p50Ms: 1.234, p99Ms: 20 }, cpuUs: { measured: 40, limit: 12.34 } }),
      { benchmark: 'waits', what: 'reads that waited', unit: '', measured: figureOf([0]), target: atMost(0) },
    ]);
    const texts = [
      'GET one key',
      '30,000/s (28,000–41,000)',
      '1.23 / 20',
      '60,000/s (10,000–70,000)',
      'bare Fastify',
      '0.500',
      '≥ 0.60',
      'NO',
      'limit 12.3 µs',
      'reads that waited',
      '≤ 0',
      'yes',
    ];
    for (const text of texts) expect(table).toContain(text);
  });

  it('the table shows only significant digits', () => {
    expect([valueText(1234.6, '/s'), valueText(12.34, 'ms'), valueText(1.234, 's'), valueText(0, '')]).toEqual([
      '1,235/s',
      '12.3 ms',
      '1.23 s',
      '0',
    ]);
    expect(figureText(figureOf([95.2]), 'MB')).toBe('95.2 MB');
  });

  it('the table leaves cells to a table of costs: a line for each part, a column for each workload, a dash without a measurement', () => {
    const cell = (line: string, column: string, value: number): Row => ({
      ...row({ measured: figureOf([value]), cell: { line, column } }),
      unit: 'µs',
    });
    const rows = [cell('storage', '19 + 1', 180), cell('tokens', '19 + 1', 30), cell('storage', '10 + 10', 400)];
    expect(renderTable(rows)).not.toContain('GET one key');
    const [table] = renderCells(rows) as [string];
    expect(table).toMatch(/storage, µs +│ 180 +│ 400/);
    expect(table).toMatch(/tokens, µs +│ 30 +│ –/);
    expect(renderCells([row()])).toEqual([]);
  });
});
