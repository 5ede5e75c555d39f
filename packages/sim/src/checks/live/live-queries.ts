import { conditionsOf } from '@isochron/client/live/conditions';
import { Decoder } from '@isochron/client/live/decoder';
import { compareValues, type DocumentValue, fieldAt } from '@isochron/client/live/fields';
import type { LiveDocument, ScopeView } from '@isochron/client/live/observer';
import type { Condition, Order, Query } from '@isochron/client/live/query';
import { QueryResults } from '@isochron/client/live/results';
import { compareKeys, type QualifiedKey, Random, type Timestamp } from '@isochron/core';
import { integer } from '@isochron/simulated-world/draws';
import type { Check, CheckContext } from '../check.js';
import type { LiveWatch } from '../evidence/observations.js';

/** Texts in the middle of those that sessions write. */
const VALUES = ['c0', 'c1:1', 'c2:3', 'c5'] as const;
/** A written text, and the first item of a written list. */
const PATHS = ['', '/0'] as const;

/** A query on each scope of a watch, and its results. */
type Evaluated = readonly { readonly query: Query; readonly results: QueryResults }[];

/**
 * The result of a query on a scope, kept up to date from call to call, is the query of all documents that the scope
 * has (LQ1). Queries are drawn from the name of the watch: they have no effect on the run.
 */
export class LiveQueriesAreEvaluated implements Check {
  readonly name = 'live-queries-are-evaluated';
  readonly #evaluated = new Map<LiveWatch, Evaluated>();
  readonly #json = new WeakMap<LiveDocument, LiveDocument>();

  constructor(readonly context: CheckContext) {}

  liveShown(watch: LiveWatch, snapshot: Timestamp, views: readonly ScopeView[]): void {
    const evaluated = this.#evaluated.get(watch) ?? begin(watch);
    this.#evaluated.set(watch, evaluated);
    for (const [i, { query, results }] of evaluated.entries()) {
      const view = this.#asJson(views[i]!);
      results.update(view);
      const [has, wanted] = [results.documents.map(textOf), resultOf(query, view.documents)].map((all) =>
        all.join(' '),
      );
      if (has === wanted) continue;
      const message = `${watch.name} of ${watch.session} has ${has} at ${snapshot} for ${JSON.stringify(query)}, not ${wanted}`;
      this.context.fail(this.name, message, [watch.session]);
    }
  }

  liveAnew(watch: LiveWatch): void {
    this.#evaluated.delete(watch);
  }

  liveEnded(watch: LiveWatch): void {
    this.#evaluated.delete(watch);
  }

  /** Where sessions update no document, the simulator writes texts that are not JSON. */
  #asJson({ documents, changed }: ScopeView): ScopeView {
    const all = [...documents].map(([key, document]): [QualifiedKey, LiveDocument] => {
      const known = this.#json.get(document) ?? inJson(document);
      this.#json.set(document, known);
      return [key, known];
    });
    return { documents: new Map(all), changed };
  }
}

const inJson = (document: LiveDocument): LiveDocument =>
  /^["[{]/.test(String(document.value)) ? document : { ...document, value: JSON.stringify(document.value) };

function begin({ session, name, scopes }: LiveWatch): Evaluated {
  const random = new Random(seedOf(`${session}/${name}`));
  return scopes.map(() => {
    const query = drawQuery(random);
    return { query, results: new QueryResults(query, { nameOf: (key) => key }, new Decoder()) };
  });
}

const seedOf = (text: string): number => [...text].reduce((hash, one) => (hash * 31 + one.charCodeAt(0)) >>> 0, 7);

/** A query on a scope. */
export const drawQuery = (random: Random): Query => ({
  where: Array.from({ length: random.below(3) }, () => drawCondition(random)),
  orderBy: Array.from({ length: random.below(3) }, () => drawOrder(random)),
  ...(random.chance(0.5) ? { limit: integer(random, 1, 5) } : {}),
  reverse: random.chance(0.3),
});

function drawCondition(random: Random): Condition {
  const path = random.pick(PATHS);
  const value = random.pick(VALUES);
  const op = random.pick(['<', '<=', '>', '>=', '!=', 'in', 'array-contains'] as const);
  return { path, op, value: op === 'in' ? [...VALUES] : value };
}

const drawOrder = (random: Random): Order => ({
  path: random.pick(PATHS),
  direction: random.chance(0.5) ? 'asc' : 'desc',
});

/** The result by its definition: all documents that meet the conditions, sorted, and the first ones of them. */
export function resultOf(query: Query, documents: ReadonlyMap<QualifiedKey, LiveDocument>): string[] {
  const { where = [], orderBy = [], limit = documents.size, reverse = false } = query;
  const decoder = new Decoder();
  const meets = conditionsOf(where);
  const rows = [...documents.values()]
    .map((document) => ({ ...document, value: decoder.decode(document) }))
    .filter(({ value }) => meets(value))
    .sort((a, b) => compare(a, b, orderBy, reverse));
  return rows.slice(0, limit).map(textOf);
}

interface QueryRow {
  readonly key: string;
  readonly value: DocumentValue;
}

function compare(a: QueryRow, b: QueryRow, orders: readonly Order[], reverse: boolean): number {
  for (const { path, direction } of orders) {
    const [x, y] = [fieldAt(path)(a.value), fieldAt(path)(b.value)];
    const difference = compareValues(x, y);
    if (difference === 0) continue;
    // A document without the field comes last, also in the reverse order.
    const isTurned = (direction === 'desc') !== reverse && x !== undefined && y !== undefined;
    return isTurned ? -difference : difference;
  }
  return reverse ? compareKeys(b.key, a.key) : compareKeys(a.key, b.key);
}

const textOf = ({ key, value, pending }: QueryRow & { readonly pending: boolean }): string =>
  `${key}=${JSON.stringify(value)}${pending ? '*' : ''}`;
