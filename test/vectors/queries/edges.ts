/** Queries at the edges, made by hand. */
import type { DrawnQuery, DrawnState } from './draw.js';

const states = (values: readonly string[]): readonly DrawnState[] =>
  values.map((value, i) => ({ key: `k${i}`, value, pending: false }));

const query = (given: Partial<DrawnQuery>, ...values: readonly string[]): DrawnQuery => ({
  where: [],
  orderBy: [],
  limit: null,
  reverse: false,
  named: null,
  steps: [states(values)],
  ...given,
});

const byValue = { orderBy: [{ path: '', direction: 'asc' as const }] };

export const EDGES: readonly DrawnQuery[] = [
  // One word in two spellings, and characters whose order differs between UTF-8 and UTF-16.
  query(byValue, '"\u00e9"', '"e\u0301"', '"f"', '"e"'),
  query(byValue, '"\u{1f600}"', '"\uffee"', '"\ud834\udd1e"'),
  // Only a number without a leading zero is an index.
  ...['/1', '/01', '/+1', '/ 1', '/-1', '/1e0', '/2'].map((path) =>
    query({ where: [{ path, op: '==', value: '1' }] }, '[0,1]', '{"01":1}', '{"1":1}', '{"+1":1,"-1":1}'),
  ),
];
