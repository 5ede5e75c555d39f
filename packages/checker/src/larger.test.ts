import { Random } from '@isochron/core';
import { checkHistory } from './check.js';
import type { Verdict } from './explanation/violations.js';
import type { HistoryRecord, Op, Transaction } from './input/history.js';
import { type ModelOptions, type ModelPromise, modelHistory } from './model.js';
import { HistoryTooLargeError } from './order/clocks.js';
import { type Guarantee, LEVELS, type LevelName } from './rules/guarantees.js';

const SHAPE = { sessions: 12, transactions: 4000, keys: 50, opsPerTx: 6, maxLag: 60 };
const SEEDS = [1, 2, 3, 4];

/** A model's history, and the final values of two replicas. */
function withFinalStates(options: ModelOptions): HistoryRecord[] {
  const records: HistoryRecord[] = [];
  const transactions = modelHistory(options);
  for (;;) {
    const next = transactions.next();
    if (next.done) return [...records, { replica: 'r1', final: next.value }, { replica: 'r2', final: next.value }];
    records.push(next.value);
  }
}

const violatedBy = ({ guarantees }: Verdict): Guarantee[] =>
  (Object.keys(guarantees) as Guarantee[]).filter((guarantee) => guarantees[guarantee] === 'violated');

describe('larger histories', () => {
  it.each(SEEDS)('larger histories of a causally consistent model are accepted (seed %p)', (seed) => {
    const verdict = checkHistory(withFinalStates({ ...SHAPE, seed }));
    expect(verdict).toMatchObject({ ok: true, guarantees: { durability: 'holds', convergence: 'holds' } });
  });

  it.each(SEEDS)('larger histories with deletes, aborts and unknown outcomes are accepted (seed %p)', (seed) => {
    const odd = { deleteRatio: 0.1, abortRatio: 0.05, unknownRatio: 0.1 };
    const verdict = checkHistory(withFinalStates({ ...SHAPE, ...odd, seed }));
    expect(verdict).toMatchObject({ ok: true });
    expect(verdict.stats.observedUnknown).toBeGreaterThan(32);
  });

  it.each(SEEDS)(
    'larger histories are refused once a single read returns a version older than before (seed %p)',
    (seed) => {
      const transactions = [...modelHistory({ ...SHAPE, seed })];
      const verdict = checkHistory(withOlderVersion(transactions));
      expect(verdict.violations.map(({ name }) => name)).toEqual(['monotonic-reads']);
      expect(violatedBy(verdict)).toEqual(expect.arrayContaining(['monotonic-reads', 'causal-convergence']));
    },
  );

  it.each(SEEDS)(
    'larger histories are refused once a single acknowledged write is gone in the end (seed %p)',
    (seed) => {
      const records = withFinalStates({ ...SHAPE, seed });
      const lost = records.map((record) =>
        'final' in record
          ? { ...record, final: record.final.map((held, i) => (i === 7 ? { ...held, v: null } : held)) }
          : record,
      );
      expect(violatedBy(checkHistory(lost))).toEqual(['causal-convergence', 'durability']);
    },
  );

  it('larger histories are refused when happens-before would not fit in the memory allowed', () => {
    const run = () => checkHistory(modelHistory({ ...SHAPE, seed: 1 }), { maxClockBytes: 1000 });
    expect(run).toThrow(HistoryTooLargeError);
  });
});

/** A session that read a new version of a key early reads the old one late. */
function withOlderVersion(transactions: readonly Transaction[]): Transaction[] {
  const write = (seq: number, v: string): Transaction => {
    return { session: 'w', seq, tx: `w${seq}`, status: 'committed', ops: [{ f: 'w', k: 'probe', v }] };
  };
  const mine = transactions.filter((t) => t.session === 'c3');
  const [early, late] = [mine[5]!, mine.at(-1)!];
  const withRead = (t: Transaction, v: string): Transaction => ({ ...t, ops: [...t.ops, { f: 'r', k: 'probe', v }] });
  const changed = transactions.map((t) => (t === early ? withRead(t, 'new') : t === late ? withRead(t, 'old') : t));
  return [write(0, 'old'), write(1, 'new'), ...changed];
}

describe('stores that promise less', () => {
  const cases: [ModelPromise, LevelName, Guarantee[]][] = [
    ['atomic', 'read-atomic', ['read-your-writes', 'monotonic-reads']],
    ['operations', 'causal-operations', ['read-atomicity']],
    ['eventual', 'eventual', ['read-your-writes', 'monotonic-reads', 'read-atomicity', 'internal-consistency']],
  ];
  const small = { ...SHAPE, transactions: 800 };

  it.each(cases)('stores that promise %s keep the level %s and are caught breaking more', (promise, level, broken) => {
    const history = withFinalStates({ ...small, promise, seed: 5 });
    expect(checkHistory(history, { level: LEVELS[level] })).toMatchObject({ ok: true, found: 0 });
    const verdict = checkHistory(history);
    expect(verdict.ok).toBe(false);
    expect(violatedBy(verdict)).toEqual(expect.arrayContaining([...broken, 'causal-convergence']));
    expect(verdict.violations.flatMap(({ breaks }) => breaks)).toEqual(expect.arrayContaining(broken));
  });

  it('stores with read-only transactions keep them whole and write by single operations', () => {
    const causal = withFinalStates({ ...small, seed: 6, writeRatio: 0.3 });
    const single = withFinalStates({ ...small, seed: 6, promise: 'operations', writeRatio: 0.3 });
    const level = LEVELS['causal-with-read-only-transactions'];
    expect(checkHistory(causal, { level }).ok).toBe(true);
    // Reads without a snapshot are detected, even with few read-only transactions.
    expect(violatedBy(checkHistory(single, { level }))).toContain('causal-convergence');
  });

  it('histories of weaker stores are judged by operation exactly as if each operation had been recorded by itself', () => {
    for (let seed = 0; seed < 40; seed++) {
      const history = spoilt([...modelHistory({ ...small, transactions: 60, promise: 'operations', seed })], seed);
      const recorded = history.flatMap((t) => t.ops.map((op, i) => ({ ...t, seq: t.seq * 100 + i, ops: [op] })));
      const byOperation = checkHistory(history, { level: LEVELS['causal-operations'] });
      expect(byOperation.guarantees).toEqual(checkHistory(recorded).guarantees);
      expect(byOperation.found).toBe(checkHistory(recorded).found);
    }
  });

  /** Changes some reads to another version. */
  function spoilt(history: readonly Transaction[], seed: number): Transaction[] {
    const random = new Random(seed);
    const values = history.flatMap(({ ops }) => ops.filter(({ f }) => f === 'w'));
    const spoil = (op: Op): Op => {
      if (op.f === 'w' || !random.chance(0.02)) return op;
      return { ...op, v: random.pick([null, ...values.filter(({ k }) => k === op.k).map(({ v }) => v)]) };
    };
    return history.map((t) => ({ ...t, ops: t.ops.map(spoil) }));
  }
});
