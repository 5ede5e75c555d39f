/** What a watch asks of the machine, and the result that it makes of the answer. */
import { Decoder } from '@isochron/client/live/decoder';
import { differencesOf } from '@isochron/client/live/differences';
import type { LiveScope, ScopeView } from '@isochron/client/live/observer';
import { parseQuery, type Query } from '@isochron/client/live/query';
import { QueryResults, type ResultDocument, type ResultKeys } from '@isochron/client/live/results';
import { IsochronError } from '@isochron/core/errors';
import type { QualifiedKey } from '@isochron/core/ids';
import { compareKeys, prefixEnd } from '@isochron/core/versions';
import { levelIn } from '../api/level.js';
import { type KeyScope, keyIn } from '../api/scope.js';
import type {
  DocumentResult,
  LiveDriver,
  LiveState,
  QueryResult,
  RangeQuery,
  Watched,
  WatchPlan,
} from '../api/watched.js';
import { checkKey } from '../documents.js';

/** A result and what changes it. */
export interface Reading<R> {
  readonly scopes: readonly LiveScope[];
  /** Takes views of its scopes. Returns whether the result has changed. @throws IsochronError FRAME_INVALID */
  update(views: readonly ScopeView[]): boolean;
  readonly hasPendingWrites: boolean;
  /** The result, with its changes since the last call. */
  take(state: LiveState): R;
}

/** Decoded documents of each client. */
const decoders = new WeakMap<LiveDriver, Decoder>();

function decoderOf(driver: LiveDriver): Decoder {
  const known = decoders.get(driver) ?? new Decoder();
  decoders.set(driver, known);
  return known;
}

/** @throws IsochronError for a wrong query: INVALID_REQUEST, KEY_INVALID */
export function readingOf(driver: LiveDriver, plan: WatchPlan): Reading<unknown> {
  switch (plan.kind) {
    case 'document':
      return new DocumentReading(driver, plan.scope, plan.id);
    case 'keys':
      return namedKeys(driver, plan.scope, plan.keys);
    case 'range':
      return range(driver, plan.scope, plan.range);
    case 'cut':
      return new CutReading(driver, plan.watches);
  }
}

class QueryReading implements Reading<QueryResult> {
  readonly scopes: readonly LiveScope[];
  readonly #results: QueryResults;
  #taken: readonly ResultDocument[] = [];

  /** @param scope undefined for a query that has no keys: its result is empty */
  constructor(driver: LiveDriver, scope: LiveScope | undefined, query: Query, keys: ResultKeys) {
    this.scopes = scope === undefined ? [] : [scope];
    this.#results = new QueryResults(query, keys, decoderOf(driver));
  }

  get documents(): readonly ResultDocument[] {
    return this.#results.documents;
  }

  get hasPendingWrites(): boolean {
    return this.documents.some(({ pending }) => pending);
  }

  update([view]: readonly ScopeView[]): boolean {
    return view !== undefined && this.#results.update(view);
  }

  take(state: LiveState): QueryResult {
    const { documents } = this;
    const changes = differencesOf(this.#taken, documents);
    this.#taken = documents;
    return { documents, changes, ...state };
  }
}

class DocumentReading implements Reading<DocumentResult> {
  readonly scopes: readonly LiveScope[];
  readonly #key: string;
  readonly #query: QueryReading;

  constructor(driver: LiveDriver, scope: KeyScope, id: string) {
    this.#key = id;
    this.#query = namedKeys(driver, scope, [id]);
    this.scopes = this.#query.scopes;
  }

  get hasPendingWrites(): boolean {
    return this.#query.hasPendingWrites;
  }

  update(views: readonly ScopeView[]): boolean {
    return this.#query.update(views);
  }

  take(state: LiveState): DocumentResult {
    const [document] = this.#query.documents;
    return { key: this.#key, value: document?.value, pending: document?.pending ?? false, ...state };
  }
}

const STATE: readonly string[] = ['snapshot', 'meta'] satisfies (keyof LiveState)[];

/** Several watches at one snapshot. */
class CutReading implements Reading<object> {
  readonly scopes: readonly LiveScope[];
  readonly #parts: readonly (readonly [string, Reading<unknown>])[];

  constructor(driver: LiveDriver, watches: Readonly<Record<string, Watched>>) {
    this.#parts = Object.entries(watches).map(([name, watch]) => {
      if (watch.driver !== driver) throw invalid(`the watch ${name} belongs to another client`);
      if (STATE.includes(name)) throw invalid(`a watch cannot have the name ${name}, which the result has`);
      return [name, readingOf(driver, watch.plan)];
    });
    this.scopes = this.#parts.flatMap(([, { scopes }]) => scopes);
  }

  get hasPendingWrites(): boolean {
    return this.#parts.some(([, { hasPendingWrites }]) => hasPendingWrites);
  }

  update(views: readonly ScopeView[]): boolean {
    let at = 0;
    let hasChanged = false;
    for (const [, part] of this.#parts) {
      const own = views.slice(at, at + part.scopes.length);
      at += own.length;
      hasChanged = part.update(own) || hasChanged;
    }
    return hasChanged;
  }

  take(state: LiveState): object {
    const results = this.#parts.map(([name, part]) => {
      const meta = { ...state.meta, hasPendingWrites: part.hasPendingWrites };
      return [name, part.take({ ...state, meta })];
    });
    return { ...Object.fromEntries(results), ...state };
  }
}

const invalid = (why: string): IsochronError => new IsochronError('INVALID_REQUEST', why);

/** Keys as results name them. */
const inScope = ({ keyspace, prefix }: KeyScope): ResultKeys => {
  const length = keyspace.length + 1 + prefix.length;
  return { nameOf: (key) => key.slice(length) };
};

function namedKeys(driver: LiveDriver, scope: KeyScope, keys: readonly string[]): QueryReading {
  if (!Array.isArray(keys)) throw invalid('keys has to be an array');
  const order = new Map<QualifiedKey, number>();
  for (const key of keys.map((id) => keyIn(scope, id, driver))) if (!order.has(key)) order.set(key, order.size);
  const named = order.size === 0 ? undefined : { keys: [...order.keys()] };
  return new QueryReading(driver, named, {}, { ...inScope(scope), order });
}

function range(driver: LiveDriver, scope: KeyScope, options: Omit<RangeQuery, 'signal'>): QueryReading {
  const { prefix = '', start, end, deep, ...query } = options;
  const level = levelIn(scope, prefix, deep);
  const within = `${scope.keyspace}/${scope.prefix}`;
  const bound = (name: string, key: unknown): QualifiedKey => {
    if (typeof key !== 'string') throw invalid(`${name} has to be a text`);
    if (scope.prefix + key !== '') checkKey(scope.prefix + key, driver.limits);
    return within + key;
  };
  const all = bound('prefix', prefix);
  // A keyspace's name and the slash behind it have a text above them.
  const above = prefixEnd(all)!;
  const first = start === undefined ? all : later(all, bound('start', start));
  const behind = end === undefined ? above : earlier(above, bound('end', end));
  const parsed = parseQuery(query);
  const isEmpty = parsed.limit === 0 || compareKeys(first, behind) >= 0;
  return new QueryReading(
    driver,
    isEmpty ? undefined : { start: first, end: behind, ...level },
    parsed,
    inScope(scope),
  );
}

const later = (a: QualifiedKey, b: QualifiedKey): QualifiedKey => (compareKeys(a, b) < 0 ? b : a);
const earlier = (a: QualifiedKey, b: QualifiedKey): QualifiedKey => (compareKeys(a, b) < 0 ? a : b);
