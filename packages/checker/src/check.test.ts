import { textHistory, textTransactions } from '@isochron/testing/checker/text-history';
import { checkHistory } from './check.js';
import { formatVerdict } from './explanation/report.js';
import type { Verdict, ViolationName } from './explanation/violations.js';
import { HistoryError, type Transaction } from './input/history.js';
import { GUARANTEES, type Guarantee, LEVELS } from './rules/guarantees.js';

const namesOf = (verdict: Verdict): ViolationName[] => verdict.violations.map(({ name }) => name);
const verdictOf = (text: string): Verdict => checkHistory(textHistory(text));

describe('violations', () => {
  it('violations are counted beyond the number that is explained', () => {
    const text = Array.from({ length: 30 }, (_, i) => `s${i}: k${i}=1\ns${i}: k${i}?-`).join('\n');
    const verdict = checkHistory(textHistory(text), { maxViolations: 3 });
    expect(verdict).toMatchObject({ ok: false, found: 30 });
    expect(namesOf(verdict)).toHaveLength(3);
  });

  it('violations are explained at least once for each guarantee', () => {
    const text = `${'abcdef'.replace(/./g, '$&: $&x=1\n$&: $&x?-\n')}g: y=1\nh: y?1\nh: y?-`;
    const verdict = checkHistory(textHistory(text), { maxViolations: 2 });
    expect(verdict.found).toBe(7);
    expect(namesOf(verdict)).toEqual(['read-your-writes', 'read-your-writes', 'monotonic-reads']);
  });

  it('violations come in the order of the readers', () => {
    const verdict = verdictOf('a: x=1\nb: x?1\nb: x?-\nc: y=1\nc: y?-');
    expect(namesOf(verdict)).toEqual(['monotonic-reads', 'read-your-writes']);
  });

  it('violations of a guarantee that is not demanded are judged, but neither counted nor explained', () => {
    const demands: Guarantee[] = ['monotonic-reads'];
    const verdict = checkHistory(textHistory('a: x=1\na: x?-'), { level: { unit: 'transaction', demands } });
    expect(verdict).toMatchObject({ ok: true, found: 0, violations: [] });
    expect(verdict.guarantees).toMatchObject({ 'read-your-writes': 'violated', 'monotonic-reads': 'holds' });
    expect(formatVerdict('h', verdict, 0, demands)).toContain('read-your-writes      VIOLATED (not demanded)');
  });

  it('violations name every guarantee that they break', () => {
    const { violations } = verdictOf('a: x=1, y?2\nb: y=2, x?1\nfinal r: x=1');
    const ordered = GUARANTEES.slice(GUARANTEES.indexOf('acyclic-causality')).filter((g) => g !== 'convergence');
    expect([...violations[0]!.breaks].sort()).toEqual([...ordered].sort());
  });
});

describe('final states', () => {
  it('final states are judged only where the history has them', () => {
    expect(verdictOf('a: x=1').guarantees).toMatchObject({ convergence: 'not-judged', durability: 'not-judged' });
  });

  it('final states show convergence only where two replicas hold the same key', () => {
    const { guarantees } = verdictOf('a: x=1, y=1\nfinal r: x=1\nfinal s: y=1');
    expect(guarantees).toMatchObject({ convergence: 'not-judged', durability: 'holds' });
  });

  it('the final state of one replica may come in several lines', () => {
    const { guarantees } = verdictOf('a: x=1, y=1\nfinal r: x=1\nfinal s: x=1, y=1\nfinal r: y=1');
    expect(guarantees).toMatchObject({ convergence: 'holds', durability: 'holds' });
  });

  it('final states that differ are shown with their replicas and the writer of each value', () => {
    const [violation] = verdictOf('a: x=1\nb: x=2\nfinal r: x=1\nfinal s: x=2\nfinal t: x=1').violations;
    expect(violation!.message).toBe('The replicas of "x" differ: r holds "1", s holds "2", t holds "1".');
    expect(violation!.transactions.map(({ tx }) => tx)).toEqual(['a-0', 'b-0']);
  });
});

describe('a counterexample', () => {
  it('a counterexample states in plain labels which transactions contradict one another', () => {
    const text = formatVerdict('h', verdictOf('a: x=0\na: x=1\nb: x?1, y=1\nc: y?1, x?0'), 0);
    expect(text).toBe(
      [
        'h: NOT OK, 1 violation',
        '  3 sessions, 4 transactions (4 committed), 3 reads and 3 writes of 2 keys, 0.00 s',
        '',
        '  internal-consistency  holds',
        '  no-thin-air-reads     holds',
        '  no-aborted-reads      holds',
        '  no-intermediate-reads holds',
        '  acyclic-causality     holds',
        '  read-your-writes      holds',
        '  monotonic-reads       holds',
        '  monotonic-writes      holds',
        '  writes-follow-reads   VIOLATED',
        '  read-atomicity        holds',
        '  causal-convergence    VIOLATED',
        '  convergence           not judged: the final states do not show it',
        '  durability            not judged: the final states do not show it',
        '',
        '1. writes-follow-reads',
        '   c#0 read "x" = "0", written by a#0, although a#1 had overwritten it with "1" and happened before c#0.',
        '   - a#0 comes before a#1 in session a',
        '   - a#1 must come before a#0: c#0 read "x" = "0" while a#1, which wrote "x" = "1", happened before c#0',
        '     - b#0 read "x" = "1", which a#1 wrote',
        '     - c#0 read "y" = "1", which b#0 wrote',
        '   breaks: writes-follow-reads, causal-convergence',
        '   keys: "x", "y"',
        '   sessions: a, b, c',
        '   transactions: a#0 (a-0, committed, line 1), a#1 (a-1, committed, line 2), b#0 (b-0, committed, line 3), c#0 (c-0, committed, line 4)',
        '',
      ].join('\n'),
    );
  });

  const reasons: [string, string, string[]][] = [
    ['read-your-writes', 'a: x=1\na: x?-', ['a#0 comes before a#1 in session a']],
    [
      'monotonic-reads',
      'a: x=1\nb: x?1\nb: x?-',
      ['b#0 read "x" = "1", which a#0 wrote', 'b#0 comes before b#1 in session b'],
    ],
    [
      'monotonic-writes',
      'a: x=1\na: y=1\nb: y?1, x?-',
      ['a#0 comes before a#1 in session a', 'b#0 read "y" = "1", which a#1 wrote'],
    ],
    [
      'writes-follow-reads',
      'a: x=1\nb: x?1\nb: y=1\nc: y?1, x?-',
      [
        'b#0 read "x" = "1", which a#0 wrote',
        'b#0 comes before b#1 in session b',
        'c#0 read "y" = "1", which b#1 wrote',
      ],
    ],
    ['fractured-read', 'a: x=1, y=1\nb: x?1, y?-', ['b#0 read "x" = "1", which a#0 wrote']],
    [
      'causal-snapshot',
      'a: x=1\nb: x?1\nb: y=1\nc: y?1\nc: x?-',
      [
        'b#0 read "x" = "1", which a#0 wrote',
        'b#0 comes before b#1 in session b',
        'c#0 read "y" = "1", which b#1 wrote',
        'c#0 comes before c#1 in session c',
      ],
    ],
    ['lost-write', 'a: x=1\nfinal r: x=-', ['a#0 had ended when the final state was looked at']],
    [
      'monotonic-reads',
      'a: x=1\nb: x?1, x=-\nc: x?1\nc: x?-\nc: x?1',
      ['c#1 read "x" = null, which b#0 wrote, the only delete that explains it', 'c#1 comes before c#2 in session c'],
    ],
  ];

  it.each(reasons)('a counterexample of %s gives the reason why the write must be seen (%j)', (name, text, because) => {
    const [violation] = verdictOf(text).violations;
    expect(violation!.name).toBe(name);
    expect(violation!.cycle.at(-1)!.because.map((step) => step.text)).toEqual(because);
  });

  it('a counterexample does not go from an unknown transaction to later ones of its session', () => {
    const text = 'a(unknown): x=1, w=1\nc: w?1\nq: x=2\nq: z=1\na: z?1\na: y=1\nd: y?1\nd: x?-';
    const { violations } = verdictOf(text);
    expect(violations.map(({ name }) => name)).toEqual(['causal-snapshot']);
    expect(violations[0]!.message).toContain('although q#0 had written "x" = "2"');
  });

  it('a counterexample blames a write that no delete followed', () => {
    const text = 'b: x=-\nb: y=1\ne: y?1\ne: x=3\ne: z=1\nc: z?1\nc: y?1, x?-';
    const [violation] = verdictOf(text).violations;
    expect(violation!.message).toBe(
      'c#1 read "x" = null, although e#1 had written "x" = "3" and happened before c#1. ' +
        'No delete explains it: each was overwritten before, or happened later.',
    );
  });

  it('a counterexample names keys, sessions and transactions, each once', () => {
    const [violation] = verdictOf('a: x=1, y=1\nb: x=2, y=2\nc: x?1, y?2').violations;
    expect([...violation!.keys].sort()).toEqual(['x', 'y']);
    expect([...violation!.sessions].sort()).toEqual(['a', 'b', 'c']);
    expect(violation!.transactions.map(({ tx, line }) => `${tx} ${line}`).sort()).toEqual(['a-0 1', 'b-0 2', 'c-0 3']);
  });

  it('a counterexample names an operation that stands by itself by its position', () => {
    const records = textHistory('a: x=1, y=1\nb: y?1, x?-');
    const { violations } = checkHistory(records, { level: LEVELS['causal-operations'] });
    expect(violations[0]!.message).toContain('b#0[1] read "x" = null, although a#0[0] had written "x" = "1"');
    expect(violations[0]!.transactions).toContainEqual(
      expect.objectContaining({ session: 'b', seq: 0, op: 1, tx: 'b-0', line: 2 }),
    );
  });

  it('a counterexample is the shortest of a knot: two transactions out of a large one', () => {
    const ring = Array.from(
      { length: 40 },
      (_, i) => `r${i}: k${i}=1, k${(i + 1) % 40}?1${i === 7 ? ', q?1' : ''}${i === 8 ? ', q=1, k7?1' : ''}`,
    );
    const verdict = verdictOf(ring.join('\n'));
    expect(namesOf(verdict)).toEqual(['cyclic-causality']);
    const [violation] = verdict.violations;
    expect(violation!.transactions.map((t) => t.session).sort()).toEqual(['r7', 'r8']);
  });

  it('a counterexample goes through a long session in one step', () => {
    const text = ['a: x=1', ...Array.from({ length: 500 }, (_, i) => `a: y${i}=1`), 'a: x?-'].join('\n');
    const verdict = verdictOf(text);
    const [violation] = verdict.violations;
    expect(violation).toMatchObject({ name: 'read-your-writes' });
    expect(violation!.transactions.map((t) => t.seq)).toEqual([0, 501]);
  });

  it('a counterexample keeps control characters of the input out of the terminal', () => {
    const [t0, t1] = textTransactions('a: x=1\na: x?-') as [Transaction, Transaction];
    const odd = [t0, t1].map((t) => ({
      ...t,
      session: '\u001b[2J\u009b2J',
      ops: t.ops.map((op) => ({ ...op, k: 'x\u0007\u202e' })),
    }));
    const text = formatVerdict('h', checkHistory(odd), 0);
    expect([...text].every((c) => c === '\n' || (c >= ' ' && (c < '\u007f' || c > '\u009f')))).toBe(true);
  });
});

describe('statistics', () => {
  it('statistics count everything in the history', () => {
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
      replicas: 0,
    });
  });

  it('statistics leave the final state out, but for its replicas', () => {
    const { stats } = verdictOf('a: x=1\nfinal r: x=1\nfinal s: x=1');
    expect(stats).toMatchObject({ sessions: 1, transactions: 1, committed: 1, keys: 1, reads: 0, replicas: 2 });
  });

  it('statistics of an empty history are zero, and the history is consistent', () => {
    expect(checkHistory([])).toMatchObject({ ok: true, stats: { transactions: 0 } });
  });
});

describe('a history that contradicts its own format', () => {
  it('a history is refused when a value is written to a key twice, with both lines', () => {
    expect(() => verdictOf('a: x=1\nb: y=1\nc: x=1')).toThrow(
      new HistoryError(3, 'value "1" was written to key "x" before (line 1); written values must be unique'),
    );
    expect(() => verdictOf('a: x=1, x=1')).toThrow(/this line/);
  });

  it('a history is refused when seq does not ascend in a session', () => {
    const [first, second] = textTransactions('a: x=1\na: x?1') as [Transaction, Transaction];
    expect(() => checkHistory([second, first])).toThrow('line 2: session "a" goes from seq 1 to 0; seq must ascend');
    expect(() => checkHistory([first, { ...second, seq: 0 }])).toThrow(HistoryError);
  });

  it('a history may have gaps in seq, where transactions were never finished', () => {
    const [first, second] = textTransactions('a: x=1\na: x?1') as [Transaction, Transaction];
    expect(checkHistory([first, { ...second, seq: 9 }]).ok).toBe(true);
  });

  it('a history is refused with the line in the file, whatever lines were before', () => {
    expect(() => verdictOf('a: x=1\nfinal r: x=1\nb: x=1')).toThrow(/^line 3: .*\(line 1\)/);
  });

  it('a history is refused when a replica names a key twice', () => {
    expect(() => verdictOf('final r: x=1\nfinal s: x=1\nfinal r: y=1, x=1')).toThrow(
      new HistoryError(3, 'replica "r" names key "x" twice'),
    );
  });
});
