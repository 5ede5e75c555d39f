/**
 * `GET /v1/changes`: the change feed (CF4), as one message for each request (NDJSON, long poll), or as server-sent
 * events. A message of the stream is read from the feed when the one before has left, so a slow reader costs the node
 * nothing (CF6). A reader whose credentials have expired gets no further message (U1).
 */
import { Readable } from 'node:stream';
import { IsochronError, type Timestamp } from '@isochron/core';
import type { ChangesResp } from '@isochron/protocols';
import { ChangeDocuments, type CoordinatorPort, type DocumentedPage, type DocumentsWanted } from '@isochron/sessions';
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { promised } from '../../node/promised.js';
import { NOT_STORED } from '../caching/read-headers.js';
import type { TransactionsContext } from '../context.js';
import { decodeChangesCursor, type FeedScope, qualifiedPrefix } from '../cursors/changes-cursor.js';
import { type AnswerHeaders, caching, contents } from '../documentation/openapi.js';
import { named, object, TIMESTAMP, TimestampSchema } from '../documentation/schemas.js';
import { problemText } from '../errors/problem.js';
import { quality } from '../requests/request-headers.js';
import { type ChangesMessage, changesMessage } from './change-messages.js';
import type { TransactionsRoute } from './route.js';
import { SNAPSHOT_ERRORS } from './route-errors.js';

const DEFAULT_WAIT_MS = 10_000;
/** How long a stream is silent at most: a message without transactions then has the next cursor. */
const HEARTBEAT_MS = 5_000;
/** A message ends with the group of transactions that reaches this. */
const MESSAGE_BYTES = 512 * 1024;
const STREAM = 'text/event-stream';
const NDJSON = 'application/x-ndjson';
/** Of a stream: a proxy that compresses would keep events back until it has enough of them. */
const STREAMED = `${NOT_STORED}, no-transform`;
const HEADERS = {
  ...caching(NOT_STORED, STREAMED),
  'X-Accel-Buffering': { type: 'string', description: 'of a stream: proxies must not gather events' },
} satisfies AnswerHeaders;

/** A reader: its scope, the timestamp after which it reads (null for the present end), and the documents it wants. */
interface FeedPosition {
  readonly scope: FeedScope;
  readonly after: Timestamp | null;
  readonly wants: DocumentsWanted;
}

/** Who reads, and how the node serves that. */
interface FeedReading {
  readonly api: TransactionsContext;
  readonly request: FastifyRequest;
  readonly coordinator: CoordinatorPort;
}

const ChangedWrite = named('ChangedWrite', {
  keyspace: Type.String({ examples: ['default'] }),
  key: Type.String({ examples: ['todos/1'] }),
  value: Type.Optional(
    Type.Unknown({ description: 'the JSON document after the change; of an update only with `values`' }),
  ),
  bytes: Type.Optional(
    Type.String({ description: 'the binary value after the change, in base64; of an update only with `values`' }),
  ),
  operations: Type.Optional(Type.Array(Type.Unknown(), { description: 'what an update does to the document' })),
  delete: Type.Optional(Type.Literal(true, { description: 'the key was deleted' })),
  valueGone: Type.Optional(
    Type.Literal(true, { description: 'the document after the update is not kept any more, or too large' }),
  ),
  before: Type.Optional(Type.Unknown({ description: 'with `before`: the JSON document before the change, if any' })),
  beforeBytes: Type.Optional(Type.String({ description: 'the binary value before the change, in base64' })),
  beforeGone: Type.Optional(
    Type.Literal(true, { description: 'the document before the change is not kept any more, or too large' }),
  ),
});
const ChangedTransaction = named('ChangedTransaction', {
  id: Type.String({ description: 'transaction id' }),
  timestamp: TimestampSchema,
  writes: Type.Array(ChangedWrite),
});
const ChangesAnswer = named('Changes', {
  from: TimestampSchema,
  to: TimestampSchema,
  cursor: Type.String({ description: 'continues behind this message, on any node' }),
  transactions: Type.Array(ChangedTransaction, { description: 'all of the scope with from < timestamp <= to' }),
});
const ChangesQuery = object({
  keyspace: Type.Optional(Type.String({ description: 'only this keyspace; default all' })),
  prefix: Type.Optional(
    Type.String({ description: 'only keys of the keyspace with this prefix; percent-encoded, with %2B for a plus' }),
  ),
  since: Type.Optional(Type.String({ description: 'a cursor; default the present end of the feed' })),
  at: Type.Optional(Type.Integer({ ...TIMESTAMP, description: 'instead of a cursor: changes after this snapshot' })),
  wait: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 30_000, default: 10_000, description: 'ms to wait for a transaction' }),
  ),
  values: Type.Optional(Type.Boolean({ description: 'updates have their document after the transaction, too' })),
  before: Type.Optional(Type.Boolean({ description: 'all writes have the document before the transaction, too' })),
});

/** The change feed. */
export const CHANGES_ROUTE: TransactionsRoute = {
  method: 'GET',
  path: '/v1/changes',
  id: 'getChanges',
  tag: 'changes',
  summary: 'Committed transactions in their total order',
  access: 'read',
  needs: 'changes',
  query: ChangesQuery,
  answers: {
    200: contents(
      { [NDJSON]: ChangesAnswer, [STREAM]: Type.String() },
      'one message; with `Accept: text/event-stream` a stream of them',
      HEADERS,
    ),
  },
  errors: [...SNAPSHOT_ERRORS, 'CURSOR_INVALID', 'CHANGES_GONE'],
  // An answer to HEAD has no body: a stream of events would go on without an end, and without a connection.
  noHead: true,
  handle: ({ api }, request, reply) => changes(api, request, reply),
};

async function changes(api: TransactionsContext, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const query = request.query as Static<typeof ChangesQuery>;
  const streams = wantsStream(request.headers.accept ?? '');
  const position = positionOf(api, query, request.headers['last-event-id']);
  const waitMs = query.wait ?? DEFAULT_WAIT_MS;
  const reading = { api, request, coordinator: api.coordinator(request, 0) };
  const first = await next(reading, position, streams ? Math.min(waitMs, HEARTBEAT_MS) : waitMs);
  reply.header('cache-control', streams ? STREAMED : NOT_STORED);
  if (!streams) return reply.header('content-type', `${NDJSON}; charset=utf-8`).send(`${first.message.text}\n`);
  reply.header('content-type', `${STREAM}; charset=utf-8`);
  // Proxies must not gather events.
  return reply.header('x-accel-buffering', 'no').send(Readable.from(events(reading, position, first)));
}

/** A stream has to be named: a caller that takes everything gets one message. */
function wantsStream(accept: string): boolean {
  const wanted = quality(accept, STREAM, true);
  return wanted > 0 && wanted >= quality(accept, NDJSON);
}

/**
 * An `EventSource` that connects again sends the `Last-Event-ID` beside its first URL: the feed goes on there, whatever
 * beginning the URL names.
 * @throws IsochronError `CURSOR_INVALID`, `KEYSPACE_UNKNOWN`, `INVALID_REQUEST`, `TIMESTAMP_IN_FUTURE`
 */
function positionOf(api: TransactionsContext, query: Static<typeof ChangesQuery>, lastEventId: unknown): FeedPosition {
  const { keyspace = null, prefix = '', at } = query;
  const resumes = typeof lastEventId === 'string' && lastEventId !== '';
  const since = resumes ? lastEventId : query.since;
  if (keyspace !== null) api.node.topology.partitionsOf(keyspace);
  else if (prefix !== '') throw new IsochronError('INVALID_REQUEST', '"prefix" goes with "keyspace".');
  if (query.since !== undefined && at !== undefined)
    throw new IsochronError('INVALID_REQUEST', '"since" and "at" are two beginnings: leave one out.');
  const scope = { keyspace, prefix };
  const after = since === undefined ? (at ?? null) : decodeChangesCursor(since, api.node.config.cluster, scope);
  if (after !== null) api.refuseFuture({ ts: after }, 'the cursor');
  return { scope, after, wants: { values: query.values ?? false, before: query.before ?? false } };
}

interface Next {
  readonly message: ChangesMessage;
  readonly to: Timestamp;
}

/** @throws IsochronError, `UNAUTHENTICATED` among them where the credentials expire before the message is there */
async function next(
  { api, request, coordinator }: FeedReading,
  { scope, after, wants }: FeedPosition,
  waitMs: number,
): Promise<Next> {
  const { config } = api.node;
  const leftMs = api.validForMs(request);
  const page = await promised<ChangesResp>((done) => {
    const end = api.serving.feed(api.client(request), done);
    if (end === undefined) return;
    const asked = {
      type: 'ChangesReq',
      prefix: qualifiedPrefix(scope),
      after,
      waitMs: Math.min(waitMs, leftMs),
      limitBytes: MESSAGE_BYTES,
    } as const;
    coordinator.ask(asked, end);
  });
  const documents = new ChangeDocuments(coordinator, api.rules.maxAnswerBytes);
  const answer = await promised<DocumentedPage>((done) => documents.add(page, wants, done));
  api.validForMs(request);
  return { message: changesMessage(answer, config.cluster, scope), to: answer.to };
}

/**
 * The stream asks for an event when it has room for one. It ends with an error, and when the node takes no more work.
 */
async function* events(reading: FeedReading, position: FeedPosition, first: Next): AsyncGenerator<string> {
  try {
    for (
      let { message, to } = first;
      ;
      { message, to } = await next(reading, { ...position, after: to }, HEARTBEAT_MS)
    ) {
      yield `id: ${message.cursor}\ndata: ${message.text}\n\n`;
      if (!reading.api.serving.admitsRequests) return;
    }
  } catch (error) {
    const known = error instanceof IsochronError ? error : new IsochronError('INTERNAL', 'The feed has failed.');
    yield `event: error\ndata: ${problemText(known)}\n\n`;
  }
}
