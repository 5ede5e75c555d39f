/** The form of a query: it is checked once, before the query is watched. */
import { IsochronError } from '@isochron/core/errors';
import { isObject, type JsonObject } from '@isochron/core/updates/documents';

/** How a condition compares a field with its value. */
export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'array-contains';

/**
 * A condition on a field. A document without the field does not meet it.
 *
 * `==`, `!=`, `in` (one of an array) and `array-contains` (the field is an array with this item) compare whole values,
 * objects and arrays too. `<`, `<=`, `>` and `>=` compare numbers, texts (by their UTF-8 bytes) and booleans with
 * values of the same type; anything else does not meet them.
 */
export interface Condition {
  /** A JSON Pointer (RFC 6901), such as `/done`; `''` is the document. */
  readonly path: string;
  readonly op: Comparison;
  readonly value: unknown;
}

/**
 * An order by a field: null, booleans, numbers, texts, anything else. Documents without the field come last, whatever
 * the direction.
 */
export interface Order {
  /** A JSON Pointer (RFC 6901), such as `/title`. */
  readonly path: string;
  /** Default `asc`. */
  readonly direction?: 'asc' | 'desc';
}

/** What a query does with the documents of its keys. */
export interface Query {
  /** All of them have to hold. */
  readonly where?: readonly Condition[];
  /** The first one that distinguishes two documents counts; then their keys. */
  readonly orderBy?: readonly Order[];
  /** Most documents of the result: the first ones. */
  readonly limit?: number;
  /** Turns the whole order around, before the limit. Documents without a field of the order still come last. */
  readonly reverse?: boolean;
}

const COMPARISONS: readonly string[] = [
  '==',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  'in',
  'array-contains',
] satisfies Comparison[];
/** Limit of the conditions, and of the orders, of a query. */
const MAX_CLAUSES = 100;

const invalid = (why: string): IsochronError => new IsochronError('INVALID_REQUEST', why);

/**
 * The query in a JSON value.
 * @throws IsochronError INVALID_REQUEST: its message names the clause and its fault
 */
export function parseQuery(raw: { readonly [Name in keyof Query]: unknown }): Query {
  const { where, orderBy, limit, reverse } = raw;
  const conditions = clauses(where, 'where', checkCondition);
  const orders = clauses(orderBy, 'orderBy', checkOrder);
  if (limit !== undefined && !isCount(limit)) throw invalid('limit has to be a whole number from 0 on');
  if (reverse !== undefined && typeof reverse !== 'boolean') throw invalid('reverse has to be true or false');
  return {
    ...(conditions.length === 0 ? {} : { where: conditions }),
    ...(orders.length === 0 ? {} : { orderBy: orders }),
    ...(limit === undefined ? {} : { limit }),
    ...(reverse === true ? { reverse } : {}),
  };
}

function clauses<T>(
  raw: unknown,
  name: string,
  check: (clause: JsonObject, at: string) => asserts clause is JsonObject & T,
) {
  if (raw === undefined) return [];
  if (!Array.isArray(raw) || raw.length > MAX_CLAUSES)
    throw invalid(`${name} has to be an array of at most ${MAX_CLAUSES} objects`);
  return raw.map((clause: unknown, i): T => {
    const at = `${name}[${i}]`;
    if (!isObject(clause)) throw invalid(`${at} has to be an object with a path`);
    if (!isPointer(clause.path))
      throw invalid(`${at}.path has to be a JSON Pointer (RFC 6901): empty, or names that each follow a slash`);
    check(clause, at);
    return clause;
  });
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const isPointer = (path: unknown): boolean =>
  typeof path === 'string' && (path === '' || path.startsWith('/')) && !/~(?![01])/.test(path);

function checkCondition(clause: JsonObject, at: string): asserts clause is JsonObject & Condition {
  checkNames(clause, at, ['path', 'op', 'value']);
  const { op, value } = clause;
  if (typeof op !== 'string' || !COMPARISONS.includes(op))
    throw invalid(`${at}.op must be one of ${COMPARISONS.join(', ')}`);
  if (value === undefined) throw invalid(`${at} has to have a value`);
  if (op === 'in' && !Array.isArray(value)) throw invalid(`${at}.value has to be an array: op is in`);
  if (/[<>]/.test(op) && !['boolean', 'number', 'string'].includes(typeof value))
    throw invalid(`${at}.value has to be a number, a text or a boolean: op is ${op}`);
}

function checkOrder(clause: JsonObject, at: string): asserts clause is JsonObject & Order {
  checkNames(clause, at, ['path', 'direction']);
  const { direction } = clause;
  if (direction !== undefined && direction !== 'asc' && direction !== 'desc')
    throw invalid(`${at}.direction has to be asc or desc`);
}

function checkNames(clause: JsonObject, at: string, names: readonly string[]): void {
  for (const name of Object.keys(clause)) if (!names.includes(name)) throw invalid(`${at} has no ${name}`);
}
