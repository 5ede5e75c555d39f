/**
 * Interactive transactions over HTTP. An id is `<transaction id>@<node>`: the node opened it, and every node of its region passes
 * requests on. Writes come with the commit, so what the server keeps is the snapshot and the caller's own earlier writes.
 */
import { IsochronError, isTxId, type NodeId, type QualifiedKey, type TxId, type Version } from '@isochron/core';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Caller, ownVersion } from '../session/http-sessions.js';
import type { CacheEntry } from '../session/messages.js';
import type { OpenTransaction } from '../session/store.js';
import type { ApiContext } from './context.js';
import { json, SessionHeaders } from './openapi.js';
import { floorOf, readAnswerText } from './reader.js';
import { keysOf } from './routes-batch.js';
import { sendCommitted } from './routes-keys.js';
import {
  CommitAnswer,
  CommitBody,
  EmptyQuery,
  ReadAnswer,
  StartAnswer,
  StartBody,
  StatusAnswer,
  TxParams,
  TxReadBody,
} from './schemas.js';
import { commit, writesOf } from './writer.js';

/** A transaction as its id names it. `coordinator` is undefined when that is this node. */
interface TxRef {
  readonly txId: TxId;
  readonly coordinator: NodeId | undefined;
}

const common = { tags: ['transactions'], querystring: EmptyQuery };

export function transactionRoutes(app: FastifyInstance, api: ApiContext): void {
  const docs = (status: number, answer: object) => ({
    params: TxParams,
    headers: SessionHeaders,
    response: { [status]: answer },
  });
  const start = { ...common, summary: 'Opens a transaction' };
  const startDocs = {
    headers: SessionHeaders,
    body: { content: { 'application/json': { schema: StartBody } } },
    response: { 201: json(StartAnswer, 'open until expiresAt') },
  };
  app.post('/v1/transactions', { schema: start, config: { docs: startDocs } }, (request, reply) =>
    open(api, request, reply),
  );
  app.post(
    '/v1/transactions/:id/read',
    {
      schema: { ...common, summary: 'Reads in it', body: TxReadBody },
      config: { docs: docs(200, json(ReadAnswer, 'the values')) },
    },
    (request, reply) => read(api, request, reply),
  );
  app.post(
    '/v1/transactions/:id/commit',
    {
      schema: { ...common, summary: 'Commits it', body: CommitBody },
      config: { docs: docs(200, json(CommitAnswer, 'committed')) },
    },
    (request, reply) => commitOpen(api, request, reply),
  );
  app.delete(
    '/v1/transactions/:id',
    {
      schema: { ...common, summary: 'Ends it without a commit' },
      config: { docs: docs(204, { type: 'null', description: 'ended' }) },
    },
    (request, reply) => end(api, request, reply),
  );
  app.get(
    '/v1/transactions/:id',
    { schema: { ...common, summary: 'How did it end?' }, config: { docs: docs(200, json(StatusAnswer, 'its state')) } },
    (request, reply) => status(api, request, reply),
  );
}

/** @throws IsochronError `TRANSACTION_UNKNOWN` for ids that this region never gave */
function refOf(api: ApiContext, request: FastifyRequest, plainAllowed = false): TxRef {
  const { id } = request.params as { id: string };
  const at = id.lastIndexOf('@');
  const txId = at < 0 ? id : id.slice(0, at);
  const owner = at < 0 ? api.node.id : id.slice(at + 1);
  const { topology, region } = api.node;
  const known = topology.hasNode(owner) && topology.regionOf(owner) === region;
  if (!isTxId(txId) || !known || (at < 0 && !plainAllowed)) {
    throw new IsochronError('TRANSACTION_UNKNOWN', 'This region opened no transaction with such an id.');
  }
  return { txId, coordinator: owner === api.node.id ? undefined : owner };
}

async function open(api: ApiContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const at = api.at(startBody(request.body));
  const caller = at === null ? await api.reader(request) : await api.caller(request);
  const txId = api.nextTxId();
  const opened = await startOverlaid(api, caller, txId, at);
  const lifetimeMs = api.node.config.settings.maxTransactionMs;
  api.sessions.store.keepTransaction(txId, opened, lifetimeMs);
  const id = `${txId}@${api.node.id}`;
  const expiresAt = new Date(api.node.now() + lifetimeMs).toISOString();
  api.headers.apply(reply, opened.snapshot, api.sessions.tokenAfterRead(caller, opened.snapshot));
  reply.code(201).header('location', `/v1/transactions/${id}`);
  api.sendJson(reply, JSON.stringify({ id, snapshot: opened.snapshot, expiresAt }));
}

function startBody(body: unknown): Static<typeof StartBody> {
  if (body == null) return {};
  const error = Value.Errors(StartBody, body).First();
  if (error !== undefined)
    throw new IsochronError('INVALID_REQUEST', `body${error.path} ${error.message.toLowerCase()}`);
  return body as Static<typeof StartBody>;
}

/** Starts, and freezes what the caller's own writes above the snapshot are (P7). */
async function startOverlaid(api: ApiContext, caller: Caller, txId: TxId, at: number | null): Promise<OpenTransaction> {
  const { kept, hwt } = caller;
  const floor = floorOf(caller, at);
  if (kept === undefined || at !== null) {
    const { snapshot } = await api.node.coordinator.start({ txId, ust: floor, at });
    return { snapshot, ust: caller.ust, hwt, overlay: new Map(), session: kept?.id };
  }
  kept.observe(api.node.ust());
  const tx = kept.paris.begin();
  try {
    const { snapshot } = await api.node.coordinator.start({ txId, ust: Math.max(floor, tx.floor), at });
    kept.paris.started(tx, snapshot);
    const overlay = new Map<QualifiedKey, CacheEntry>();
    for (const [key, { ts, value }] of tx.overlay()) overlay.set(key, { key, ct: ts ?? 0, txId: '', value });
    return { snapshot, ust: caller.ust, hwt: kept.hwt, overlay, session: kept.id };
  } finally {
    kept.paris.end(tx);
  }
}

/** What the transaction's opener keeps about it; undefined when it keeps nothing any more. */
async function openedBy(api: ApiContext, { txId, coordinator }: TxRef): Promise<OpenTransaction | undefined> {
  const known = api.sessions.store.openTransaction(txId);
  if (known !== undefined || coordinator === undefined) return known;
  const answer = await api.sessions.machine.fetch(coordinator, txId);
  if (!answer.found) return undefined;
  const overlay = new Map(answer.entries.map((entry) => [entry.key, entry]));
  const opened = { snapshot: answer.complete, ust: answer.ust, hwt: answer.hwt, overlay };
  api.sessions.store.keepTransaction(txId, opened, api.node.config.settings.maxTransactionMs);
  return opened;
}

async function read(api: ApiContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const ref = refOf(api, request);
  const keys = keysOf(api, (request.body as Static<typeof TxReadBody>).keys);
  const caller = await api.caller(request);
  const asked = { txId: ref.txId, ust: caller.ust, at: null, keys };
  const { snapshot, versions } = await api.node.coordinator.read(asked, ref.coordinator);
  const opened = await openedBy(api, ref);
  if (opened === undefined)
    throw new IsochronError('TRANSACTION_UNKNOWN', 'The node that opened the transaction no longer knows it.');
  const seen = { snapshot, versions: versions.map((version, i) => ownOr(opened, keys[i]!, version)) };
  api.headers.apply(reply, snapshot, api.sessions.tokenAfterRead(caller, snapshot));
  api.sendJson(reply, readAnswerText(seen));
}

function ownOr(opened: OpenTransaction, key: QualifiedKey, version: Version | null): Version | null {
  const own = opened.overlay.get(key);
  return own === undefined ? version : ownVersion(own.ct, own.value);
}

async function commitOpen(api: ApiContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const ref = refOf(api, request);
  const writes = writesOf(api, (request.body as CommitBody).writes);
  const idempotencyKey = request.headers['idempotency-key'];
  if (idempotencyKey !== undefined && idempotencyKey !== ref.txId) {
    throw new IsochronError('INVALID_REQUEST', 'The Idempotency-Key of an open transaction is its own id.');
  }
  const opened = await openedBy(api, ref);
  const caller = request.headers['isochron-session'] === undefined ? callerOf(api, opened) : await api.caller(request);
  const { ct, token } = await commit(api, caller, {
    txId: ref.txId,
    snapshot: null,
    hwt: Math.max(caller.hwt, opened?.hwt ?? 0),
    // The snapshot is the same in every repetition, and at most the ust at the first send (D5).
    birth: opened?.snapshot ?? api.birth(true),
    principal: api.principal(request),
    writes,
    coordinator: ref.coordinator,
  });
  sendCommitted(reply, ref.txId, ct, token);
}

/** Who opened the transaction, for a caller that sends no token with its commit. */
function callerOf(api: ApiContext, opened: OpenTransaction | undefined): Caller {
  const kept = opened?.session === undefined ? undefined : api.sessions.store.get(opened.session);
  if (kept !== undefined) return { ust: kept.ust, hwt: kept.hwt, complete: kept.complete, kept };
  const hwt = opened?.hwt ?? 0;
  return { ust: opened?.ust ?? 0, hwt, complete: hwt, kept };
}

async function end(api: ApiContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { txId, coordinator } = refOf(api, request);
  await api.node.coordinator.end({ txId }, coordinator);
  api.sessions.store.dropTransaction(txId);
  reply.code(204).send();
}

async function status(api: ApiContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { id } = request.params as { id: string };
  const { txId, coordinator } = refOf(api, request, true);
  const answer = await api.node.coordinator.txStatus({ txId }, coordinator);
  api.sendJson(reply, JSON.stringify({ id, status: answer.status, timestamp: answer.ts }));
}
