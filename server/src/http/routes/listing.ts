/** `GET /v1/keyspaces/:keyspace/keys`: ordered listing, all pages in one snapshot. */
import { compareKeys, IsochronError, type QualifiedKey, type Timestamp, type Version } from '@isochron/core';
import type { ListResp, Snapshot } from '@isochron/protocols';
import {
  type CacheEntry,
  type Caller,
  type CoordinatorRequest,
  cutPage,
  floorOf,
  listRange,
  overlayOf,
  snapshotOf,
  wanted,
  withOwn,
} from '@isochron/sessions';
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { answerTo } from '../../node/promised.js';
import type { TransactionsContext } from '../context.js';
import { type Cursor, decodeCursor, encodeCursor } from '../cursors/cursor.js';
import { json, READ_HEADERS, SessionHeaders } from '../documentation/openapi.js';
import { AtSchema, named, object, TimestampSchema, ValueFields } from '../documentation/schemas.js';
import { valueFields } from '../one-shots/reader.js';
import type { TransactionsRoute } from './route.js';
import { READ_ERRORS } from './route-errors.js';

const DEFAULT_LIMIT = 100;

/** One page: its range, its snapshot, and own writes above that. */
interface ListedPage {
  readonly keyspace: string;
  readonly prefix: string;
  readonly start: QualifiedKey;
  readonly end: QualifiedKey;
  readonly limit: number;
  readonly at: Snapshot | null;
  /** Documents at or below it go without their values. */
  readonly known: Timestamp;
}

const ListAnswer = named('ListAnswer', {
  snapshot: TimestampSchema,
  entries: Type.Array(named('Entry', { key: Type.String(), ...ValueFields })),
  cursor: Type.Union([Type.String(), Type.Null()], { description: 'for the next page; null after the last one' }),
});
const ListQuery = object({
  prefix: Type.Optional(
    Type.String({ description: 'only keys with this prefix; percent-encoded, with %2B for a plus: + is a blank' }),
  ),
  start: Type.Optional(Type.String({ description: 'first key that may be listed; percent-encoded as prefix' })),
  limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, default: 100 })),
  known: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'the caller has the documents of this snapshot: those with timestamps up to it come without values',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      description: 'continues a listing, in its snapshot; goes with no other parameter but limit and known',
    }),
  ),
  at: Type.Optional(AtSchema),
});
type ListQuery = Static<typeof ListQuery>;

/** The ordered listing of a keyspace. */
export const LIST_ROUTE: TransactionsRoute = {
  method: 'GET',
  path: '/v1/keyspaces/:keyspace/keys',
  id: 'listKeys',
  tag: 'keys',
  summary: 'Lists keys in order, inside one snapshot',
  access: 'read',
  needs: 'list',
  params: object({ keyspace: Type.String() }),
  headers: SessionHeaders,
  query: ListQuery,
  answers: { 200: json(ListAnswer, 'a page', READ_HEADERS) },
  errors: [...READ_ERRORS, 'CURSOR_INVALID'],
  handle: ({ api }, request, reply) => list(api, request, reply),
};

async function list(api: TransactionsContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { keyspace } = request.params as { keyspace: string };
  const query = request.query as ListQuery;
  if (query.cursor === undefined) await firstPage(api, request, reply, pageOf(api, keyspace, query, api.at(query)));
  else await nextPage(api, request, reply, keyspace, query);
}

async function firstPage(
  api: TransactionsContext,
  request: FastifyRequest,
  reply: FastifyReply,
  page: ListedPage,
): Promise<void> {
  const caller = page.at === null ? await api.reader(request) : await api.caller(request);
  const { answer, own } = await fetchPage(api, request, caller, page);
  const { entries, next } = merge(page, answer, own);
  const later = next === null ? [] : own.filter(({ key }) => compareKeys(key, next) >= 0);
  const overlay = later.length === 0 ? null : api.sessions.store.keepListing(later, api.holder(request));
  send(api, request, reply, caller, page, { snapshot: snapshotOf(answer), entries, next, overlay });
}

async function nextPage(
  api: TransactionsContext,
  request: FastifyRequest,
  reply: FastifyReply,
  keyspace: string,
  query: ListQuery,
): Promise<void> {
  const cursor = cursorOf(api, keyspace, query);
  const own = cursor.overlay === null ? [] : api.sessions.store.listing(cursor.overlay, api.holder(request));
  if (own === undefined) {
    const detail = "The session's own writes of this listing are no longer kept here. Start the listing again.";
    throw new IsochronError('CURSOR_INVALID', detail);
  }
  const { prefix, start, snapshot: at } = cursor;
  api.refuseFuture(at, 'The cursor');
  const { limit = DEFAULT_LIMIT, known = 0 } = query;
  const page = pageOf(api, keyspace, { prefix, start, limit, known }, at);
  const caller = await api.caller(request);
  const answer = await answerTo(api.coordinator(request, caller.hwt), listRequest(caller.seen, page));
  send(api, request, reply, caller, page, { ...merge(page, answer, own), snapshot: at, overlay: cursor.overlay });
}

function cursorOf(api: TransactionsContext, keyspace: string, query: ListQuery): Cursor {
  if (query.prefix !== undefined || query.start !== undefined || query.at !== undefined) {
    throw new IsochronError('INVALID_REQUEST', 'A cursor goes with no other parameter but limit and known.');
  }
  const cursor = decodeCursor(query.cursor!, api.sessions.tokens.checks);
  if (cursor.keyspace !== keyspace)
    throw new IsochronError('CURSOR_INVALID', 'The cursor belongs to another keyspace.');
  return cursor;
}

function pageOf(api: TransactionsContext, keyspace: string, query: ListQuery, at: Snapshot | null): ListedPage {
  const { prefix = '', known = 0 } = query;
  api.refuseFuture({ ts: known }, '"known"');
  const range = listRange(api.rules, keyspace, prefix, query.start ?? '', query.limit ?? DEFAULT_LIMIT);
  return { keyspace, prefix, at, known, ...range };
}

const listRequest = (
  seen: Snapshot,
  { keyspace, start, end, limit, at }: ListedPage,
): CoordinatorRequest<'ListReq'> => ({
  type: 'ListReq',
  txId: null,
  ...wanted(seen, at),
  keyspace,
  range: { start, end, limit: Math.max(1, limit) },
});

/** The coordinator's page, and the own writes from its start on that are not in its snapshot. */
async function fetchPage(
  api: TransactionsContext,
  request: FastifyRequest,
  caller: Caller,
  page: ListedPage,
): Promise<{ answer: ListResp; own: CacheEntry[] }> {
  const { kept } = caller;
  const coordinator = api.coordinator(request, kept?.hwt ?? caller.hwt);
  if (kept === undefined || page.at !== null)
    return { answer: await answerTo(coordinator, listRequest(floorOf(api.sessions.rules, caller), page)), own: [] };
  const view = api.sessions.callers.view({ ...caller, kept });
  try {
    const answer = await answerTo(coordinator, listRequest(view.floor, page));
    const own = view.above(snapshotOf(answer));
    return { answer, own: own.filter(({ key }) => within(key, page.start, page.end)) };
  } finally {
    view.end();
  }
}

const within = (key: QualifiedKey, start: QualifiedKey, end: QualifiedKey): boolean =>
  compareKeys(key, start) >= 0 && compareKeys(key, end) < 0;

interface Listed {
  readonly entries: readonly { readonly key: QualifiedKey; readonly version: Version }[];
  readonly next: QualifiedKey | null;
}

/** A page of at most no entries, behind which nothing follows. */
const NOTHING = { entries: [], next: null };

/** Lays own writes over a page: adds new keys, removes deleted ones, and cuts the page to its limit again. */
export function merge(
  page: Pick<ListedPage, 'start' | 'end' | 'limit'>,
  answer: Listed,
  own: readonly CacheEntry[],
): Listed {
  const here = own.filter(({ key }) => within(key, page.start, answer.next ?? page.end));
  if (here.length === 0) return answer;
  const byKey = new Map(answer.entries.map(({ key, version }) => [key, version]));
  for (const [key, own] of overlayOf(here)) {
    const version = withOwn(byKey.get(key) ?? null, own);
    if (version === null || version.value === null) byKey.delete(key);
    else byKey.set(key, version);
  }
  const entries = [...byKey].map(([key, version]) => ({ key, version })).sort((a, b) => compareKeys(a.key, b.key));
  if (entries.length <= page.limit) return { entries, next: answer.next };
  return { entries: entries.slice(0, page.limit), next: entries[page.limit]!.key };
}

function send(
  api: TransactionsContext,
  request: FastifyRequest,
  reply: FastifyReply,
  caller: Caller,
  page: ListedPage,
  listed: Listed & { snapshot: Snapshot; overlay: string | null },
): void {
  const { snapshot, overlay } = listed;
  const { keyspace, prefix, limit, known } = page;
  const { maxAnswerBytes } = api.rules;
  const { entries, next } = limit === 0 ? NOTHING : cutPage(listed.entries, listed.next, maxAnswerBytes, known);
  const cut = keyspace.length + 1;
  const cursor = next === null ? null : encodeCursor({ keyspace, prefix, snapshot, start: next.slice(cut), overlay });
  const items = entries.map(
    ({ key, version: { ts, value } }) =>
      `{"key":${JSON.stringify(key.slice(cut))},${ts <= known ? `"timestamp":${ts}` : valueFields(ts, value ?? 'null')}}`,
  );
  const text = `{"snapshot":${snapshot.ts},"entries":[${items.join(',')}],"cursor":${JSON.stringify(cursor)}}`;
  api.headers.send(reply, snapshot.ts, api.sessions.tokenAfterRead(caller, snapshot, api.holder(request)), text);
}
