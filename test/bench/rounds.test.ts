import { repeat } from './load/window.js';
import { type Contender, cpuOf, rowParts, type Sample, takeTurns } from './rounds.js';

const sample = (operations: number, more: Partial<Sample> = {}): Sample => ({
  operations,
  elapsedMs: 2000,
  cpuUs: undefined,
  ...more,
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

  it('rounds alternate limit and subject after a warm-up that is not counted', async () => {
    const log: string[] = [];
    const rounds: number[] = [];
    const onRound = (round: number) => rounds.push(round);
    const samples = await takeTurns(recorder(log), { rounds: 2, durationMs: 1000, onRound });
    expect(log).toEqual(['limit0:500', 'subject0:500', 'limit1:1000', 'subject1:1000', 'limit2:1000', 'subject2:1000']);
    expect(rounds).toEqual([0, 1, 2]);
    expect(samples.subject).toHaveLength(2);
  });

  it('rounds fail if one has no operation', async () => {
    const options = { rounds: 1, durationMs: 1000, onRound: () => undefined };
    await expect(takeTurns(recorder([], 0), options)).rejects.toThrow(/not a single operation/);
  });

  it('rounds become rates per second, medians of percentiles, and CPU time if the system reports it', () => {
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
  it('loops within a window of time repeat an operation each, and report its result', async () => {
    const ended: number[] = [];
    const counts = [0, 0];
    const operation = async (loop: number) => {
      counts[loop]!++;
      await new Promise(setImmediate);
      return loop;
    };
    await repeat({ loops: 2, durationMs: 50, operation, ended: (_elapsedMs, loop) => ended.push(loop) });
    expect(new Set(ended)).toEqual(new Set([0, 1]));
    // An operation that did not end within the window is not reported.
    expect(ended.length).toBeGreaterThanOrEqual(counts[0]! + counts[1]! - 2);
  });

  it('loops within a window of time count operations that end before it, without a report', async () => {
    let ended = 0;
    const operation = () => new Promise(setImmediate);
    const all = await repeat({ loops: 1, leadInMs: 50, durationMs: 0, operation, ended: () => ended++ });
    expect(ended).toBeLessThanOrEqual(1);
    expect(all).toBeGreaterThan(ended);
  });

  it('loops within a window of time all end when one fails', async () => {
    const endless = 3_600_000;
    const operation = async (loop: number) => {
      await new Promise(setImmediate);
      if (loop === 1) throw new Error('the node is gone');
    };
    await expect(repeat({ loops: 3, durationMs: endless, operation, ended: () => undefined })).rejects.toThrow(/gone/);
  });
});

describe('a warm-up by operations', () => {
  const options = { rounds: 1, durationMs: 1000, onRound: () => undefined };
  const counting = (operations: number, pids: readonly number[], log: number[], workload?: string): Contender => ({
    pids,
    ...(workload !== undefined && { workload }),
    run: async (durationMs, round) => {
      log.push(round);
      return { operations, elapsedMs: durationMs };
    },
  });

  it('a warm-up by operations continues until each process has done its operations', async () => {
    const log: number[] = [];
    await takeTurns({ a: counting(10, [process.pid, process.pid], log) }, { ...options, warmUpOperations: 20 });
    expect(log).toEqual([0, 0, 0, 0, 1]);
  });

  it('a warm-up by operations is shared by contenders of one workload, and by no others', async () => {
    const log: number[] = [];
    const same = () => counting(10, [], log, 'reads');
    await takeTurns({ a: same(), b: same(), c: counting(10, [], log) }, { ...options, warmUpOperations: 10 });
    expect(log).toEqual([0, 0, 1, 1, 1]);
  });
});

describe('CPU time', () => {
  it('CPU time of servers and load generators is added up round by round, and undefined if one of them is', () => {
    const both = [sample(1, { cpuUs: 300, clientCpuUs: 50 }), sample(1, { cpuUs: 320, clientCpuUs: 60 })];
    expect(cpuOf(both)?.samples).toEqual([350, 380]);
    expect(cpuOf([...both, sample(1, { cpuUs: 1 })])).toBeUndefined();
  });
});
