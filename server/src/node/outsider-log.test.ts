import { outsiderLogger } from './outsider-log.js';

it('a node that sends decisions of others is logged at once, and then every 10 s with the number of its messages', () => {
  const lines: object[] = [];
  let now = 0;
  const log = outsiderLogger({ warn: (fields: object) => void lines.push(fields) }, () => now);
  const message = { type: 'CommitTx', from: 'oregon-1', txId: 't', partition: 3 };
  for (now of [0, 1, 9_999, 10_000]) log(message);
  log({ ...message, from: 'ireland-1' });
  expect(lines).toEqual([
    { from: 'oregon-1', type: 'CommitTx', transaction: 't', partition: 3, count: 1 },
    { from: 'oregon-1', type: 'CommitTx', transaction: 't', partition: 3, count: 3 },
    { from: 'ireland-1', type: 'CommitTx', transaction: 't', partition: 3, count: 1 },
  ]);
});
