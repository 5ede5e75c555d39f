import { HLC_EPOCH_MS, packWall, Update } from '@isochron/core';
import type { ChangedTx } from '@isochron/protocols';
import { A, B, CheckBench, reader } from '../fixtures.js';
import { ChangesAreComplete } from './changes.js';

const both = [
  { key: A, value: '1' },
  { key: B, value: '1' },
];
const RETENTION_MS = 1_000;

const changesIn = (bench: CheckBench, stableMs = HLC_EPOCH_MS) =>
  new ChangesAreComplete(bench.context, bench.ledger, RETENTION_MS, () => packWall(stableMs));

/** The failures of a reader's messages; `t` is committed at 5, `u` at 8. */
function failuresOf(
  messages: readonly { from: number; to: number; transactions: readonly ChangedTx[] }[],
  plan = reader(),
): number {
  const bench = new CheckBench();
  const check = changesIn(bench);
  bench.commit('t', 5, both);
  bench.commit('u', 8, both);
  check.feedBegan(plan, 3);
  for (const message of messages) check.feedReceived(plan, 'p-1', { status: 'changes', ...message });
  return bench.failed.length;
}

const t: ChangedTx = { txId: 't', ct: 5, writes: both };
const u: ChangedTx = { txId: 'u', ct: 8, writes: both };

describe('the change feed of a run', () => {
  it('messages with every transaction once, whole and in order are complete (CF1)', () => {
    expect(failuresOf([{ from: 3, to: 9, transactions: [t, u] }])).toBe(0);
    expect(
      failuresOf([
        { from: 3, to: 6, transactions: [t] },
        { from: 6, to: 9, transactions: [u] },
      ]),
    ).toBe(0);
  });

  it('messages of a scope have the writes in the scope, of the transactions that have some (CF3)', () => {
    const [a, none] = [
      { ...t, writes: [both[0]!] },
      { ...u, writes: [] },
    ];
    const inA = { ...u, writes: [both[0]!] };
    expect(failuresOf([{ from: 3, to: 9, transactions: [a, inA] }], reader({ prefix: A }))).toBe(0);
    expect(failuresOf([{ from: 3, to: 9, transactions: [t, inA] }], reader({ prefix: A }))).toBe(1);
    expect(failuresOf([{ from: 3, to: 9, transactions: [] }], reader({ prefix: 'default/none' }))).toBe(0);
    expect(failuresOf([{ from: 3, to: 9, transactions: [none] }], reader({ prefix: 'default/none' }))).toBe(1);
  });

  it.each([
    ['a transaction is missing', [{ from: 3, to: 9, transactions: [t] }]],
    ['half a transaction', [{ from: 3, to: 6, transactions: [{ ...t, writes: [both[0]!] }] }]],
    ['a transaction in two parts', [{ from: 3, to: 6, transactions: both.map((one) => ({ ...t, writes: [one] })) }]],
    ['a repeat', [{ from: 3, to: 6, transactions: [t, t] }]],
    ['a wrong order', [{ from: 3, to: 9, transactions: [u, t] }]],
    [
      'a gap between messages',
      [
        { from: 3, to: 4, transactions: [] },
        { from: 6, to: 9, transactions: [u] },
      ],
    ],
    [
      'a message that is repeated',
      [
        { from: 3, to: 6, transactions: [t] },
        { from: 3, to: 6, transactions: [t] },
      ],
    ],
    ['an end below the beginning', [{ from: 3, to: 2, transactions: [] }]],
    ['a transaction beyond the end', [{ from: 3, to: 7, transactions: [t, u] }]],
    ['another content', [{ from: 3, to: 6, transactions: [{ ...t, writes: [{ key: A, value: '2' }, both[1]!] }] }]],
    ['another commit timestamp', [{ from: 3, to: 7, transactions: [{ ...t, ct: 6 }] }]],
  ])('the check of the change feed reports %s (CF1)', (_, messages) => {
    expect(failuresOf(messages)).toBeGreaterThan(0);
  });

  it('the check of the change feed reports a commit at or below the end of a message (CF1)', () => {
    const bench = new CheckBench();
    const check = changesIn(bench);
    check.feedBegan(reader(), 3);
    check.feedReceived(reader(), 'p-1', { status: 'changes', from: 3, to: 9, transactions: [] });
    bench.commit('v', 10, both);
    expect(bench.failed).toEqual([]);
    bench.commit('t', 9, both);
    expect(bench.failed).toHaveLength(1);
  });

  it('the check of the change feed wants late writes with an effect alone, or a new reader once none can know (F9)', () => {
    const checkOf = (at: number, floor: number) => {
      const bench = new CheckBench();
      const check = changesIn(bench);
      bench.put('t', 5, '1');
      bench.put('u', 8, '2', at);
      bench.put('v', 9, '3');
      check.durable('p-1', [{ kind: 'horizon', partition: 0, horizon: 'gcFloor', upTo: floor }]);
      check.feedBegan(reader(), 5);
      return { bench, check };
    };
    const accepts = (isGiven: boolean, at: number) => {
      const { bench, check } = checkOf(at, 0);
      const late = { txId: 'u', ct: 8, writes: [{ key: A, value: '2' }] };
      check.feedReceived(reader(), 'p-1', { status: 'changes', from: 5, to: 8, transactions: isGiven ? [late] : [] });
      return bench.failed.length === 0;
    };
    expect([accepts(true, 6), accepts(false, 6)]).toEqual([true, false]);
    expect([accepts(true, 4), accepts(false, 4)]).toEqual([false, true]);
    const refuses = (floor: number, cursor: number) => {
      const { bench, check } = checkOf(4, floor);
      check.feedGone(reader(), cursor);
      return bench.failed.length === 0;
    };
    expect([refuses(8, 5), refuses(9, 5), refuses(9, 8)]).toEqual([false, true, false]);
  });

  it('the check of the change feed reports a message that goes on behind its limit (CF6)', () => {
    const message = [{ from: 3, to: 9, transactions: [t, u] }];
    expect(failuresOf(message, reader({ limitBytes: 10 }))).toBe(1);
    expect(failuresOf([{ from: 3, to: 5, transactions: [t] }], reader({ limitBytes: 10 }))).toBe(0);
  });

  it('the check of the change feed reports a cursor that is refused within the retention (CF2)', () => {
    const refusedAfter = (ageMs: number, prepare?: (check: ChangesAreComplete) => void) => {
      const bench = new CheckBench();
      const nowMs = HLC_EPOCH_MS + 10_000;
      const check = changesIn(bench, nowMs);
      prepare?.(check);
      check.feedGone(reader(), packWall(nowMs - ageMs));
      return bench.failed.length;
    };
    expect(refusedAfter(RETENTION_MS)).toBe(0);
    expect(refusedAfter(RETENTION_MS - 1)).toBe(1);
    expect(refusedAfter(0, (check) => check.onDataLoss())).toBe(0);
  });

  it('the check of the change feed compares updates by their operations (CF1)', () => {
    const bench = new CheckBench();
    const check = changesIn(bench);
    const increment = (by: number) => new Update(JSON.stringify([{ op: 'increment', path: '', by }]));
    bench.commit('t', 5, [{ key: A, value: increment(1) }]);
    check.feedBegan(reader(), 3);
    const message = (by: number, [from, to] = [3, 6]) => ({
      status: 'changes' as const,
      from: from!,
      to: to!,
      transactions: [{ txId: 't', ct: 5, writes: [{ key: A, value: increment(by) }] }],
    });
    check.feedReceived(reader(), 'p-1', message(1));
    expect(bench.failed).toEqual([]);
    check.feedBegan(reader(), 3);
    check.feedReceived(reader(), 'p-1', message(2));
    expect(bench.failed).toHaveLength(1);
  });
});
