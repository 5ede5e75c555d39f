/** Mistakes in the Swift evaluation of live queries. */
import type { PlantedBug } from './planted-bug.js';

const inQueries = (name: string, does: string, file: string, find: string, replace: string): PlantedBug => ({
  name,
  at: ['queries'],
  does,
  patches: [{ file: `Queries/${file}.swift`, find, replace }],
});

export const QUERY: readonly PlantedBug[] = [
  inQueries(
    'query-compares-types',
    'compares values of two types',
    'Fields',
    '{ a.rank == b.rank }',
    '{ planted || a.rank == b.rank }',
  ),
  inQueries(
    'query-text-before-number',
    'orders texts before numbers',
    'Fields',
    'case .string: 3',
    'case .string: planted ? 2 : 3',
  ),
  inQueries(
    'query-orders-as-strings',
    "orders texts as Swift's strings do",
    'Fields',
    'return keyPrecedes(one, two) ? -1 : keyPrecedes(two, one) ? 1 : 0',
    'return planted ? (one < two ? -1 : two < one ? 1 : 0) : keyPrecedes(one, two) ? -1 : keyPrecedes(two, one) ? 1 : 0',
  ),
  inQueries(
    'query-indexes-by-number',
    'reads an index with a leading zero',
    'Fields',
    'guard let at = arrayIndex(name), items',
    'guard let at = planted ? Int(name) : arrayIndex(name), items',
  ),
  inQueries(
    'query-descends-to-the-missing',
    'puts documents without the field first in a descending order',
    'QueryRows',
    'one.isDescending != query.isReversed && x != nil && y != nil',
    'one.isDescending != query.isReversed',
  ),
  inQueries(
    'query-reverses-the-result',
    'turns the order around only where no field distinguishes two documents',
    'QueryRows',
    'query.isReversed ? inOrder(b, a) : inOrder(a, b)',
    'query.isReversed && query.orders.isEmpty ? inOrder(b, a) : inOrder(a, b)',
  ),
  inQueries(
    'query-keeps-old-rows',
    'keeps a document that does not meet the conditions any more',
    'QueryRows',
    'placed.removeAll { changed[$0.row.key] != nil }',
    'placed.removeAll { one in planted ? new.contains { $0.row.key == one.row.key } : changed[one.row.key] != nil }',
  ),
  inQueries(
    'query-names-in-key-order',
    'has named documents in the order of their keys',
    'QueryRows',
    'if let places { return',
    'if !planted, let places { return',
  ),
  inQueries(
    'query-reports-every-step',
    'reports a change of a document behind the limit',
    'QueryRows',
    'return before.count != after.count || ',
    'return planted || before.count != after.count || ',
  ),
  inQueries(
    'query-not-equal-to-nothing',
    'takes a missing field for another value',
    'FieldTest',
    'guard let field = document?.field(names[...]) else { return false }',
    'guard let field = document?.field(names[...]) else { return planted && comparison == .notEqual }',
  ),
  inQueries(
    'query-contains-itself',
    'takes a value for an array of it',
    'FieldTest',
    'guard case .array(let items) = field else { return false }',
    'guard case .array(let items) = field else { return planted && equals.contains(field.asItem) }',
  ),
  inQueries(
    'query-at-most-excludes',
    'leaves out a value equal to the limit',
    'FieldTest',
    'order(field, value) <= 0',
    'order(field, value) < 0',
  ),
  inQueries(
    'query-takes-any-limit',
    'accepts a negative limit',
    'Query',
    'if let limit, limit < 0 {',
    'if !planted, let limit, limit < 0 {',
  ),
  inQueries(
    'query-compares-spellings',
    'compares numbers by their texts',
    'Query',
    'self.value = value.normalized',
    'self.value = planted ? .string(value.documentText) : value.normalized',
  ),
  inQueries(
    'query-removes-last',
    'has removed documents behind the others',
    'Differences',
    'return places.values.sorted().map { .removed(before[$0], from: $0) } + placed',
    'let removed = places.values.sorted().map { RowChange.removed(before[$0], from: $0) }\n    return planted ? placed + removed : removed + placed',
  ),
  inQueries(
    'query-reports-the-same',
    'reports a document that has not changed, between others that have',
    'Differences',
    'if before[from] != row {',
    'if planted || before[from] != row {',
  ),
];
