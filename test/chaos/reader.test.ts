import type { ChangesMessage } from '@isochron/sdk';
import { FeedCopy } from './feed-copy.js';
import { differences, type Reader } from './reader.js';

const message = (from: number, to: number, ...at: [id: string, timestamp: number][]): ChangesMessage => ({
  from,
  to,
  cursor: `${to}`,
  transactions: at.map(([id, timestamp]) => ({
    id,
    timestamp,
    writes: [{ keyspace: 'default', key: 'hot/1', value: id }],
  })),
});

/** What a copy finds wrong in some messages. */
function wrongIn(...messages: ChangesMessage[]): string[] {
  const found: string[] = [];
  const copy = new FeedCopy((what) => found.push(what));
  for (const one of messages) copy.take(one);
  return found;
}

describe('a follower of the change feed', () => {
  it('messages that follow one another are right, also without transactions and with equal timestamps', () => {
    expect(wrongIn(message(0, 10), message(10, 20, ['a', 15], ['b', 15]), message(20, 20), message(20, 30))).toEqual(
      [],
    );
  });

  it.each([
    ['a gap between two messages', [message(0, 10), message(11, 20)]],
    ['a transaction that comes twice', [message(0, 10, ['a', 5]), message(10, 20, ['a', 5])]],
    ['transactions in another order', [message(0, 10, ['b', 5], ['a', 5])]],
    ['a transaction above the end of its message', [message(0, 10, ['a', 11])]],
    ['a transaction below the beginning of its message', [message(10, 20, ['a', 10])]],
  ])('%s is reported', (_what, messages) => {
    expect(wrongIn(...messages)).toHaveLength(1);
  });
});

describe('a reader at the end of a run', () => {
  const reader: Reader = {
    name: 'watcher/0',
    documents: new Map([
      ['hot/1', 'a'],
      ['hot/2', 'b'],
      ['hot/3', 'c'],
    ]),
    reads: (key) => key.startsWith('hot/'),
    run: async () => undefined,
  };

  it('a document that a reader lacks, has still, or has otherwise is reported, and no other one', () => {
    const everything = new Map([
      ['hot/1', 'a'],
      ['hot/3', 'd'],
      ['hot/4', 'e'],
      ['ledger/1', 'f'],
    ]);
    expect(differences(reader, everything)).toEqual([
      'watcher/0 has hot/2 as b, not as undefined',
      'watcher/0 has hot/3 as c, not as d',
      'watcher/0 has hot/4 as undefined, not as e',
    ]);
  });
});
