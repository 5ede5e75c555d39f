/** What each request of a session asks of the coordinator, and the frame that answers it. */
import type { ListRange, Timestamp } from '@isochron/core';
import type { AnswerFrame, RequestFrame } from '@isochron/wire/session-frames';
import { answerBytes, cutPage } from '../http/answer-size.js';
import type { ApiContext } from '../http/context.js';
import { listRange } from '../http/range.js';
import type { Codec, Encoded } from './codec.js';
import {
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
} from './frames.js';

/** What a request needs of its connection. */
export interface RequestContext {
  readonly api: ApiContext;
  readonly principal: string;
  /** Highest stable snapshot that the session has seen. */
  readonly ust: Timestamp;
  /** Raises what the session has seen and, when that changed, returns the token that says so. */
  saw(snapshot: Timestamp, ct: Timestamp): string | undefined;
  /** As `saw`, for what another connection of the session was given. @throws IsochronError for a bad token */
  learn(token: string): string | undefined;
  readonly codec: Codec;
}

/** An answer that may be large: it is encoded when it can leave. */
export interface LargeAnswer {
  /** About how many bytes it is. */
  readonly bytes: number;
  encode(): Encoded;
}

/** An answer: a frame, or what becomes one. */
export type Answer = AnswerFrame | LargeAnswer;
type Handler = (frame: RawFrame, id: number, context: RequestContext) => Promise<Answer>;

const MAX_TEXT = 4096;
const DEFAULT_LIMIT = 100;
const DEFAULT_STABLE_TIMEOUT_MS = 10_000;
const MAX_STABLE_TIMEOUT_MS = 60_000;

/** Adds the token where there is a new one. */
const withToken = <F extends AnswerFrame>(frame: F, token: string | undefined): F =>
  token === undefined ? frame : { ...frame, token };

/** A timestamp that a client claims (T1). */
function claimed(context: RequestContext, frame: RawFrame, name: string): Timestamp {
  return notInFuture(context, timestampField(frame, name), name);
}

function notInFuture(context: RequestContext, ts: Timestamp, name: string): Timestamp {
  const { node, sessions } = context.api;
  sessions.tokens.refuseFuture(ts, node.now(), `"${name}"`);
  return ts;
}

function atField(context: RequestContext, frame: RawFrame): Timestamp | null {
  const at = optionalTimestamp(frame, 'at');
  return at === null ? null : notInFuture(context, at, 'at');
}

const ustFor = (context: RequestContext, at: Timestamp | null): Timestamp =>
  at === null ? context.ust : Math.min(at, context.ust);

async function start(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  const at = atField(context, frame);
  const { snapshot } = await context.api.node.coordinator.start({
    txId: txIdField(frame),
    ust: ustFor(context, at),
    at,
  });
  return withToken({ type: 'started', id, snapshot }, context.saw(snapshot, 0));
}

/** Hot: one closure, no intermediate frame. */
function read(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  const at = atField(context, frame);
  const txId = optionalTxId(frame);
  const keys = keysField(frame, context.api.rules);
  return context.api.node.coordinator
    .read({ txId, ust: ustFor(context, at), at, keys })
    .then(({ snapshot, versions }) => {
      const bytes = answerBytes(versions, context.api.rules.maxAnswerBytes);
      const token = context.saw(snapshot, 0);
      return { bytes, encode: () => context.codec.values(id, snapshot, versions, token) };
    });
}

async function list(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  const at = atField(context, frame);
  const keyspace = optionalText(frame, 'keyspace', MAX_TEXT) ?? '';
  const range = rangeOf(context, frame, keyspace);
  const asked = { txId: optionalTxId(frame), ust: ustFor(context, at), at, keyspace, range };
  const { snapshot, ...listed } = await context.api.node.coordinator.list(asked);
  const { entries, next, bytes } = cutPage(listed.entries, listed.next, context.api.rules.maxAnswerBytes);
  const token = context.saw(snapshot, 0);
  const cut = keyspace.length + 1;
  const page = (): AnswerFrame => ({
    type: 'listed',
    id,
    snapshot,
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

function rangeOf(context: RequestContext, frame: RawFrame, keyspace: string): ListRange {
  const prefix = optionalText(frame, 'prefix', MAX_TEXT) ?? '';
  const start = optionalText(frame, 'start', MAX_TEXT) ?? '';
  return listRange(context.api.rules, keyspace, prefix, start, optionalInt(frame, 'limit', 1, 1000) ?? DEFAULT_LIMIT);
}

async function commit(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  const { node, rules, outcomes } = context.api;
  const snapshot = optionalTimestamp(frame, 'snapshot');
  const ct = await outcomes.commit({
    txId: txIdField(frame),
    snapshot: snapshot === null ? null : notInFuture(context, snapshot, 'snapshot'),
    hwt: claimed(context, frame, 'hwt'),
    birth: claimed(context, frame, 'birth'),
    homes: homesField(frame, (name) => node.topology.regions.includes(name)),
    principal: context.principal,
    writes: writesField(frame, rules),
  });
  return withToken({ type: 'committed', id, ts: ct }, context.saw(0, ct));
}

async function abort(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  await context.api.node.coordinator.end({ txId: txIdField(frame) });
  return { type: 'aborted', id };
}

async function status(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  const birth = optionalTimestamp(frame, 'birth');
  const answer = await context.api.outcomes.status(txIdField(frame), birth);
  return { type: 'status', id, status: answer.status, ts: answer.ts };
}

async function stable(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  const timeoutMs = optionalInt(frame, 'timeoutMs', 0, MAX_STABLE_TIMEOUT_MS) ?? DEFAULT_STABLE_TIMEOUT_MS;
  const ust = await context.api.serving.stable(claimed(context, frame, 'ts'), timeoutMs);
  return withToken({ type: 'stable', id, ust }, context.saw(ust, 0));
}

async function ping(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  const token = optionalText(frame, 'token', MAX_TEXT);
  return withToken({ type: 'pong', id }, token === undefined ? undefined : context.learn(token));
}

/** A handler for every type of request. */
export const REQUESTS: { readonly [T in RequestFrame['type']]: Handler } = {
  start,
  read,
  list,
  commit,
  abort,
  status,
  stable,
  ping,
};

/** The handler of a type from outside. */
export const handlerOf = (type: unknown): Handler | undefined =>
  typeof type === 'string' && Object.hasOwn(REQUESTS, type) ? REQUESTS[type as RequestFrame['type']] : undefined;
