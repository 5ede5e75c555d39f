import { atMost, figureOf, isMet, quantile, type Row, ratioAtLeast, ratioOf } from './figures.js';
import { repeat } from './load/window.js';
import { cpuMs, parseCpuMs } from './proc.js';
import { busiestFunctions, profileText } from './profile.js';
import { type Contender, rowParts, type Sample, takeTurns } from './rounds.js';
import { figureText, renderTable, valueText } from './table.js';

const sample = (operations: number, more: Partial<Sample> = {}): Sample => ({
  operations,
  elapsedMs: 2000,
  cpuUs: undefined,
  ...more,
});

const row = (more: Partial<Row> = {}): Row => ({
  benchmark: 'http-get',
  what: 'GET one key',
  unit: '/s',
  measured: figureOf([30_000, 28_000, 41_000]),
  limit: { what: 'bare Fastify', figure: figureOf([60_000, 10_000, 70_000]) },
  ...more,
});

describe('figures', () => {
  it('have the middle sample as their median, or what lies between the two in the middle', () => {
    expect(figureOf([5, 1, 9])).toEqual({ median: 5, min: 1, max: 9, samples: [5, 1, 9] });
    expect(figureOf([4, 1, 3, 2]).median).toBe(2.5);
    expect(() => figureOf([])).toThrow(RangeError);
  });

  it('have quantiles between neighbours in proportion', () => {
    const samples = Array.from({ length: 101 }, (_, i) => 100 - i);
    expect(quantile(samples, 0.99)).toBe(99);
    expect(quantile([0, 10], 0.25)).toBe(2.5);
  });

  it('stand to their limit as median to median, whatever single rounds were like', () => {
    expect(ratioOf(row())).toBe(0.5);
    expect(ratioOf({ measured: figureOf([1]) })).toBeUndefined();
  });

  it('meet a target from the right side, the bound itself included', () => {
    expect(isMet(row({ target: ratioAtLeast(0.5) }))).toBe(true);
    expect(isMet(row({ target: ratioAtLeast(0.51) }))).toBe(false);
    expect(isMet(row({ target: atMost(30_000) }))).toBe(true);
    expect(isMet(row({ target: atMost(29_999) }))).toBe(false);
    expect(isMet(row())).toBeUndefined();
    expect(isMet({ measured: figureOf([1]), target: ratioAtLeast(0.1) })).toBe(false);
  });
});

describe('the table', () => {
  it('shows measured value, limit, ratio, target and verdict of each row', () => {
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

  it('gives values as many digits as say something', () => {
    expect([valueText(1234.6, '/s'), valueText(12.34, 'ms'), valueText(1.234, 's'), valueText(0, '')]).toEqual([
      '1,235/s',
      '12.3 ms',
      '1.23 s',
      '0',
    ]);
    expect(figureText(figureOf([95.2]), 'MB')).toBe('95.2 MB');
  });
});

describe('rounds', () => {
  const recorder = (log: string[], operations = 10) => {
    const contender = (name: string): Contender => ({
      pids: [],
      run: async (durationMs, round) => {
        log.push(`${name}${round}:${durationMs}`);
        return { operations, elapsedMs: durationMs };
      },
    });
    return { limit: contender('limit'), subject: contender('subject') };
  };

  it('let limit and subject take turns after a warm-up that is not counted', async () => {
    const log: string[] = [];
    const rounds: number[] = [];
    const onRound = (round: number) => rounds.push(round);
    const samples = await takeTurns(recorder(log), { rounds: 2, durationMs: 1000, onRound });
    expect(log).toEqual(['limit0:500', 'subject0:500', 'limit1:1000', 'subject1:1000', 'limit2:1000', 'subject2:1000']);
    expect(rounds).toEqual([0, 1, 2]);
    expect(samples.subject).toHaveLength(2);
  });

  it('fail when nothing was done in one, rather than to count it', async () => {
    const options = { rounds: 1, durationMs: 1000, onRound: () => undefined };
    await expect(takeTurns(recorder([], 0), options)).rejects.toThrow(/not a single operation/);
  });

  it('become rates per second, medians of percentiles, and CPU time where the system says it', () => {
    const subject = [100, 300, 200].map((operations, i) =>
      sample(operations, { cpuUs: i, latency: { p50Ms: i, p99Ms: 10 * i } }),
    );
    const parts = rowParts(subject, { what: 'limit', samples: [sample(1000, { cpuUs: 7 })] });
    expect(parts.measured.samples).toEqual([50, 150, 100]);
    expect(parts.limit?.figure.median).toBe(500);
    expect(parts.latency).toEqual({ p50Ms: 1, p99Ms: 10 });
    expect(parts.cpuUs).toEqual({ measured: 1, limit: 7 });
    expect(rowParts([sample(1)])).toMatchObject({ latency: undefined, cpuUs: undefined, limit: undefined });
  });
});

describe('loops within a window of time', () => {
  it('repeat an operation each, and tell what came of it', async () => {
    const ended: number[] = [];
    const counts = [0, 0];
    const operation = async (loop: number) => {
      counts[loop]!++;
      await new Promise(setImmediate);
      return loop;
    };
    await repeat({ loops: 2, durationMs: 50, operation, ended: (_elapsedMs, loop) => ended.push(loop) });
    expect(new Set(ended)).toEqual(new Set([0, 1]));
    // What did not end within the window is not told.
    expect(ended.length).toBeGreaterThanOrEqual(counts[0]! + counts[1]! - 2);
  });

  it('tell nothing of what ends before the window begins, and count it', async () => {
    let ended = 0;
    const operation = () => new Promise(setImmediate);
    const all = await repeat({ loops: 1, leadInMs: 50, durationMs: 0, operation, ended: () => ended++ });
    expect(ended).toBeLessThanOrEqual(1);
    expect(all).toBeGreaterThan(ended);
  });

  it('all end when one fails', async () => {
    const endless = 3_600_000;
    const operation = async (loop: number) => {
      await new Promise(setImmediate);
      if (loop === 1) throw new Error('the node is gone');
    };
    await expect(repeat({ loops: 3, durationMs: endless, operation, ended: () => undefined })).rejects.toThrow(/gone/);
  });
});

describe('/proc/<pid>/stat', () => {
  it('gives user and system time, also of a process whose name looks like fields', () => {
    const stat = '42 (node) 1 2) S 1 42 42 0 -1 4194304 9000 0 0 0 250 50 3 4 20 0 11 0 100 1000000 2000';
    expect(parseCpuMs(stat)).toBe(3000);
  });

  it('is refused when it is something else', () => {
    expect(() => parseCpuMs('42 (node) S 1')).toThrow(/not the text/);
  });

  it('counts the time of this process where there is one', () => {
    const spent = cpuMs(process.pid);
    if (process.platform === 'linux') expect(spent).toBeGreaterThan(0);
    else expect(spent).toBeUndefined();
  });
});

describe('a CPU profile', () => {
  const frame = (id: number, functionName: string, url = '') => ({
    id,
    callFrame: { functionName, url, lineNumber: 6 },
  });
  const profile = {
    nodes: [
      frame(1, '(idle)'),
      frame(2, 'read', 'file:///home/me/it/packages/storage/dist/store.js'),
      frame(3, '(garbage collector)'),
      frame(4, 'read', 'file:///home/me/it/packages/storage/dist/store.js'),
    ],
    samples: [1, 2, 3, 4],
    timeDeltas: [9000, 500, 100, 400],
  };

  it('is summed over the places that a function was called from, without the time that nothing ran', () => {
    const [first, second] = busiestFunctions(profile, 5);
    expect(first).toEqual({ name: 'read storage/dist/store.js:7', share: 0.9 });
    expect(second?.share).toBeCloseTo(0.1);
    expect(busiestFunctions(profile, 1)).toHaveLength(1);
  });

  it('is shown with the process it is of', () => {
    expect(profileText('node', busiestFunctions(profile, 1))).toBe('node:\n   90.0 %  read storage/dist/store.js:7');
  });
});
