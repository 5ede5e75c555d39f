import fc from 'fast-check';
import { checkHistory } from './check.js';
import type { Op, Transaction } from './input/history.js';
import type { Guarantee } from './rules/guarantees.js';

/*
 * The checker against definitions of others, written down as they are published. They cover committed transactions
 * whose values are unique, without deletes.
 */

/**
 * One transaction: the session, and per key a write, a read (of a transaction by number, or of the initial state), or
 * no operation.
 */
interface Plan {
  readonly session: string;
  readonly ops: readonly { readonly key: string; readonly write: boolean; readonly pick: number }[];
}

/** Every key is used at most once by a transaction, and every value that is read was written by another one. */
function histories(
  transactions: { minLength: number; maxLength: number },
  maxOps: number,
): fc.Arbitrary<Transaction[]> {
  const op = fc.record({ key: fc.constantFrom('x', 'y'), write: fc.boolean(), pick: fc.nat(60) });
  const plan = fc.record({
    session: fc.constantFrom('a', 'b', 'c'),
    ops: fc.uniqueArray(op, { minLength: 1, maxLength: maxOps, selector: ({ key }) => key }),
  });
  return fc.array(plan, transactions).map(historyOf);
}

function historyOf(plans: readonly Plan[]): Transaction[] {
  const writers = (key: string): number[] =>
    plans.flatMap(({ ops }, t) => (ops.some((op) => op.write && op.key === key) ? [t] : []));
  return plans.map(({ session, ops }, t) => ({
    session,
    seq: t,
    tx: `t${t}`,
    status: 'committed',
    ops: ops.map(({ key, write, pick }): Op => {
      if (write) return { f: 'w', k: key, v: `v${t}` };
      const others = [null, ...writers(key).filter((writer) => writer !== t)];
      const writer = others[pick % others.length];
      return { f: 'r', k: key, v: writer === null ? null : `v${writer}` };
    }),
  }));
}

const writerOf = (v: string | null): number => (v === null ? -1 : Number(v.slice(1)));
const writesKey = (t: Transaction, key: string): boolean => t.ops.some(({ f, k }) => f === 'w' && k === key);
const follows = (a: Transaction, b: Transaction): boolean => a.session === b.session && a.seq < b.seq;

interface Result {
  holds: number;
  violated: number;
}

function compare(
  guarantee: Guarantee,
  arbitrary: fc.Arbitrary<Transaction[]>,
  definition: (history: readonly Transaction[]) => boolean,
  options: { numRuns: number; seed: number },
): Result {
  const result = { holds: 0, violated: 0 };
  fc.assert(
    fc.property(arbitrary, (history) => {
      const expected = definition(history) ? 'holds' : 'violated';
      result[expected]++;
      expect(checkHistory(history).guarantees[guarantee]).toBe(expected);
    }),
    options,
  );
  return result;
}

/**
 * Bouajjani, Enea, Guerraoui, Hamza: On verifying causal consistency (POPL 2017), table 2 and theorem 3: a
 * differentiated history of single operations is CCv exactly when it has none of five bad patterns.
 */
function hasNoBadPattern(history: readonly Transaction[]): boolean {
  const op = (t: number): Op => history[t]!.ops[0]!;
  const isWrite = (t: number): boolean => op(t).f === 'w';
  const all = history.map((_, t) => t);
  const rf = all.flatMap((r) => (isWrite(r) || op(r).v === null ? [] : [[writerOf(op(r).v), r] as const]));
  const po = all.flatMap((a) => all.filter((b) => follows(history[a]!, history[b]!)).map((b) => [a, b] as const));
  const co = closure(all.length, [...po, ...rf]);
  const sameKey = (a: number, b: number): boolean => op(a).k === op(b).k;
  if (all.some((t) => co[t]![t])) return false; // CyclicCO
  const initReads = all.filter((r) => !isWrite(r) && op(r).v === null);
  if (initReads.some((r) => all.some((w) => isWrite(w) && sameKey(w, r) && co[w]![r]))) return false; // WriteCOInitRead
  // ThinAirRead: not made here. WriteCORead:
  const overwrites = (w1: number, w2: number): boolean => isWrite(w2) && sameKey(w1, w2) && w1 !== w2;
  if (rf.some(([w1, r]) => all.some((w2) => overwrites(w1, w2) && co[w1]![w2] && co[w2]![r]))) return false;
  const cf = rf.flatMap(([w1, r]) =>
    all.filter((w2) => overwrites(w1, w2) && co[w2]![r]).map((w2) => [w2, w1] as const),
  );
  const all3 = closure(all.length, [...po, ...rf, ...cf]);
  return !all.some((t) => all3[t]![t]); // CyclicCF
}

function closure(size: number, edges: readonly (readonly [number, number])[]): boolean[][] {
  const related = Array.from({ length: size }, () => Array.from({ length: size }, () => false));
  for (const [a, b] of edges) related[a]![b] = true;
  for (let k = 0; k < size; k++) {
    for (const row of related) for (let j = 0; j < size; j++) row[j] ||= row[k]! && related[k]![j]!;
  }
  return related;
}

/**
 * Cerone, Bernardi, Gotsman: A framework for transactional consistency models with atomic visibility (CONCUR 2015):
 * there are a visibility and a total arbitration that contains it, so that every external read returns the last visible
 * write (EXT). Read atomic asks no more of visibility; causal consistency (CCv) asks that it is transitive and contains
 * session order. Arbitration contains session order in both.
 */
function hasExecution(history: readonly Transaction[], isCausal: boolean): boolean {
  const all = history.map((_, t) => t);
  return orders(history, all).some((arbitration) => {
    const pairs = arbitration.flatMap((a, i) => arbitration.slice(i + 1).map((b) => [a, b] as const));
    return subsets(pairs).some((visibility) => {
      const sees = Array.from({ length: all.length }, () => new Set<number>());
      for (const [a, b] of visibility) sees[b]!.add(a);
      if (isCausal && !isCausallyClosed(history, sees)) return false;
      return all.every((t) => readsLastVisible(history, t, sees[t]!, arbitration));
    });
  });
}

function isCausallyClosed(history: readonly Transaction[], sees: readonly Set<number>[]): boolean {
  return history.every((b, t) => {
    const isSession = history.every((a, s) => !follows(a, b) || sees[t]!.has(s));
    return isSession && [...sees[t]!].every((seen) => [...sees[seen]!].every((deeper) => sees[t]!.has(deeper)));
  });
}

function readsLastVisible(
  history: readonly Transaction[],
  t: number,
  seen: ReadonlySet<number>,
  arbitration: readonly number[],
): boolean {
  return history[t]!.ops.every(({ f, k, v }) => {
    if (f === 'w') return true;
    const last = arbitration.findLast((other) => seen.has(other) && writesKey(history[other]!, k)) ?? -1;
    return last === writerOf(v);
  });
}

/** All total orders that contain session order. */
function orders(history: readonly Transaction[], rest: readonly number[]): number[][] {
  if (rest.length === 0) return [[]];
  const firsts = rest.filter((t) => !rest.some((other) => follows(history[other]!, history[t]!)));
  return firsts.flatMap((first) =>
    orders(
      history,
      rest.filter((t) => t !== first),
    ).map((order) => [first, ...order]),
  );
}

function subsets<T>(items: readonly T[]): T[][] {
  return items.reduce<T[][]>((all, item) => all.concat(all.map((set) => [...set, item])), [[]]);
}

describe('the checker agrees with the literature', () => {
  it('the checker agrees on causal convergence of single operations, by its bad patterns (Bouajjani et al. 2017)', () => {
    const arbitrary = histories({ minLength: 4, maxLength: 14 }, 1);
    const { holds, violated } = compare('causal-convergence', arbitrary, hasNoBadPattern, {
      numRuns: 4000,
      seed: 20_250_111,
    });
    expect(Math.min(holds, violated)).toBeGreaterThan(500);
  });

  it('the checker agrees on causal convergence of transactions, by visibility and arbitration (Cerone et al. 2015)', () => {
    const arbitrary = histories({ minLength: 2, maxLength: 4 }, 2);
    const { holds, violated } = compare('causal-convergence', arbitrary, (history) => hasExecution(history, true), {
      numRuns: 1500,
      seed: 20_250_112,
    });
    expect(Math.min(holds, violated)).toBeGreaterThan(200);
  });

  it('the checker agrees on read atomicity, by visibility and arbitration (Cerone et al. 2015)', () => {
    const arbitrary = histories({ minLength: 3, maxLength: 4 }, 2);
    const { holds, violated } = compare('read-atomicity', arbitrary, (history) => hasExecution(history, false), {
      numRuns: 1500,
      seed: 20_250_113,
    });
    expect(Math.min(holds, violated)).toBeGreaterThan(200);
  });
});
