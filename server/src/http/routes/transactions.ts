/**
 * Interactive transactions over HTTP. Their ids (see `tx-ref.ts`) name the node that opened them; every other node
 * forwards requests to it. Writes come with the commit, so the server keeps only the snapshot, which is in the id too,
 * and the caller's own earlier writes. When that node is gone, any other node of any region continues in the same
 * snapshot (D8).
 */
import { IsochronError, isTxId, type NodeId, type QualifiedKey, type TxId } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import {
  type Caller,
  floorOf,
  type OpenTransaction,
  overlayOf,
  snapshotOf,
  UndecidedError,
  wanted,
  withOwn,
} from '@isochron/sessions';
import type { TxState } from '@isochron/wire/session-frames';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { answerTo } from '../../node/promised.js';
import type { TransactionsContext } from '../context.js';
import { json, PLAIN_HEADERS, READ_HEADERS, SessionHeaders, WRITE_HEADERS } from '../documentation/openapi.js';
import {
  AtSchema,
  CommitAnswer,
  CommitBody,
  Nullable,
  named,
  object,
  ReadAnswer,
  ReadBody,
  TIMESTAMP,
  TimestampSchema,
} from '../documentation/schemas.js';
import { bounded, readAnswerText } from '../one-shots/reader.js';
import { isBoundTo } from '../one-shots/tx-ids.js';
import { formatTxId, parseTxId, type TxRef } from '../one-shots/tx-ref.js';
import { commit, writesOf } from '../one-shots/writer.js';
import { keysOf } from './batch.js';
import { sendCommitted } from './keys.js';
import type { TransactionsRoute } from './route.js';
import { OPEN_TRANSACTION_ERRORS, OUTCOME_ERRORS, READ_ERRORS, WRITE_ERRORS } from './route-errors.js';

const START_HEADERS = {
  ...READ_HEADERS,
  Location: { type: 'string', description: 'path of the transaction' },
};
const StartBody = named('StartRequest', { at: Type.Optional(AtSchema) });
const StartAnswer = named('OpenTransaction', {
  id: Type.String(),
  snapshot: TimestampSchema,
  expiresAt: Type.String({ format: 'date-time' }),
});
const TxReadBody = named('TransactionReadRequest', { keys: ReadBody.properties.keys });
const StatusQuery = object({
  sentAfter: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: TIMESTAMP.maximum,
      description: 'a timestamp from before the commit was sent: distinguishes *forgotten* from *unknown*',
    }),
  ),
});
const STATES = {
  open: 'opened, and not committed yet',
  pending: 'prepared: its participants will decide it',
  deferred:
    'a node with a part of it was suspended: it is committed again, at a later timestamp, by its session or by that node once it is back',
  committed: 'durable, at `timestamp`',
  aborted: 'nothing of it was written, and nothing will be unless a client repeats its commit',
  unknown: 'no node that answers has its outcome; it may still arrive',
  forgotten:
    'its outcome is older than those that are kept, or went with a disk: a repeated commit is refused with OUTCOME_FORGOTTEN or OUTCOME_LOST',
  lost: 'a lost disk took a part of it, and no attempt took effect: the rest was taken back, or is reported',
} satisfies Record<TxState, string>;
const StatusAnswer = named('TransactionStatus', {
  id: Type.String(),
  status: Type.Union(Object.entries(STATES).map(([state, description]) => Type.Literal(state, { description }))),
  timestamp: Nullable(TimestampSchema),
});

const common = { tag: 'transactions', needs: 'transactions', headers: SessionHeaders } as const;
/** In a transaction that was opened before. */
const opened = {
  ...common,
  observes: true,
  params: object({ id: Type.String({ description: 'as POST /v1/transactions gave it' }) }),
} as const;

/** Interactive transactions. */
export const TRANSACTION_ROUTES: readonly TransactionsRoute[] = [
  {
    ...common,
    method: 'POST',
    path: '/v1/transactions',
    id: 'startTransaction',
    summary: 'Opens a transaction',
    access: 'read',
    optionalBody: StartBody,
    answers: { 201: json(StartAnswer, 'open until expiresAt', START_HEADERS) },
    errors: READ_ERRORS,
    handle: ({ api }, request, reply) => open(api, request, reply),
  },
  {
    ...opened,
    method: 'POST',
    path: '/v1/transactions/:id/read',
    id: 'readInTransaction',
    summary: 'Reads in it',
    access: 'read',
    body: TxReadBody,
    answers: { 200: json(ReadAnswer, 'the values', READ_HEADERS) },
    errors: [...READ_ERRORS, ...OPEN_TRANSACTION_ERRORS],
    handle: ({ api }, request, reply) => read(api, request, reply),
  },
  {
    ...opened,
    method: 'POST',
    path: '/v1/transactions/:id/commit',
    id: 'commitTransaction',
    summary: 'Commits it',
    access: 'write',
    body: CommitBody,
    answers: { 200: json(CommitAnswer, 'committed', WRITE_HEADERS) },
    errors: [...WRITE_ERRORS, ...OPEN_TRANSACTION_ERRORS],
    handle: ({ api }, request, reply) => commitOpen(api, request, reply),
  },
  {
    ...opened,
    method: 'DELETE',
    path: '/v1/transactions/:id',
    id: 'endTransaction',
    summary: 'Ends it without a commit',
    access: 'read',
    answers: { 204: { type: 'null', description: 'ended' } },
    errors: [...OUTCOME_ERRORS, ...OPEN_TRANSACTION_ERRORS],
    handle: ({ api }, request, reply) => end(api, request, reply),
  },
  {
    ...opened,
    method: 'GET',
    path: '/v1/transactions/:id',
    id: 'getTransactionStatus',
    summary: 'Outcome of a transaction, from any node',
    access: 'read',
    query: StatusQuery,
    answers: { 200: json(StatusAnswer, 'its state', PLAIN_HEADERS) },
    errors: [...OUTCOME_ERRORS, ...OPEN_TRANSACTION_ERRORS],
    handle: ({ api }, request, reply) => status(api, request, reply),
  },
];

/** @throws IsochronError `TRANSACTION_UNKNOWN` for ids that this cluster did not make, or made for another principal */
function refOf(api: TransactionsContext, request: FastifyRequest): TxRef {
  const { id } = request.params as { id: string };
  const ref = parseTxId(id, api.node.topology, api.sessions.tokens.checks.entries);
  if (ref === undefined || !isBoundTo(api.scopes(request), ref.txId))
    throw new IsochronError('TRANSACTION_UNKNOWN', 'No node opened a transaction with such an id for this caller.');
  const { ts, deps } = ref.snapshot;
  api.refuseFuture({ ts: Math.max(ts, ref.hwt), deps }, 'The id of the transaction');
  return ref;
}

/** The node that opened the transaction; undefined where that is this node. */
const ownerOf = ({ node }: TransactionsContext, { owner }: TxRef): NodeId | undefined =>
  owner === node.id ? undefined : owner;

/**
 * Whether the node that opened the transaction is gone, or lost it in a restart. The transaction itself is not lost:
 * its snapshot is in the id (D8).
 */
const isOrphan = (error: unknown): boolean =>
  error instanceof IsochronError && ['CONNECTION_LOST', 'NOT_READY', 'TRANSACTION_UNKNOWN'].includes(error.code);

async function open(api: TransactionsContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const at = api.at(startBody(request.body));
  const caller = at === null ? await api.reader(request) : await api.caller(request);
  const txId = api.nextTxId(request);
  const { transactions } = api.serving;
  transactions.begin(api.client(request), api.storedId(request, txId));
  const opened = await startOverlaid(api, request, caller, txId, at).catch((error: unknown) => {
    transactions.end(api.storedId(request, txId));
    throw error;
  });
  const lifetimeMs = api.node.config.settings.maxTransactionMs;
  api.sessions.store.keepTransaction(txId, opened, lifetimeMs);
  const { snapshot, hwt } = opened;
  // A snapshot without own writes above it needs no other node.
  const shown = hwt <= Math.min(snapshot.ts, api.sessions.rules.covers(snapshot));
  const id = formatTxId({ txId, owner: api.node.id, snapshot, hwt: shown ? 0 : hwt });
  const expiresAt = new Date(api.node.now() + lifetimeMs).toISOString();
  const token = api.sessions.tokenAfterRead(caller, snapshot, api.holder(request));
  const text = JSON.stringify({ id, snapshot: snapshot.ts, expiresAt });
  api.headers.send(reply, snapshot.ts, token, text, { location: `/v1/transactions/${id}` }, 201);
}

function startBody(body: unknown): Static<typeof StartBody> {
  if (body == null) return {};
  const error = Value.Errors(StartBody, body).First();
  if (error !== undefined)
    throw new IsochronError('INVALID_REQUEST', `body${error.path} ${error.message.toLowerCase()}`);
  return body as Static<typeof StartBody>;
}

/** Opens the transaction, and fixes the caller's own writes above the snapshot (P7). */
async function startOverlaid(
  api: TransactionsContext,
  request: FastifyRequest,
  caller: Caller,
  txId: TxId,
  at: Snapshot | null,
): Promise<OpenTransaction> {
  const { kept, hwt, seen } = caller;
  const coordinator = api.coordinator(request, hwt);
  if (kept === undefined || at !== null) {
    const asked = wanted(floorOf(api.sessions.rules, caller), at);
    const snapshot = snapshotOf(await answerTo(coordinator, { type: 'StartTxReq', txId, ...asked }));
    return { snapshot, seen, hwt, overlay: new Map(), session: kept?.id };
  }
  const view = api.sessions.callers.view({ ...caller, kept });
  try {
    const snapshot = snapshotOf(await answerTo(coordinator, { type: 'StartTxReq', txId, ...wanted(view.floor, null) }));
    const overlay = overlayOf(view.above(snapshot));
    return { snapshot, seen, hwt: kept.hwt, overlay, session: kept.id };
  } finally {
    view.end();
  }
}

/**
 * The opener's state of the transaction. Without own writes above the snapshot the id has all of it.
 * @throws IsochronError `TRANSACTION_UNKNOWN` where the own writes are lost with their node; `REPLICA_UNREACHABLE`
 * while it does not answer
 */
async function openedBy(api: TransactionsContext, ref: TxRef): Promise<OpenTransaction> {
  const { txId, snapshot, hwt } = ref;
  const known = api.sessions.store.openTransaction(txId);
  if (known !== undefined) return known;
  if (hwt <= api.sessions.rules.covers(snapshot)) return { snapshot, seen: snapshot, hwt, overlay: new Map() };
  const answer = await api.sessions.locate(ref.owner, txId);
  if (answer === undefined)
    throw new IsochronError('TRANSACTION_UNKNOWN', 'The node that opened the transaction no longer has it.');
  const overlay = overlayOf(answer.entries);
  const opened = { snapshot, seen: snapshot, hwt: answer.hwt, overlay };
  api.sessions.store.keepTransaction(txId, opened, api.node.config.settings.maxTransactionMs);
  return opened;
}

async function read(api: TransactionsContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const ref = refOf(api, request);
  const keys = keysOf(api, request, (request.body as Static<typeof TxReadBody>).keys);
  const caller = await api.caller(request);
  const opened = await openedBy(api, ref);
  const answer = await readIn(api, request, ref, keys);
  const snapshot = snapshotOf(answer);
  const versions = answer.versions.map((version, i) => withOwn(version, opened.overlay.get(keys[i]!)));
  const seen = bounded(api, { snapshot, versions });
  const token = api.sessions.tokenAfterRead(caller, snapshot, api.holder(request));
  const text = readAnswerText({ ...seen, snapshot: snapshot.ts });
  api.headers.send(reply, snapshot.ts, token, text);
}

/** In the open transaction, or in its snapshot where its node is gone. */
async function readIn(api: TransactionsContext, request: FastifyRequest, ref: TxRef, keys: readonly QualifiedKey[]) {
  const { snapshot } = ref;
  const coordinator = api.coordinator(request, snapshot.ts);
  try {
    return await answerTo(
      coordinator,
      { type: 'ReadReq', txId: ref.txId, ...wanted(snapshot, null), keys },
      ownerOf(api, ref),
    );
  } catch (error) {
    if (!isOrphan(error)) throw error;
    return answerTo(coordinator, { type: 'ReadReq', txId: null, ...wanted(snapshot, snapshot), keys });
  }
}

async function commitOpen(api: TransactionsContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const ref = refOf(api, request);
  const writes = writesOf(api, request, (request.body as CommitBody).writes);
  const idempotencyKey = request.headers['idempotency-key'];
  if (idempotencyKey !== undefined && idempotencyKey !== ref.txId) {
    throw new IsochronError('INVALID_REQUEST', 'The Idempotency-Key of an open transaction is its own id.');
  }
  const token = request.headers['isochron-session'];
  const caller = token === undefined ? openerOf(api, ref) : await api.caller(request);
  const order = {
    txId: ref.txId,
    snapshot: ref.snapshot,
    open: true,
    hwt: Math.max(caller.hwt, ref.hwt),
    // The snapshot is the same in every repetition, and at most the UST at the first send (D5).
    sentAfter: ref.snapshot.ts,
    principal: api.principal(request).id,
    writes,
    coordinator: ownerOf(api, ref),
  };
  const done = await commit(api, request, caller, order).catch((error: unknown) => {
    if (!isOrphan(error instanceof UndecidedError ? error.cause : error)) throw error;
    // Under its id the transaction commits once, whatever the lost node did (D4).
    return commit(api, request, caller, { ...order, open: false, coordinator: undefined });
  });
  api.serving.transactions.end(api.storedId(request, ref.txId));
  sendCommitted(api, reply, { txId: ref.txId, ...done });
}

/** The session that opened the transaction, for a caller that sends no token with its commit. */
function openerOf(api: TransactionsContext, { txId, snapshot, hwt }: TxRef): Caller {
  const session = api.sessions.store.openTransaction(txId)?.session;
  const kept = session === undefined ? undefined : api.sessions.store.get(session);
  if (kept !== undefined) return { seen: kept.seen, hwt: kept.hwt, complete: kept.complete, kept };
  return { seen: snapshot, hwt, complete: hwt, kept };
}

async function end(api: TransactionsContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const ref = refOf(api, request);
  const { txId } = ref;
  await refuseCommitted(api, request, ref);
  const ended = answerTo(api.coordinator(request, 0), { type: 'EndTxReq', txId }, ownerOf(api, ref));
  await ended.catch((error: unknown) => {
    // It ended with its node.
    if (!isOrphan(error)) throw error;
  });
  api.sessions.store.dropTransaction(txId);
  api.serving.transactions.end(api.storedId(request, txId));
  reply.code(204).send();
}

/**
 * @throws IsochronError `TRANSACTION_FINISHED` for a committed one, `OUTCOME_PENDING` for one that is being committed
 */
async function refuseCommitted(api: TransactionsContext, request: FastifyRequest, ref: TxRef): Promise<void> {
  const { txId, snapshot } = ref;
  const { status, ts } = await api.statusOf(request, txId, snapshot.ts, ownerOf(api, ref));
  if (status === 'committed')
    throw new IsochronError('TRANSACTION_FINISHED', `The transaction was committed at ${ts}: it cannot be taken back.`);
  if (status === 'pending' || status === 'deferred')
    throw new IsochronError('OUTCOME_PENDING', 'The transaction is being committed: it cannot be taken back.');
}

async function status(api: TransactionsContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { id } = request.params as { id: string };
  const { sentAfter } = request.query as Static<typeof StatusQuery>;
  // The id of any transaction, from a receipt, an Idempotency-Key or a problem document.
  const ref = isTxId(id) ? undefined : refOf(api, request);
  const owner = ref === undefined ? undefined : ownerOf(api, ref);
  const since = sentAfter ?? ref?.snapshot.ts ?? null;
  const answer = await api.statusOf(request, ref?.txId ?? id, since, owner);
  api.sendJson(reply, JSON.stringify({ id, status: answer.status, timestamp: answer.ts }));
}
