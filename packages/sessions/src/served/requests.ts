/** For each type of request, the coordinator's request and the frame that answers it. */
import { IsochronError, type KeyWrite, type ListRange, type Timestamp, Update } from '@isochron/core';
import type { Capability, ListResp, Snapshot } from '@isochron/protocols';
import type { AnswerFrame, RequestFrame } from '@isochron/wire/session-frames';
import type { CoordinatorPort } from '../coordinator/client-port.js';
import type { Outcomes } from '../coordinator/outcomes.js';
import type { Done } from '../coordinator/request-port.js';
import { answerBytes, cutPage } from '../requests/answer-size.js';
import { requireCapability, unsupported } from '../requests/capabilities.js';
import { asIsochronError } from '../requests/errors.js';
import { originOf } from '../requests/origin.js';
import { listRange } from '../requests/range.js';
import { depsField, snapshotOf, wanted } from '../snapshot.js';
import { MAX_OPERATION_TOKEN_LENGTH } from '../tokens/operation-token.js';
import type { SessionTokens } from '../tokens/session-token.js';
import { refuseFuture } from '../tokens/snapshot-checks.js';
import type { Answer, FrameEncoder } from './answers.js';
import type { CommitOrder } from './commit-order.js';
import {
  attemptRegionsField,
  avoidsField,
  depsOf,
  keyField,
  keysField,
  optionalInt,
  optionalText,
  optionalTimestamp,
  optionalTxId,
  type RawFrame,
  timestampField,
  txIdField,
  writesField,
} from './frames.js';
import type { Reply, RequestContext } from './served-session.js';

/** The parts of a node that sessions with transactions need. */
export interface TransactionParts {
  readonly coordinator: CoordinatorPort;
  readonly outcomes: Outcomes;
  readonly tokens: SessionTokens;
}

/** A request's view of its session. */
export interface TransactionRequests extends RequestContext {
  readonly parts: TransactionParts;
  readonly commits: CommitOrder;
  readonly principal: string;
  /** The highest snapshot that the session has seen. */
  readonly seen: Snapshot;
  /** Raises the highest snapshot that the session has seen and, when that changed, returns its new token. */
  saw(snapshot: Snapshot): string | undefined;
  /** As `saw`, for a commit, and the snapshot that its transaction read from if the request names it. */
  committed(commit: Snapshot, snapshot: Snapshot | undefined): string | undefined;
}

/** Serves requests of one type. */
export type Handler<C> = (frame: RawFrame, id: number, context: C, reply: Reply) => void;

const MAX_TEXT = 4096;
const DEFAULT_LIMIT = 100;
const DEFAULT_STABLE_TIMEOUT_MS = 10_000;
const MAX_STABLE_TIMEOUT_MS = 60_000;

/** Ends a call with the reply made of its result. An error on the way is the reply, too. */
export const answered =
  <R>(reply: Reply, answerOf: (result: R) => Answer): Done<R> =>
  (result) => {
    if (result instanceof IsochronError) {
      reply(result);
      return;
    }
    let answer: Answer | IsochronError;
    try {
      answer = answerOf(result);
    } catch (thrown) {
      answer = asIsochronError(thrown);
    }
    reply(answer);
  };

/** Adds a new token to the caller's own frame. A copy of the frame would cost as much as making it. */
export function withToken<F extends AnswerFrame>(frame: F, token: string | undefined): F {
  if (token !== undefined) (frame as { token?: string }).token = token;
  return frame;
}

/** A timestamp that a client claims (T1). */
function claimed(context: RequestContext, frame: RawFrame, name: string): Timestamp {
  return notInFuture(context, { ts: timestampField(frame, name) }, name).ts;
}

function notInFuture(context: RequestContext, snapshot: Snapshot, name: string): Snapshot {
  refuseFuture(context.node.latest(), snapshot, `"${name}"`);
  return snapshot;
}

/** A snapshot that a client names: a timestamp, with its other entries in `deps`. */
function snapshotField(context: TransactionRequests, frame: RawFrame, name: 'at' | 'snapshot'): Snapshot | null {
  const ts = optionalTimestamp(frame, name);
  if (ts === null && frame.deps == null) return null;
  const deps = depsOf(frame, ts === null ? 0 : context.parts.tokens.checks.entries);
  return ts === null ? null : notInFuture(context, { ts, deps }, name);
}

function atField(context: TransactionRequests, frame: RawFrame): Snapshot | null {
  const at = snapshotField(context, frame, 'at');
  if (at !== null) requireCapability(context.node.protocol, 'read-past', '"at"');
  return at;
}

function start(frame: RawFrame, id: number, context: TransactionRequests, reply: Reply): void {
  const at = atField(context, frame);
  const txId = txIdField(frame);
  const { transactions } = context.node.serving;
  transactions.begin(context.client, txId);
  const failed: Reply = (result) => {
    if (result instanceof IsochronError) transactions.end(txId);
    reply(result);
  };
  context.parts.coordinator.start(
    { txId, ...wanted(context.seen, at) },
    answered(failed, (answer) => {
      const snapshot = snapshotOf(answer);
      return withToken({ type: 'started', id, snapshot: snapshot.ts, ...depsField(snapshot) }, context.saw(snapshot));
    }),
  );
}

/** Hot: no intermediate frame, and only closures on the way. */
function read(frame: RawFrame, id: number, context: TransactionRequests, reply: Reply): void {
  const at = atField(context, frame);
  const txId = optionalTxId(frame);
  const keys = keysField(frame, context.node.rules);
  context.parts.coordinator.read(
    { txId, ...wanted(context.seen, at), keys },
    answered(reply, (answer) => {
      const { versions } = answer;
      const bytes = answerBytes(versions, context.node.rules.maxAnswerBytes);
      const snapshot = snapshotOf(answer);
      const token = context.saw(snapshot);
      return { bytes, encode: (encoder) => encoder.values(id, snapshot, versions, token) };
    }),
  );
}

function list(frame: RawFrame, id: number, context: TransactionRequests, reply: Reply): void {
  const at = atField(context, frame);
  const keyspace = optionalText(frame, 'keyspace', MAX_TEXT) ?? '';
  const range = rangeOf(context, frame, keyspace);
  const asked = { txId: optionalTxId(frame), ...wanted(context.seen, at), keyspace, range };
  context.parts.coordinator.list(
    asked,
    answered(reply, (listed) => pageOf(context, id, keyspace.length + 1, listed)),
  );
}

/** @param cut length of the keyspace in each key */
function pageOf(context: TransactionRequests, id: number, cut: number, listed: ListResp): Answer {
  const snapshot = snapshotOf(listed);
  const { entries, next, bytes } = cutPage(listed.entries, listed.next, context.node.rules.maxAnswerBytes);
  const token = context.saw(snapshot);
  const page = (encoder: FrameEncoder<unknown>): AnswerFrame => ({
    type: 'listed',
    id,
    snapshot: snapshot.ts,
    ...depsField(snapshot),
    entries: entries.map(({ key, version }) => [key.slice(cut), version.ts, encoder.value(version.value ?? 'null')]),
    next: next === null ? null : next.slice(cut),
    ...(token === undefined ? {} : { token }),
  });
  return { bytes, encode: (encoder) => encoder.frame(page(encoder)) };
}

function rangeOf(context: TransactionRequests, frame: RawFrame, keyspace: string): ListRange {
  const prefix = optionalText(frame, 'prefix', MAX_TEXT) ?? '';
  const start = optionalText(frame, 'start', MAX_TEXT) ?? '';
  return listRange(context.node.rules, keyspace, prefix, start, optionalInt(frame, 'limit', 1, 1000) ?? DEFAULT_LIMIT);
}

function commit(frame: RawFrame, id: number, context: TransactionRequests, reply: Reply): void {
  const { topology } = context.node;
  const snapshot = snapshotField(context, frame, 'snapshot');
  const attemptRegions = attemptRegionsField(frame, (name) => topology.regions.includes(name));
  const order = {
    txId: txIdField(frame),
    snapshot: snapshot?.ts ?? null,
    deps: snapshot?.deps,
    hwt: claimed(context, frame, 'hwt'),
    sentAfter: claimed(context, frame, 'sentAfter'),
    attemptRegions,
    avoids: avoidsField(frame, attemptRegions.length, (avoid) => topology.isAvoidList(avoid)),
    principal: context.principal,
    writes: commitWrites(frame, context),
  };
  context.commits.add(
    order.txId,
    optionalTxId(frame, 'after'),
    (above, done) => context.parts.outcomes.commit({ ...order, hwt: Math.max(order.hwt, above) }, done),
    answered(reply, (committed) => {
      context.node.serving.transactions.end(order.txId);
      const token = context.committed(committed, snapshot ?? undefined);
      return withToken({ type: 'committed', id, ts: committed.ts, ...depsField(committed) }, token);
    }),
  );
}

/** The writes of a commit: updates only where the protocol has them. */
function commitWrites(frame: RawFrame, { node }: TransactionRequests): KeyWrite[] {
  const writes = writesField(frame, node.rules);
  if (writes.some(({ value }) => value instanceof Update)) requireCapability(node.protocol, 'updates', '"operations"');
  return writes;
}

function origin(frame: RawFrame, id: number, context: TransactionRequests, reply: Reply): void {
  requireCapability(context.node.protocol, 'updates', '"origin"');
  const at = { ts: claimed(context, frame, 'at') };
  const keys = [keyField(frame, context.node.rules)];
  context.parts.coordinator.read(
    { txId: null, ...wanted(context.seen, at), keys },
    answered(reply, ({ versions, ...answer }) => {
      const version = versions[0] ?? null;
      const token = context.saw(snapshotOf(answer));
      const made = originOf(version);
      return {
        bytes: answerBytes(versions, context.node.rules.maxAnswerBytes),
        encode: (encoder) => {
          const value =
            version === null || version.value === null ? null : ([version.ts, encoder.value(version.value)] as const);
          return encoder.frame(withToken({ type: 'origin', id, value, origin: made && [made.ts, made.txId] }, token));
        },
      };
    }),
  );
}

function abort(frame: RawFrame, id: number, context: TransactionRequests, reply: Reply): void {
  const txId = txIdField(frame);
  context.parts.coordinator.end(
    { txId },
    answered(reply, () => {
      context.node.serving.transactions.end(txId);
      return { type: 'aborted', id };
    }),
  );
}

function status(frame: RawFrame, id: number, context: TransactionRequests, reply: Reply): void {
  const sentAfter = optionalTimestamp(frame, 'sentAfter');
  context.parts.outcomes.status(
    txIdField(frame),
    sentAfter,
    answered(reply, (answer) => ({ type: 'status', id, status: answer.status, ts: answer.ts })),
  );
}

function stable(frame: RawFrame, id: number, context: RequestContext, reply: Reply): void {
  const timeoutMs = optionalInt(frame, 'timeoutMs', 0, MAX_STABLE_TIMEOUT_MS) ?? DEFAULT_STABLE_TIMEOUT_MS;
  context.node.serving.stable(
    context.client,
    claimed(context, frame, 'ts'),
    timeoutMs,
    answered(reply, (ust) => withToken({ type: 'stable', id, ust }, context.sawStable(ust))),
  );
}

function ping(frame: RawFrame, id: number, context: RequestContext, reply: Reply): void {
  const token = optionalText(frame, 'token', MAX_OPERATION_TOKEN_LENGTH);
  reply(withToken({ type: 'pong', id }, token === undefined ? undefined : context.learn(token)));
}

/** A handler for every type of request. */
export type Handlers<C> = { readonly [T in RequestFrame['type']]: Handler<C> };

/** The requests of every kind of session. */
export const COMMON_REQUESTS = { stable, ping } satisfies Record<string, Handler<RequestContext>>;

/** A request that this kind of session does not support. */
export const refuse =
  (needed: Capability): Handler<RequestContext> =>
  ({ type }, _id, { node }) => {
    throw unsupported(node.protocol, needed, `"${String(type)}"`);
  };

export const TRANSACTION_REQUESTS: Handlers<TransactionRequests> = {
  start,
  read,
  list,
  commit,
  origin,
  abort,
  status,
  get: refuse('operations'),
  rot: refuse('operations'),
  put: refuse('operations'),
  ...COMMON_REQUESTS,
};

/** The handler of an unchecked type. */
export const handlerOf = <C>(handlers: Handlers<C>, type: unknown): Handler<C> | undefined =>
  typeof type === 'string' && Object.hasOwn(handlers, type) ? handlers[type as RequestFrame['type']] : undefined;
