import fc from 'fast-check';
import { checkHistory } from './check.js';
import type { Op, Status, Transaction } from './history.js';
import type { Violation } from './violations.js';

/**
 * The definition, taken literally and slowly: a history is causally consistent when for some choice of which unknown
 * transactions happened and which delete each read of null saw, there is a total order of transactions that contains
 * happens-before and in which no transaction in a reader's past stands between the reader's version and the reader's past.
 * Shares no code with the checker.
 */
function isConsistent(history: readonly Transaction[]): boolean {
  const unknown = history.filter((t) => t.status === 'unknown');
  return subsets(unknown).some((happened) => {
    const real = history.filter((t) => t.status === 'committed' || happened.includes(t));
    return isConsistentWhen(real);
  });
}

interface Read {
  readonly reader: Transaction;
  readonly key: string;
  /** Null for the initial state. */
  readonly writer: Transaction | null;
}

function isConsistentWhen(real: readonly Transaction[]): boolean {
  const choices: Read[][] = [];
  for (const reader of real) {
    const own = new Map<string, string | null>();
    const seen = new Map<string, string | null>();
    for (const { f, k: key, v } of reader.ops) {
      // A recorder may list reads before writes, so a read of an own write may stand in front of it.
      const listedEarly = v !== null && reader.ops.some((op) => op.f === 'w' && op.k === key && op.v === v);
      if (f === 'w') own.set(key, v);
      else if (own.has(key)) {
        if (own.get(key) !== v) return false;
      } else if (seen.has(key)) {
        if (seen.get(key) !== v && !listedEarly) return false;
      } else {
        seen.set(key, v);
        if (listedEarly) continue;
        const writers: (Transaction | null)[] = real.filter((t) => t !== reader && lastWrite(t, key) === v);
        if (v === null) writers.push(null);
        choices.push(writers.map((writer) => ({ reader, key, writer })));
      }
    }
  }
  return product(choices).some((reads) => hasCommitOrder(real, reads));
}

/** What a transaction leaves behind for a key; undefined when it does not write it. */
const lastWrite = (t: Transaction, key: string): string | null | undefined =>
  t.ops.findLast((op) => op.f === 'w' && op.k === key)?.v;

function hasCommitOrder(real: readonly Transaction[], reads: readonly Read[]): boolean {
  const before = real.map((a) =>
    real.map(
      (b) =>
        (a.session === b.session && a.seq < b.seq && a.status === 'committed') ||
        reads.some((r) => r.writer === a && r.reader === b),
    ),
  );
  for (let k = 0; k < real.length; k++) {
    for (let i = 0; i < real.length; i++) {
      for (let j = 0; j < real.length; j++) before[i]![j] ||= before[i]![k]! && before[k]![j]!;
    }
  }
  const positions = real.map((_, i) => i);
  return permutations(positions).some((order) => {
    const place = new Map(order.map((t, i) => [real[t]!, i]));
    const respectsPast = real.every((a, i) => real.every((b, j) => !before[i]![j] || place.get(a)! < place.get(b)!));
    return respectsPast && reads.every((read) => isNewestInPast(read, real, before, place));
  });
}

function isNewestInPast(
  read: Read,
  real: readonly Transaction[],
  before: boolean[][],
  place: Map<Transaction, number>,
): boolean {
  const at = read.writer === null ? -1 : place.get(read.writer)!;
  const reader = real.indexOf(read.reader);
  return real.every(
    (other, i) =>
      other === read.writer ||
      lastWrite(other, read.key) === undefined ||
      !before[i]![reader] ||
      place.get(other)! < at,
  );
}

function subsets<T>(items: readonly T[]): T[][] {
  return items.reduce<T[][]>((all, item) => all.concat(all.map((set) => [...set, item])), [[]]);
}

function product<T>(choices: readonly T[][]): T[][] {
  return choices.reduce<T[][]>((all, options) => all.flatMap((head) => options.map((o) => [...head, o])), [[]]);
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, i) => permutations(items.filter((_, j) => j !== i)).map((rest) => [item, ...rest]));
}

interface Shape {
  readonly deletes: boolean;
  readonly statuses: readonly Status[];
  readonly maxTx: number;
}

/** Small histories whose reads mostly return something that was written to their key, so that many are consistent. */
function histories({ deletes, statuses, maxTx }: Shape): fc.Arbitrary<Transaction[]> {
  const op = fc.record({ write: fc.boolean(), key: fc.constantFrom('x', 'y', 'z'), pick: fc.nat(60) });
  const tx = fc.record({
    session: fc.constantFrom('a', 'b', 'c'),
    status: fc.constantFrom(...statuses),
    ops: fc.array(op, { minLength: 1, maxLength: 3 }),
  });
  return fc.array(tx, { minLength: 2, maxLength: maxTx }).map((plans) => {
    let values = 0;
    const written: Record<string, (string | null)[]> = { x: [null], y: [null], z: [null] };
    const writes = plans.map((plan) =>
      plan.ops.map(({ write, key, pick }) => {
        if (!write) return null;
        const v = deletes && pick % 3 === 0 ? null : `v${values++}`;
        if (v !== null) written[key]!.push(v);
        return v;
      }),
    );
    const seqs = new Map<string, number>();
    return plans.map((plan, t) => {
      const seq = seqs.get(plan.session) ?? 0;
      seqs.set(plan.session, seq + 1);
      const ops = plan.ops.map(({ write, key, pick }, i): Op => {
        if (write) return { f: 'w', k: key, v: writes[t]![i]! };
        return { f: 'r', k: key, v: written[key]![pick % written[key]!.length]! };
      });
      return { session: plan.session, seq, tx: `t${t}`, status: plan.status, ops };
    });
  });
}

/** Each step of a counterexample begins where the one before ended; one that ends in the initial state has nowhere to go on. */
function expectClosed({ cycle, transactions }: Violation): void {
  expect(transactions.length).toBeGreaterThan(0);
  if (cycle.at(-1)?.to === null) return;
  cycle.forEach((step, i) => {
    expect(step.to).toEqual(cycle[(i + 1) % cycle.length]!.from);
  });
}

describe('the checker against the definition', () => {
  it('agrees on histories of committed transactions', () => {
    const tally = { consistent: 0, wrong: 0 };
    fc.assert(
      fc.property(histories({ deletes: false, statuses: ['committed'], maxTx: 6 }), (history) => {
        const expected = isConsistent(history);
        tally[expected ? 'consistent' : 'wrong']++;
        const verdict = checkHistory(history);
        expect(verdict.ok).toBe(expected);
        if (!verdict.ok) for (const violation of verdict.violations) expectClosed(violation);
      }),
      { numRuns: 3000, seed: 20_250_101 },
    );
    // Neither side of the comparison may be empty.
    expect(Math.min(tally.consistent, tally.wrong)).toBeGreaterThan(300);
  });

  it('agrees on histories with aborted and unknown transactions', () => {
    const tally = { consistent: 0, wrong: 0 };
    const statuses: Status[] = ['committed', 'committed', 'unknown', 'aborted'];
    fc.assert(
      fc.property(histories({ deletes: false, statuses, maxTx: 6 }), (history) => {
        const expected = isConsistent(history);
        tally[expected ? 'consistent' : 'wrong']++;
        expect(checkHistory(history).ok).toBe(expected);
      }),
      { numRuns: 2000, seed: 20_250_102 },
    );
    expect(Math.min(tally.consistent, tally.wrong)).toBeGreaterThan(200);
  });

  it('never refuses a consistent history with deletes, and rarely misses an inconsistent one', () => {
    const tally = { consistent: 0, wrong: 0, missed: 0 };
    const statuses: Status[] = ['committed', 'committed', 'committed', 'unknown'];
    fc.assert(
      fc.property(histories({ deletes: true, statuses, maxTx: 5 }), (history) => {
        const expected = isConsistent(history);
        const { ok } = checkHistory(history);
        tally[expected ? 'consistent' : 'wrong']++;
        if (expected) expect(ok).toBe(true);
        else if (ok) tally.missed++;
      }),
      { numRuns: 2000, seed: 20_250_103 },
    );
    expect(Math.min(tally.consistent, tally.wrong)).toBeGreaterThan(200);
    expect(tally.missed / tally.wrong).toBeLessThan(0.05);
  });
});
