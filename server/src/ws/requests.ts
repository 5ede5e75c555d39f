/** What each request of a session asks of the coordinator, and the frame that answers it. */
import type { ListRange, Timestamp } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { TxStatus } from '@isochron/sessions';
import {
  answerBytes,
  type Capability,
  cutPage,
  depsField,
  listRange,
  MAX_OPERATION_TOKEN_LENGTH,
  requireCapability,
  snapshotOf,
  unsupported,
  wanted,
} from '@isochron/sessions';
import {
  avoidsField,
  depsOf,
  homesField,
  keysField,
  optionalInt,
  optionalText,
  optionalTimestamp,
  optionalTxId,
  type RawFrame,
  timestampField,
  txIdField,
  writesField,
} from '@isochron/sessions/served/frames';
import type { AnswerFrame, RequestFrame } from '@isochron/wire/session-frames';
import type { TransactionsContext } from '../http/context.js';
import { promised } from '../node/promised.js';
import type { Answer, RequestContext } from './served-session.js';

/** What a request needs of its session. */
export interface TransactionRequests extends RequestContext {
  readonly api: TransactionsContext;
  readonly principal: string;
  /** The highest snapshot that the session has seen. */
  readonly seen: Snapshot;
  /** Raises what the session has seen and, when that changed, returns the token that says so. */
  saw(snapshot: Snapshot): string | undefined;
  /** As `saw`, for a commit, and the snapshot that its transaction read from where the request has said so. */
  committed(commit: Snapshot, snapshot: Snapshot | undefined): string | undefined;
}

export type Handler<C> = (frame: RawFrame, id: number, context: C) => Promise<Answer>;

const MAX_TEXT = 4096;
const DEFAULT_LIMIT = 100;
const DEFAULT_STABLE_TIMEOUT_MS = 10_000;
const MAX_STABLE_TIMEOUT_MS = 60_000;

/** Adds the token where there is a new one. */
export const withToken = <F extends AnswerFrame>(frame: F, token: string | undefined): F =>
  token === undefined ? frame : { ...frame, token };

/** A timestamp that a client claims (T1). */
function claimed(context: RequestContext, frame: RawFrame, name: string): Timestamp {
  return notInFuture(context, { ts: timestampField(frame, name) }, name).ts;
}

function notInFuture(context: RequestContext, snapshot: Snapshot, name: string): Snapshot {
  context.api.refuseFuture(snapshot, `"${name}"`);
  return snapshot;
}

/** A snapshot that a client names: a timestamp, with its other entries in `deps`. */
function snapshotField(context: TransactionRequests, frame: RawFrame, name: 'at' | 'snapshot'): Snapshot | null {
  const ts = optionalTimestamp(frame, name);
  if (ts === null && frame.deps == null) return null;
  const deps = depsOf(frame, ts === null ? 0 : context.api.sessions.tokens.checks.entries);
  return ts === null ? null : notInFuture(context, { ts, deps }, name);
}

function atField(context: TransactionRequests, frame: RawFrame): Snapshot | null {
  const at = snapshotField(context, frame, 'at');
  if (at !== null) requireCapability(context.api.node.protocol, 'read-past', '"at"');
  return at;
}

async function start(frame: RawFrame, id: number, context: TransactionRequests): Promise<Answer> {
  const at = atField(context, frame);
  const { coordinator } = context.api.node;
  const snapshot = snapshotOf(await coordinator.start({ txId: txIdField(frame), ...wanted(context.seen, at) }));
  return withToken({ type: 'started', id, snapshot: snapshot.ts, ...depsField(snapshot) }, context.saw(snapshot));
}

/** Hot: one closure, no intermediate frame. */
function read(frame: RawFrame, id: number, context: TransactionRequests): Promise<Answer> {
  const at = atField(context, frame);
  const txId = optionalTxId(frame);
  const keys = keysField(frame, context.api.rules);
  return context.api.node.coordinator.read({ txId, ...wanted(context.seen, at), keys }).then((answer) => {
    const { versions } = answer;
    const bytes = answerBytes(versions, context.api.rules.maxAnswerBytes);
    const snapshot = snapshotOf(answer);
    const token = context.saw(snapshot);
    return { bytes, encode: () => context.codec.values(id, snapshot, versions, token) };
  });
}

async function list(frame: RawFrame, id: number, context: TransactionRequests): Promise<Answer> {
  const at = atField(context, frame);
  const keyspace = optionalText(frame, 'keyspace', MAX_TEXT) ?? '';
  const range = rangeOf(context, frame, keyspace);
  const asked = { txId: optionalTxId(frame), ...wanted(context.seen, at), keyspace, range };
  const listed = await context.api.node.coordinator.list(asked);
  const snapshot = snapshotOf(listed);
  const { entries, next, bytes } = cutPage(listed.entries, listed.next, context.api.rules.maxAnswerBytes);
  const token = context.saw(snapshot);
  const cut = keyspace.length + 1;
  const page = (): AnswerFrame => ({
    type: 'listed',
    id,
    snapshot: snapshot.ts,
    ...depsField(snapshot),
    entries: entries.map(({ key, version }) => [
      key.slice(cut),
      version.ts,
      context.codec.value(version.value ?? 'null'),
    ]),
    next: next === null ? null : next.slice(cut),
    ...(token === undefined ? {} : { token }),
  });
  return { bytes, encode: () => context.codec.frame(page()) };
}

function rangeOf(context: TransactionRequests, frame: RawFrame, keyspace: string): ListRange {
  const prefix = optionalText(frame, 'prefix', MAX_TEXT) ?? '';
  const start = optionalText(frame, 'start', MAX_TEXT) ?? '';
  return listRange(context.api.rules, keyspace, prefix, start, optionalInt(frame, 'limit', 1, 1000) ?? DEFAULT_LIMIT);
}

async function commit(frame: RawFrame, id: number, context: TransactionRequests): Promise<Answer> {
  const { node, rules, outcomes } = context.api;
  const snapshot = snapshotField(context, frame, 'snapshot');
  const homes = homesField(frame, (name) => node.topology.regions.includes(name));
  const order = {
    txId: txIdField(frame),
    snapshot: snapshot?.ts ?? null,
    deps: snapshot?.deps,
    hwt: claimed(context, frame, 'hwt'),
    birth: claimed(context, frame, 'birth'),
    homes,
    avoids: avoidsField(frame, homes.length, (avoid) => node.topology.isAvoidList(avoid)),
    principal: context.principal,
    writes: writesField(frame, rules),
  };
  const committed = await promised<Snapshot>((done) => outcomes.commit(order, done));
  const token = context.committed(committed, snapshot ?? undefined);
  return withToken({ type: 'committed', id, ts: committed.ts, ...depsField(committed) }, token);
}

async function abort(frame: RawFrame, id: number, context: TransactionRequests): Promise<Answer> {
  await context.api.node.coordinator.end({ txId: txIdField(frame) });
  return { type: 'aborted', id };
}

async function status(frame: RawFrame, id: number, context: TransactionRequests): Promise<Answer> {
  const birth = optionalTimestamp(frame, 'birth');
  const answer = await promised<TxStatus>((done) => context.api.outcomes.status(txIdField(frame), birth, done));
  return { type: 'status', id, status: answer.status, ts: answer.ts };
}

async function stable(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  const timeoutMs = optionalInt(frame, 'timeoutMs', 0, MAX_STABLE_TIMEOUT_MS) ?? DEFAULT_STABLE_TIMEOUT_MS;
  const ts = claimed(context, frame, 'ts');
  const ust = await promised<Timestamp>((done) => context.api.serving.stable(ts, timeoutMs, done));
  return withToken({ type: 'stable', id, ust }, context.sawStable(ust));
}

async function ping(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  const token = optionalText(frame, 'token', MAX_OPERATION_TOKEN_LENGTH);
  return withToken({ type: 'pong', id }, token === undefined ? undefined : context.learn(token));
}

/** A handler for every type of request. */
export type Handlers<C> = { readonly [T in RequestFrame['type']]: Handler<C> };

/** What every kind of session can be asked. */
export const COMMON_REQUESTS = { stable, ping } satisfies Record<string, Handler<RequestContext>>;

/** A request that this kind of session does not make. */
export const refuse =
  (needed: Capability): Handler<RequestContext> =>
  ({ type }, _id, { api }) =>
    Promise.reject(unsupported(api.node.protocol, needed, `"${String(type)}"`));

export const TRANSACTION_REQUESTS: Handlers<TransactionRequests> = {
  start,
  read,
  list,
  commit,
  abort,
  status,
  get: refuse('operations'),
  rot: refuse('operations'),
  put: refuse('operations'),
  ...COMMON_REQUESTS,
};

/** The handler of a type from outside. */
export const handlerOf = <C>(handlers: Handlers<C>, type: unknown): Handler<C> | undefined =>
  typeof type === 'string' && Object.hasOwn(handlers, type) ? handlers[type as RequestFrame['type']] : undefined;
