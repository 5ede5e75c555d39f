import { type HistoryRecord, isReplicaState, type Transaction } from '@isochron/checker/input/history';
import type { Guarantee } from '@isochron/checker/rules/guarantees';

/**
 * The definitions of README.md, taken literally and slowly: it tries every choice for the open points of the history,
 * and every total order of transactions. Shares no code with the checker.
 */
export function violatedByDefinition(history: readonly HistoryRecord[]): Set<Guarantee> {
  const violated = new Set<Guarantee>();
  const lines = history.filter((record): record is Transaction => !isReplicaState(record));
  const final = finalTransaction(history);
  if (divergesAtTheEnd(history)) violated.add('convergence');
  const all = final === undefined ? lines : [...lines, final];
  const counted = countedOf(all);
  for (const guarantee of localViolations(counted, all)) violated.add(guarantee);
  const unseen = all.filter((t) => t.status === 'unknown' && !counted.includes(t));
  // An unobserved transaction may have happened or not; that it did helps only reads of null after its delete.
  const open = new Set<OrderGuarantee>(['acyclic-causality', ...ORDERED]);
  for (const happened of subsets(unseen)) {
    const real = all.filter((t) => counted.includes(t) || happened.includes(t));
    for (const reads of product(judgedReads(real))) settle(open, real, reads, final);
  }
  for (const guarantee of open) if (guarantee !== 'durability' || final !== undefined) violated.add(guarantee);
  return violated;
}

const ORDERED = [
  'read-your-writes',
  'monotonic-reads',
  'monotonic-writes',
  'writes-follow-reads',
  'read-atomicity',
  'causal-convergence',
  'durability',
] as const;
type OrderGuarantee = (typeof ORDERED)[number] | 'acyclic-causality';

/** The final state as a transaction that reads after every other. */
function finalTransaction(history: readonly HistoryRecord[]): Transaction | undefined {
  const values = new Map<string, string | null>();
  const states = history.filter(isReplicaState);
  for (const { final } of states) for (const { k, v } of final) if (!values.has(k)) values.set(k, v);
  const ops = Array.from(values, ([k, v]) => ({ f: 'r', k, v }) as const);
  return states.length === 0 ? undefined : { session: '$final', seq: 0, tx: '$final', status: 'committed', ops };
}

function divergesAtTheEnd(history: readonly HistoryRecord[]): boolean {
  const values = history.filter(isReplicaState).flatMap(({ final }) => final);
  return values.some((a) => values.some((b) => a.k === b.k && a.v !== b.v));
}

/** Committed transactions, and unknown ones of which one of those read any value. */
function countedOf(all: readonly Transaction[]): Transaction[] {
  const counted = all.filter((t) => t.status === 'committed');
  for (;;) {
    const more = all.find(
      (t) => t.status === 'unknown' && !counted.includes(t) && counted.some((r) => readsFrom(r, t)),
    );
    if (more === undefined) return all.filter((t) => counted.includes(t));
    counted.push(more);
  }
}

const readsFrom = (reader: Transaction, writer: Transaction): boolean =>
  reader !== writer && reader.ops.some((op) => op.f === 'r' && op.v !== null && writes(writer, op.k, op.v));

const writes = (t: Transaction, key: string, value: string): boolean =>
  t.ops.some((op) => op.f === 'w' && op.k === key && op.v === value);

/** A transaction's final value of a key; undefined when it does not write it. */
const lastWrite = (t: Transaction, key: string): string | null | undefined =>
  t.ops.findLast((op) => op.f === 'w' && op.k === key)?.v;

function localViolations(counted: readonly Transaction[], all: readonly Transaction[]): Guarantee[] {
  const found: Guarantee[] = [];
  for (const reader of counted) {
    if (!isConsistentInside(reader)) found.push('internal-consistency');
    for (const { f, k, v } of reader.ops) {
      if (f === 'w' || v === null) continue;
      const writer = all.find((t) => writes(t, k, v));
      if (writer === undefined) found.push('no-thin-air-reads');
      else if (writer === reader) continue;
      else if (writer.status === 'aborted') found.push('no-aborted-reads');
      else if (lastWrite(writer, k) !== v) found.push('no-intermediate-reads');
    }
  }
  return found;
}

/** A recorder may list reads before writes, so a read of an own write may stand in front of it. */
const isListedEarly = (t: Transaction, key: string, value: string | null): boolean =>
  value !== null && writes(t, key, value);

function isConsistentInside(t: Transaction): boolean {
  const own = new Map<string, string | null>();
  const seen = new Map<string, string | null>();
  return t.ops.every(({ f, k, v }) => {
    if (f === 'w') own.set(k, v);
    else if (own.has(k)) return own.get(k) === v;
    else if (seen.has(k)) return seen.get(k) === v || isListedEarly(t, k, v);
    else seen.set(k, v);
    return true;
  });
}

interface DefinedRead {
  readonly reader: Transaction;
  readonly key: string;
  /** Null for the initial state. */
  readonly writer: Transaction | null;
}

/** For each transaction's first read of a key from outside: all versions that it may have seen. */
function judgedReads(real: readonly Transaction[]): DefinedRead[][] {
  const choices: DefinedRead[][] = [];
  for (const reader of real) {
    const touched = new Set<string>();
    for (const { f, k: key, v } of reader.ops) {
      if (f === 'r' && !touched.has(key) && !isListedEarly(reader, key, v)) {
        const writers: (Transaction | null)[] = real.filter((t) => t !== reader && lastWrite(t, key) === v);
        if (v === null) writers.push(null);
        if (writers.length > 0) choices.push(writers.map((writer) => ({ reader, key, writer })));
      }
      touched.add(key);
    }
  }
  return choices;
}

type Relation = readonly (readonly boolean[])[];

/** Removes from `open` the guarantees that some total order satisfies. */
function settle(
  open: Set<OrderGuarantee>,
  real: readonly Transaction[],
  reads: readonly DefinedRead[],
  final: Transaction | undefined,
): void {
  const all = real.map((_, i) => i);
  const relation = (holds: (a: number, b: number) => boolean): Relation => all.map((a) => all.map((b) => holds(a, b)));
  const isFinal = (t: number): boolean => real[t] === final;
  const so = relation((a, b) => a < b && real[a]!.session === real[b]!.session && real[a]!.status === 'committed');
  const wr = relation((a, b) => !isFinal(b) && reads.some((r) => r.writer === real[a] && r.reader === real[b]));
  const last = relation((a, b) => isFinal(b) && !isFinal(a));
  const hb = closure(union(so, wr, last));
  const soOrSame = relation((a, b) => a === b || so[a]![b]!);
  const mustSee: Record<(typeof ORDERED)[number], Relation> = {
    'read-your-writes': so,
    'monotonic-reads': compose(wr, so),
    'monotonic-writes': compose(so, wr),
    'writes-follow-reads': chains(wr, compose(soOrSame, wr)),
    'read-atomicity': wr,
    'causal-convergence': hb,
    durability: last,
  };
  for (const order of linearisations(hb, all)) {
    open.delete('acyclic-causality');
    const place = new Map(order.map((t, i) => [real[t]!, i]));
    for (const guarantee of ORDERED) {
      if (open.has(guarantee) && isExplained(reads, real, mustSee[guarantee], place)) open.delete(guarantee);
    }
    if (open.size === 0) return;
  }
}

/** Each reader saw the newest of the versions that it must see and the one that it saw. */
function isExplained(
  reads: readonly DefinedRead[],
  real: readonly Transaction[],
  mustSee: Relation,
  place: Map<Transaction, number>,
): boolean {
  return reads.every((read) => {
    const at = read.writer === null ? -1 : place.get(read.writer)!;
    const reader = real.indexOf(read.reader);
    return real.every(
      (other, i) =>
        other === read.writer ||
        lastWrite(other, read.key) === undefined ||
        !mustSee[i]![reader] ||
        place.get(other)! < at,
    );
  });
}

const union = (...relations: readonly Relation[]): boolean[][] =>
  relations[0]!.map((row, a) => row.map((_, b) => relations.some((relation) => relation[a]![b])));

const compose = (first: Relation, second: Relation): Relation =>
  first.map((row) => row.map((_, b) => row.some((related, middle) => related && second[middle]![b]!)));

/** `first` followed by `step` once or more often. */
function chains(first: Relation, step: Relation): Relation {
  let found = compose(first, step);
  for (let i = 0; i < first.length; i++) found = union(found, compose(found, step));
  return found;
}

function closure(relation: boolean[][]): boolean[][] {
  const closed = relation.map((row) => [...row]);
  for (const [k] of closed.entries()) {
    for (const row of closed) for (const [j] of row.entries()) row[j] ||= row[k]! && closed[k]![j]!;
  }
  return closed;
}

/** All total orders that contain a relation. */
function* linearisations(before: Relation, rest: readonly number[]): Generator<number[]> {
  if (rest.length === 0) yield [];
  for (const first of rest) {
    if (rest.some((other) => before[other]![first])) continue;
    for (const order of linearisations(
      before,
      rest.filter((t) => t !== first),
    ))
      yield [first, ...order];
  }
}

function subsets<T>(items: readonly T[]): T[][] {
  return items.reduce<T[][]>((all, item) => all.concat(all.map((set) => [...set, item])), [[]]);
}

function product<T>(choices: readonly T[][]): T[][] {
  return choices.reduce<T[][]>((all, options) => all.flatMap((head) => options.map((o) => [...head, o])), [[]]);
}
