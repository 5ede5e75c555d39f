import { checkHistory } from './check.js';
import { HistoryTooLargeError } from './clocks.js';
import { HistoryError, type Op, type Status, type Transaction } from './history.js';
import { modelHistory } from './model.js';
import { formatVerdict } from './report.js';
import type { Verdict, ViolationName } from './violations.js';

/**
 * A history in short: one transaction a line, `session: op, op, …`. `x=1` writes, `x?1` reads; `-` is null.
 * `session(aborted):` and `session(unknown):` set the status.
 */
function history(text: string): Transaction[] {
  const seqs = new Map<string, number>();
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [, session, status, ops] = /^\s*(\w+)(?:\((\w+)\))?:(.*)$/.exec(line)!;
      const seq = seqs.get(session!) ?? 0;
      seqs.set(session!, seq + 1);
      return {
        session: session!,
        seq,
        tx: `${session}-${seq}`,
        status: (status ?? 'committed') as Status,
        ops: ops!.split(',').flatMap((op) => parseOp(op.trim())),
      };
    });
}

function parseOp(text: string): Op[] {
  const match = /^(\w+)([=?])(\w+|-)$/.exec(text);
  return match === null
    ? []
    : [{ f: match[2] === '=' ? 'w' : 'r', k: match[1]!, v: match[3] === '-' ? null : match[3]! }];
}

const namesOf = (verdict: Verdict): ViolationName[] => (verdict.ok ? [] : verdict.violations.map((v) => v.name));
const verdictOf = (text: string): Verdict => checkHistory(history(text));

describe('histories that are causally consistent, however odd', () => {
  const accepted: [string, string][] = [
    ['an empty transaction', 'a:'],
    ['a read of a key that nobody wrote', 'a: x?-'],
    ['a chain of reads and writes over sessions', 'a: x=1\nb: x?1, y=2\nc: y?2, x?1'],
    ['a stale read in another session', 'a: x=1\na: x=2\nb: x?1'],
    ['a session that never sees what others write', 'a: x=1\nb: x?-\nb: x?-\nb: y=1\nb: x?-'],
    ['reads that move forward one version at a time', 'a: x=1\na: x=2\nb: x?-\nb: x?1\nb: x?2'],
    ['a lost update', 'a: x=0\nb: x?0, x=1\nc: x?0, x=2\nb: x?1\nc: x?2'],
    ['a write skew', 'i: x=0, y=0\na: x?0, y?0, x=1\nb: x?0, y?0, y=1\nc: x?1, y?1'],
    ['a long fork', 'a: x=1\nb: y=1\nc: x?1, y?-\nd: x?-, y?1'],
    ['concurrent writes that all sessions see in the same order', 'a: x=1\nb: x=2\nc: x?1\nc: x?2\nd: x?1\nd: x?2'],
    ['a session whose own write loses against a concurrent one', 'a: x=1\nb: x=2\na: x?2\na: x?2'],
    ['a session whose own write wins against a concurrent one', 'a: x=1\nb: x=2\na: x?1\nb: x?1'],
    ['a reader that stands in the file before its writer', 'b: x?1\na: x=1'],
    ['a read of an own write', 'a: x=1, x?1, x=2, x?2'],
    ['a read of an own write listed in front of it', 'a: x?1, x=1'],
    ['a read before an own write that sees the version before', 'a: x=1\na: x?1, x=2'],
    ['the same key read twice with the same answer', 'a: x=1\nb: x?1, x?1'],
    ['an aborted transaction that nobody read', 'a(aborted): x=1\na: x?-\nb: x?-'],
    ['whatever an aborted transaction read', 'a: x=1\na(aborted): x?-, y?nonsense\na: x?1'],
    ['an unknown transaction that nobody saw', 'a(unknown): x=1\na: x?-\nb: x?-'],
    ['an unknown transaction that others saw', 'a(unknown): x=1\nb: x?1'],
    [
      'an unknown transaction that takes effect only after later ones of its session',
      'a(unknown): x=1\na: x?-\na: x?1',
    ],
    ['what an unknown transaction read that nobody saw', 'a: x=1\na(unknown): x?-, y=1\nb: y?-'],
    ['a delete', 'a: x=1\na: x=-\na: x?-\nb: x?1\nb: x?-'],
    ['a null read whose delete is concurrent with the version in the past', 'a: x=1\nb: x=-\na: x?-'],
    ['a null read in the past of a delete', 'a: x?-\na: x=1\na: x=-'],
    [
      'a delete that was not seen before a version in the past but after another',
      'a: x=1\nb: x?1, x=-\nc: x?1\nc: x?-',
    ],
    ['a null read that an unknown delete may explain', 'a: x=1\nb(unknown): x=-\na: x?-'],
    ['a null read that an observed unknown delete may explain', 'a: x=1\nb(unknown): x=-, y=1\nc: y?1\na: x?-'],
    ['the same value written to two keys', 'a: x=1, y=1\nb: x?1, y?1'],
    ['one version read by many, its successor by some', 'a: x=1\nb: x?1\nc: x?1\na: x=2\nb: x?2\nc: x?1\nd: x?2'],
  ];

  it.each(accepted)('%s', (_, text) => {
    expect(verdictOf(text)).toMatchObject({ ok: true });
  });
});

describe('anomalies', () => {
  const caught: [ViolationName, string, string][] = [
    ['internal-consistency', 'an own write that the transaction does not read', 'a: x=1\nb: x=2, x?1'],
    ['internal-consistency', 'an own write read as null', 'a: x=1, x?-'],
    ['internal-consistency', 'an own write that the transaction had overwritten', 'a: x=1, x=2, x?1'],
    ['internal-consistency', 'a deleted key that still has its value', 'a: x=1\na: x?1, x=-, x?1'],
    ['non-repeatable-read', 'two answers in one transaction', 'a: x=1\na: x=2\nb: x?1, x?2'],
    ['non-repeatable-read', 'a key that appears during a transaction', 'a: x=1\nb: x?-, x?1'],
    ['non-repeatable-read', 'a key that disappears during a transaction', 'a: x=1\nb: x?1, x?-'],
    ['thin-air-read', 'a value that nobody wrote', 'a: x=1\nb: x?2'],
    ['thin-air-read', 'a value that was written to another key', 'a: x=1\nb: y?1'],
    ['aborted-read', 'a write of an aborted transaction', 'a(aborted): x=1\nb: x?1'],
    ['intermediate-read', 'a value overwritten in its own transaction', 'a: x=1, x=2\nb: x?1'],
    ['intermediate-read', 'a value deleted in its own transaction', 'a: x=1, x=-\nb: x?1'],
    ['cyclic-causality', 'two transactions that read from one another', 'a: x=1, y?2\nb: y=2, x?1'],
    ['cyclic-causality', 'a read from the own future', 'a: x?1\na: x=1'],
    ['cyclic-causality', 'a circle over sessions', 'a: z?3\na: x=1\nb: x?1\nb: y=2\nc: y?2, z=3'],
    ['read-your-writes', 'an own write that is gone', 'a: x=1\na: x?-'],
    ['read-your-writes', 'an own write behind an older version', 'a: x=1\na: x=2\na: y=1\na: x?1'],
    ['monotonic-reads', 'a version that is gone after it was read', 'a: x=1\nb: x?1\nb: x?-'],
    ['monotonic-reads', 'an older version after a newer one', 'a: x=1\na: x=2\nb: x?2\nb: x?1'],
    ['monotonic-reads', 'back and forth between concurrent writes', 'a: x=1\nb: x=2\nc: x?1\nc: x?2\nc: x?1'],
    ['monotonic-writes', 'the second write of a session without the first', 'a: x=1\na: y=1\nb: y?1, x?-'],
    ['writes-follow-reads', 'an answer without its question', 'a: x=1\nb: x?1, y=1\nc: y?1, x?-'],
    ['writes-follow-reads', 'an answer in a later transaction of its session', 'a: x=1\nb: x?1\nb: y=1\nc: y?1, x?-'],
    ['fractured-read', 'half of a transaction', 'a: x=1, y=1\nb: x?1, y?-'],
    ['fractured-read', 'half of an overwriting transaction', 'a: x=1, y=1\na: x=2, y=2\nb: x?1, y?2'],
    ['fractured-read', 'halves of two concurrent transactions', 'a: x=1, y=1\nb: x=2, y=2\nc: x?1, y?2'],
    ['causal-snapshot', 'a write missed over two sessions', 'a: x=1\na: y=1\nb: y?1, z=1\nc: z?1\nc: x?-'],
    [
      'causal-snapshot',
      'an old version where the chain has three links',
      'a: x=0\na: x=1\nb: x?1, y=1\nc: y?1, z=1\nd: z?1, x?0',
    ],
    ['divergent-order', 'concurrent writes seen in opposite orders', 'a: x=1\nb: x=2\nc: x?1\nc: x?2\nd: x?2\nd: x?1'],
    [
      'divergent-order',
      'replicas that keep different winners',
      'a: x=1\nb: x=2\nb: y=1\na: z=1\nc: z?1, y?1, x?1\nd: z?1, y?1, x?2',
    ],
    [
      'read-your-writes',
      'an own write missed although somebody deleted the key before',
      'a: x=0\nb: x?0, x=-, y=1\na: y?1, x=1\na: x?-',
    ],
    ['read-your-writes', 'a key that reads as null before its delete', 'a: x=1\na: x?-\na: x=-'],
    ['monotonic-reads', 'a deleted key that comes back', 'a: x=1\na: x=-, y=1\nb: y?1\nb: x?1'],
    [
      'causal-snapshot',
      'a write over three sessions, one of which had an unknown write before that proves nothing',
      'a(unknown): x=1, w=1\nc: w?1\nq: x=2\nr: x?2, z=1\na: z?1, y=1\nb: y?1, x?-',
    ],
    ['fractured-read', 'half of an unknown transaction that was seen', 'a(unknown): x=1, y=1\nb: x?1, y?-'],
    ['read-your-writes', 'an unknown transaction that missed its own session', 'a: x=1\na(unknown): x?-, y=1\nb: y?1'],
    [
      'aborted-read',
      'an aborted write, seen by an unknown transaction that was seen',
      'a(aborted): x=1\nb(unknown): x?1, y=1\nc: y?1',
    ],
  ];

  it.each(caught)('%s: %s', (name, _, text) => {
    const verdict = verdictOf(text);
    expect(namesOf(verdict)).toEqual([name]);
    expect(verdict).toMatchObject({ ok: false, found: 1 });
  });

  it('are all found when there are several', () => {
    const verdict = verdictOf('a: x=1\na: x?-\nb: z?9\nc(aborted): y=1\nd: y?1');
    expect(namesOf(verdict).sort()).toEqual(['aborted-read', 'read-your-writes', 'thin-air-read']);
  });

  it('are found in two knots of causality at once', () => {
    const verdict = verdictOf('a: x=1, y?2\nb: y=2, x?1\nc: v=1, w?2\nd: w=2, v?1');
    expect(namesOf(verdict)).toEqual(['cyclic-causality', 'cyclic-causality']);
  });

  it('are counted beyond the number that is explained', () => {
    const text = Array.from({ length: 30 }, (_, i) => `s${i}: k${i}=1\ns${i}: k${i}?-`).join('\n');
    const verdict = checkHistory(history(text), { maxViolations: 3 });
    expect(verdict).toMatchObject({ ok: false, found: 30 });
    expect(namesOf(verdict)).toHaveLength(3);
  });
});

describe('a counterexample', () => {
  it('says in plain words which transactions contradict one another', () => {
    const text = formatVerdict('h', verdictOf('a: x=0\na: x=1\nb: x?1, y=1\nc: y?1, x?0'), 0);
    expect(text).toBe(
      [
        'h: NOT causally consistent, 1 violation',
        '  3 sessions, 4 transactions (4 committed), 3 reads and 3 writes of 2 keys, 0.00 s',
        '',
        '1. writes-follow-reads',
        '   c#0 read "x" = "0", written by a#0, although a#1 had overwritten it with "1" and happened before c#0.',
        '   - a#0 comes before a#1 in session a',
        '   - a#1 must come before a#0: c#0 read "x" = "0" while a#1, which wrote "x" = "1", happened before c#0',
        '     - b#0 read "x" = "1", which a#1 wrote',
        '     - c#0 read "y" = "1", which b#0 wrote',
        '   transactions: a#0 (a-0, committed, line 1), a#1 (a-1, committed, line 2), b#0 (b-0, committed, line 3), c#0 (c-0, committed, line 4)',
        '',
      ].join('\n'),
    );
  });

  it('forms a closed cycle', () => {
    for (const text of [
      'a: x=1\nb: x=2\nc: x?1\nc: x?2\nd: x?2\nd: x?1',
      'a: z?3\na: x=1\nb: x?1\nb: y=2\nc: y?2, z=3',
    ]) {
      const verdict = verdictOf(text);
      const { cycle } = (verdict.ok ? [] : verdict.violations)[0]!;
      expect(cycle.length).toBeGreaterThan(1);
      cycle.forEach((step, i) => {
        expect(step.to).toEqual(cycle[(i + 1) % cycle.length]!.from);
      });
    }
  });

  it('is the shortest of a knot: two transactions out of a large one', () => {
    const ring = Array.from(
      { length: 40 },
      (_, i) => `r${i}: k${i}=1, k${(i + 1) % 40}?1${i === 7 ? ', q?1' : ''}${i === 8 ? ', q=1, k7?1' : ''}`,
    );
    const verdict = verdictOf(ring.join('\n'));
    expect(namesOf(verdict)).toEqual(['cyclic-causality']);
    const [violation] = verdict.ok ? [] : verdict.violations;
    expect(violation!.transactions.map((t) => t.session).sort()).toEqual(['r7', 'r8']);
  });

  it('goes through a long session in one step', () => {
    const text = ['a: x=1', ...Array.from({ length: 500 }, (_, i) => `a: y${i}=1`), 'a: x?-'].join('\n');
    const verdict = verdictOf(text);
    const [violation] = verdict.ok ? [] : verdict.violations;
    expect(violation).toMatchObject({ name: 'read-your-writes' });
    expect(violation!.transactions.map((t) => t.seq)).toEqual([0, 501]);
  });

  it('keeps control characters of the input out of the terminal', () => {
    const [t0, t1] = history('a: x=1\na: x?-') as [Transaction, Transaction];
    const odd = [t0, t1].map((t) => ({
      ...t,
      session: '\u001b[2J',
      ops: t.ops.map((op) => ({ ...op, k: 'x\u0007' })),
    }));
    const text = formatVerdict('h', checkHistory(odd), 0);
    expect([...text].every((c) => c === '\n' || c >= ' ')).toBe(true);
  });
});

describe('statistics', () => {
  it('count everything in the history', () => {
    const text = 'a: x=1, x?1\nb(aborted): x=2\nb(unknown): y=3\nc: y?3\nc(unknown): y=4';
    expect(verdictOf(text).stats).toEqual({
      sessions: 3,
      transactions: 5,
      committed: 2,
      aborted: 1,
      unknown: 2,
      observedUnknown: 1,
      keys: 2,
      reads: 2,
      writes: 4,
    });
  });

  it('of nothing are zero, and nothing is consistent', () => {
    expect(checkHistory([])).toMatchObject({ ok: true, stats: { transactions: 0 } });
  });
});

describe('a history that contradicts its own format', () => {
  it('is refused when a value is written to a key twice, with both lines', () => {
    expect(() => verdictOf('a: x=1\nb: y=1\nc: x=1')).toThrow(
      new HistoryError(3, 'value "1" was written to key "x" before (line 1); written values must be unique'),
    );
    expect(() => verdictOf('a: x=1, x=1')).toThrow(/this line/);
  });

  it('is refused when seq does not ascend in a session', () => {
    const [first, second] = history('a: x=1\na: x?1') as [Transaction, Transaction];
    expect(() => checkHistory([second, first])).toThrow('line 2: session "a" goes from seq 1 to 0; seq must ascend');
    expect(() => checkHistory([first, { ...second, seq: 0 }])).toThrow(HistoryError);
  });

  it('may leave gaps in seq, where transactions were never finished', () => {
    const [first, second] = history('a: x=1\na: x?1') as [Transaction, Transaction];
    expect(checkHistory([first, { ...second, seq: 9 }]).ok).toBe(true);
  });
});

describe('larger histories', () => {
  const shape = { sessions: 12, transactions: 4000, keys: 50, opsPerTx: 6, maxLag: 60 };

  it.each([1, 2, 3, 4])('of a causally consistent model are accepted (seed %p)', (seed) => {
    expect(checkHistory(modelHistory({ ...shape, seed }))).toMatchObject({ ok: true });
  });

  it.each([1, 2, 3, 4])('with deletes, aborts and unknown outcomes are accepted (seed %p)', (seed) => {
    const odd = { deleteRatio: 0.1, abortRatio: 0.05, unknownRatio: 0.1 };
    const verdict = checkHistory(modelHistory({ ...shape, ...odd, seed }));
    expect(verdict).toMatchObject({ ok: true });
    expect(verdict.stats.observedUnknown).toBeGreaterThan(32);
  });

  it.each([1, 2, 3, 4])('are refused once a single read returns a version older than before (seed %p)', (seed) => {
    const transactions = [...modelHistory({ ...shape, seed })];
    const broken = replaceLastRereading(transactions);
    expect(checkHistory(transactions).ok).toBe(true);
    expect(namesOf(checkHistory(broken))).toEqual(['monotonic-reads']);
  });

  /** Makes the last transaction of a session that reads a key again see the version that was overwritten by what it saw first. */
  function replaceLastRereading(transactions: readonly Transaction[]): Transaction[] {
    const [writer, first] = [
      { session: 'w', seq: 0, tx: 'w0', status: 'committed', ops: [{ f: 'w', k: 'probe', v: 'old' }] },
      { session: 'w', seq: 1, tx: 'w1', status: 'committed', ops: [{ f: 'w', k: 'probe', v: 'new' }] },
    ] satisfies [Transaction, Transaction];
    const mine = transactions.filter((t) => t.session === 'c3');
    const [early, late] = [mine[5]!, mine.at(-1)!];
    const withRead = (t: Transaction, v: string): Transaction => ({ ...t, ops: [...t.ops, { f: 'r', k: 'probe', v }] });
    const changed = transactions.map((t) => (t === early ? withRead(t, 'new') : t === late ? withRead(t, 'old') : t));
    return [writer, first, ...changed];
  }

  it('are refused when happens-before would not fit in the memory allowed', () => {
    const run = () => checkHistory(modelHistory({ ...shape, seed: 1 }), { maxClockBytes: 1000 });
    expect(run).toThrow(HistoryTooLargeError);
  });
});
