/** `queries.json`: live queries, the documents that change under them, and each result with its changes. */
import { toBase64 } from '@isochron/client/encoding';
import { Decoder } from '@isochron/client/live/decoder';
import { differencesOf, type ResultChange } from '@isochron/client/live/differences';
import type { LiveDocument } from '@isochron/client/live/observer';
import { type Condition, parseQuery } from '@isochron/client/live/query';
import { QueryResults, type ResultDocument } from '@isochron/client/live/results';
import { IsochronError } from '@isochron/core';
import { type DrawnCondition, type DrawnQuery, type DrawnState, drawQueries } from './draw.js';
import { EDGES } from './edges.js';

export const DRAWN_QUERIES = 1500;

export const queries = (seed: number): object => ({
  seed,
  queries: [...EDGES, ...drawQueries(seed, DRAWN_QUERIES)].map(shown),
  faults: FAULTS.map((query) => ({ ...query, why: faultOf(query) })),
});

/** The part of a query that can be wrong. */
type DrawnClauses = Pick<DrawnQuery, 'where' | 'orderBy' | 'limit'>;

const clauses = (given: Partial<DrawnClauses>): DrawnClauses => ({ where: [], orderBy: [], limit: null, ...given });
const one: DrawnCondition = { path: '/a', op: '==', value: '1' };

const FAULTS: readonly DrawnClauses[] = [
  clauses({ limit: -1 }),
  clauses({ where: Array<DrawnCondition>(101).fill(one) }),
  clauses({ orderBy: Array<DrawnClauses['orderBy'][number]>(101).fill({ path: '', direction: 'asc' }) }),
  ...['a', '/a~2', '/~', '/a/~x', ' /a'].map((path) => clauses({ where: [one, { ...one, path }] })),
  ...['a', '/~2'].map((path) => clauses({ orderBy: [{ path, direction: 'desc' }] })),
  ...['1', 'null', '{}'].map((value) => clauses({ where: [{ path: '/a', op: 'in', value }] })),
  ...['<', '<=', '>', '>='].flatMap((op) =>
    ['null', '[]', '{}'].map((value) => clauses({ where: [one, one, { path: '/a', op, value }] })),
  ),
];

const parsed = ({ where, orderBy, limit }: DrawnClauses, reverse = false) =>
  parseQuery({
    where: where.map(({ value, ...rest }) => ({ ...rest, value: JSON.parse(value) as unknown }) as Condition),
    orderBy,
    limit: limit ?? undefined,
    reverse,
  });

function faultOf(query: DrawnClauses): string {
  try {
    parsed(query);
  } catch (error) {
    if (error instanceof IsochronError) return error.message;
  }
  throw new Error(`no fault in ${JSON.stringify(query)}`);
}

function shown(drawn: DrawnQuery): object {
  const order = drawn.named === null ? undefined : new Map(drawn.named.map((key, i) => [key, i]));
  const results = new QueryResults(parsed(drawn, drawn.reverse), { nameOf: (key) => key, order }, new Decoder());
  const documents = new Map<string, LiveDocument>();
  return { ...drawn, steps: drawn.steps.map((step) => shownStep(results, documents, withinNames(step, drawn.named))) };
}

const withinNames = (step: readonly DrawnState[], named: readonly string[] | null): readonly DrawnState[] =>
  named === null ? step : step.filter(({ key }) => named.includes(key));

function shownStep(results: QueryResults, documents: Map<string, LiveDocument>, step: readonly DrawnState[]): object {
  const before = results.documents;
  for (const { key, value, pending } of step) {
    if (value === null) documents.delete(key);
    else if (!isShown(documents.get(key), value, pending))
      documents.set(key, { key, value: typeof value === 'string' ? value : Uint8Array.from(value), pending });
  }
  const hasChanged = results.update({ documents, changed: new Set(step.map(({ key }) => key)) });
  const after = results.documents;
  return {
    set: step.map(({ key, value, pending }) => ({ key, value: stored(value), pending })),
    hasChanged,
    result: after.map(({ key, pending }) => ({ key, pending })),
    changes: changesOf(before, after),
  };
}

/** Whether a document is in this state: then it stays the same object. */
const isShown = (document: LiveDocument | undefined, value: DrawnState['value'], pending: boolean): boolean =>
  document?.pending === pending && String(document.value) === String(value) && typeof document.value === typeof value;

/** Bytes as base64. */
function stored(value: DrawnState['value']): string | { readonly bytes: string } | null {
  return value === null || typeof value === 'string' ? value : { bytes: toBase64(Uint8Array.from(value)) };
}

function changesOf(before: readonly ResultDocument[], after: readonly ResultDocument[]): object[] {
  const changes: readonly ResultChange[] = differencesOf(before, after);
  return changes.map((change) => ({
    type: change.type,
    key: change.key,
    ...('oldIndex' in change ? { oldIndex: change.oldIndex } : {}),
    ...('newIndex' in change ? { newIndex: change.newIndex } : {}),
  }));
}
