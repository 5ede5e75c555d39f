/**
 * The result of a query over the documents of its keys, kept up to date: a change of one document decodes, tests and
 * places that one only. Documents that do not change stay the same objects, and so does a result without a change.
 */
import type { QualifiedKey } from '@isochron/core/ids';
import { compareKeys } from '@isochron/core/versions';
import { conditionsOf } from './conditions.js';
import type { Decoder } from './decoder.js';
import { compareValues, type DocumentValue, fieldAt } from './fields.js';
import type { LiveDocument, ScopeView } from './observer.js';
import type { Query } from './query.js';

/** A document of a result. It is never changed: a new state is a new object. */
export interface ResultDocument<T = unknown> {
  /** The key, or the id in a collection. */
  readonly key: string;
  /** All results share it: it must not be changed, and JSON is frozen. */
  readonly value: T;
  /** Whether an own write of it is not stable yet. */
  readonly pending: boolean;
}

/** A document that meets the conditions. */
interface ResultRow {
  readonly source: LiveDocument;
  readonly document: ResultDocument;
  /** Its values that the order compares. */
  readonly fields: readonly unknown[];
}

type Compare = (a: ResultRow, b: ResultRow) => number;

/** Names of a query's keys in its result, and their order. */
export interface ResultKeys {
  /** The key in the result. */
  nameOf(key: QualifiedKey): string;
  /** Named keys in the order that the query gives them; a range is in the order of its keys. */
  readonly order?: ReadonlyMap<QualifiedKey, number> | undefined;
}

export class QueryResults {
  /** The result: the same array until something in it changes. */
  documents: readonly ResultDocument[] = [];
  /** All documents that meet the conditions, in order. */
  #rows: readonly ResultRow[] = [];
  readonly #matches: (document: DocumentValue) => boolean;
  readonly #fields: readonly ((document: DocumentValue) => unknown)[];
  readonly #compare: Compare;
  readonly #limit: number;

  constructor(
    { where = [], orderBy = [], limit = Number.POSITIVE_INFINITY, reverse = false }: Query,
    readonly keys: ResultKeys,
    readonly decoder: Decoder,
  ) {
    this.#matches = conditionsOf(where);
    this.#fields = orderBy.map(({ path }) => fieldAt(path));
    const turn = reverse ? -1 : 1;
    const directions = orderBy.map(({ direction }) => (direction === 'desc' ? -turn : turn));
    this.#compare = compareRows(directions, keys, turn);
    this.#limit = limit;
  }

  /** Takes the changes of a view. Returns whether the result has changed. @throws IsochronError FRAME_INVALID */
  update({ documents, changed }: ScopeView): boolean {
    const kept: ResultRow[] = [];
    const old = new Map<QualifiedKey, ResultRow>();
    for (const row of this.#rows)
      if (changed.has(row.source.key)) old.set(row.source.key, row);
      else kept.push(row);
    const placed: ResultRow[] = [];
    for (const key of changed) {
      const document = documents.get(key);
      const row = document === undefined ? undefined : this.#row(document, old.get(key));
      if (row !== undefined) placed.push(row);
    }
    if (old.size === 0 && placed.length === 0) return false;
    this.#rows = merged(kept, placed.sort(this.#compare), this.#compare);
    return this.#show(this.#rows.slice(0, this.#limit).map(({ document }) => document));
  }

  #row(source: LiveDocument, old: ResultRow | undefined): ResultRow | undefined {
    if (old?.source === source) return old;
    const { key, pending } = source;
    const value = this.decoder.decode(source, old?.source);
    if (!this.#matches(value)) return undefined;
    const document = Object.freeze({ key: this.keys.nameOf(key), value, pending });
    return { source, document, fields: this.#fields.map((field) => field(value)) };
  }

  #show(documents: readonly ResultDocument[]): boolean {
    const before = this.documents;
    if (before.length === documents.length && documents.every((document, i) => document === before[i])) return false;
    this.documents = Object.freeze(documents);
    return true;
  }
}

/**
 * Documents without a field come last in every direction.
 * @param turn -1 where equal documents are in the reverse order of their keys
 */
function compareRows(directions: readonly number[], { order }: ResultKeys, turn: number): Compare {
  const byKey: Compare = ({ source: a }, { source: b }) =>
    turn * (order === undefined ? compareKeys(a.key, b.key) : order.get(a.key)! - order.get(b.key)!);
  return (a, b) => {
    for (const [i, direction] of directions.entries()) {
      const [x, y] = [a.fields[i], b.fields[i]];
      const difference = compareValues(x, y);
      if (difference !== 0) return x === undefined || y === undefined ? difference : direction * difference;
    }
    return byKey(a, b);
  };
}

/** Both lists are in order. */
function merged(kept: readonly ResultRow[], placed: readonly ResultRow[], compare: Compare): readonly ResultRow[] {
  if (placed.length === 0) return kept;
  const rows: ResultRow[] = [];
  let next = 0;
  for (const row of placed) {
    const at = firstAbove(kept, row, next, compare);
    for (; next < at; next++) rows.push(kept[next]!);
    rows.push(row);
  }
  for (; next < kept.length; next++) rows.push(kept[next]!);
  return rows;
}

/** The first position from `low` on whose row comes after `row`. */
function firstAbove(rows: readonly ResultRow[], row: ResultRow, low: number, compare: Compare): number {
  let high = rows.length;
  let from = low;
  while (from < high) {
    const middle = (from + high) >>> 1;
    if (compare(rows[middle]!, row) < 0) from = middle + 1;
    else high = middle;
  }
  return from;
}
