import { Update } from '@isochron/core';
import { changesMessage } from './change-messages.js';

const message = (value: string | Update, document: string) =>
  changesMessage(
    {
      from: 1,
      to: 2,
      transactions: [
        { txId: 't', ct: 2, writes: [{ key: 'k/a\n\u2028b', value, after: { document }, before: { document } }] },
      ],
    },
    'cluster',
    { keyspace: null, prefix: '' },
  ).text;

describe('a message of the change feed', () => {
  it.each([
    ['a document', '{\r"n":\r\n1\n}'],
    ['operations', new Update('[\n {"op":"set",\n"path":"/n","value":1}\r]')],
  ])('a message is one line, whatever line ends %s has', (_, value) => {
    const text = message(value, '[\n1]');
    expect(text).not.toMatch(/[\r\n]/);
    const [{ writes }] = (JSON.parse(text) as { transactions: { writes: unknown[] }[] }).transactions as [
      { writes: unknown[] },
    ];
    expect(writes).toMatchObject([{ keyspace: 'k', key: 'a\n\u2028b', before: [1] }]);
  });
});
