/** Whether a document meets the conditions of a query. */
import { ItemSet } from '@isochron/core/updates/items';
import { compareValues, type DocumentValue, fieldAt, rankOf } from './fields.js';
import type { Comparison, Condition } from './query.js';

type Test = (field: unknown) => boolean;

/** Compares values of one type. */
const inOrder =
  (holds: (order: number) => boolean) =>
  (value: unknown): Test =>
  (field) =>
    rankOf(field) === rankOf(value) && holds(compareValues(field, value));

const isOneOf = (values: readonly unknown[]): Test => {
  const set = new ItemSet(values);
  return (field) => set.has(field);
};

const TESTS: Readonly<Record<Comparison, (value: unknown) => Test>> = {
  '==': (value) => isOneOf([value]),
  '!=': (value) => {
    const isEqual = isOneOf([value]);
    return (field) => !isEqual(field);
  },
  '<': inOrder((order) => order < 0),
  '<=': inOrder((order) => order <= 0),
  '>': inOrder((order) => order > 0),
  '>=': inOrder((order) => order >= 0),
  in: (value) => isOneOf(value as readonly unknown[]),
  'array-contains': (value) => {
    const isEqual = isOneOf([value]);
    return (field) => Array.isArray(field) && field.some(isEqual);
  },
};

/** The test of all conditions. */
export function conditionsOf(where: readonly Condition[]): (document: DocumentValue) => boolean {
  const tests = where.map(({ path, op, value }) => ({ field: fieldAt(path), holds: TESTS[op](value) }));
  return (document) =>
    tests.every(({ field, holds }) => {
      const value = field(document);
      return value !== undefined && holds(value);
    });
}
