import type { ChangedTx } from '@isochron/protocols';
import { ChangesAreComplete } from './changes.js';
import { A, B, CheckBench } from './fixtures.js';

const both = [
  { key: A, value: '1' },
  { key: B, value: '1' },
];

/** The failures of a reader's messages; `t` is committed at 5, `u` at 8. */
function failuresOf(messages: readonly { from: number; to: number; transactions: readonly ChangedTx[] }[]): number {
  const bench = new CheckBench();
  const check = new ChangesAreComplete(bench.context, bench.ledger, true);
  bench.commit('t', 5, both);
  bench.commit('u', 8, both);
  check.beganFeed('r', 3, false);
  for (const message of messages) check.received('r', 'p-1', { status: 'changes', ...message });
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

  it.each([
    ['a transaction is missing', [{ from: 3, to: 9, transactions: [t] }]],
    ['half a transaction', [{ from: 3, to: 6, transactions: [{ ...t, writes: [both[0]!] }] }]],
    ['a repeat', [{ from: 3, to: 6, transactions: [t, t] }]],
    ['a wrong order', [{ from: 3, to: 9, transactions: [u, t] }]],
    [
      'a gap between messages',
      [
        { from: 3, to: 4, transactions: [] },
        { from: 6, to: 9, transactions: [u] },
      ],
    ],
    ['a transaction beyond the end', [{ from: 3, to: 7, transactions: [t, u] }]],
  ])('the check of the change feed reports %s (CF1)', (_, messages) => {
    expect(failuresOf(messages)).toBeGreaterThan(0);
  });
});
