/** What each request of a session asks of the coordinator, and the frame that answers it. */
import { IsochronError, type ListRange, prefixEnd, type Timestamp } from '@isochron/core';
import type { AnswerFrame, RequestFrame } from '@isochron/wire/session-frames';
import type { ApiContext } from '../http/context.js';
import type { Encoded } from './codec.js';
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
  encodeValues: (id: number, snapshot: Timestamp, versions: Parameters<ValuesEncoder>[2], token: string | undefined) => Encoded;
  encodeValue: (value: string | Uint8Array) => string | { readonly bytes: string } | Uint8Array;
}
type ValuesEncoder = import('./codec.js').Codec['values'];

/** An answer: a frame, or one that is encoded already. */
export type Answer = AnswerFrame | { readonly encoded: Encoded };
type Handler = (frame: RawFrame, id: number, context: RequestContext) => Promise<Answer>;

const MAX_TEXT = 4096;
const DEFAULT_STABLE_TIMEOUT_MS = 10_000;
const MAX_STABLE_TIMEOUT_MS = 60_000;

/** Adds the token where there is a new one. */
const withToken = <F extends AnswerFrame>(frame: F, token: string | undefined): F => (token === undefined ? frame : { ...frame, token });

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

const ustFor = (context: RequestContext, at: Timestamp | null): Timestamp => (at === null ? context.ust : Math.min(at, context.ust));

async function start(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  const at = atField(context, frame);
  const { snapshot } = await context.api.node.coordinator.start({ txId: txIdField(frame), ust: ustFor(context, at), at });
  return withToken({ type: 'started', id, snapshot }, context.saw(snapshot, 0));
}

/** Hot: one closure, no intermediate frame. */
function read(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  const at = atField(context, frame);
  const txId = optionalTxId(frame);
  const keys = keysField(frame, context.api.rules);
  return context.api.node.coordinator.read({ txId, ust: ustFor(context, at), at, keys }).then(({ snapshot, versions }) => ({
    encoded: context.encodeValues(id, snapshot, versions, context.saw(snapshot, 0)),
  }));
}

async function list(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  const at = atField(context, frame);
  const keyspace = optionalText(frame, 'keyspace', MAX_TEXT) ?? '';
  context.api.rules.keyspace(keyspace);
  const range = rangeOf(frame, keyspace);
  const asked = { txId: optionalTxId(frame), ust: ustFor(context, at), at, keyspace, range };
  const { snapshot, entries, next } = await context.api.node.coordinator.list(asked);
  const cut = keyspace.length + 1;
  const listed = entries.map(
    ({ key, version }) => [key.slice(cut), version.ts, context.encodeValue(version.value ?? 'null')] as const,
  );
  const answer = { type: 'listed' as const, id, snapshot, entries: listed, next: next === null ? null : next.slice(cut) };
  return withToken(answer, context.saw(snapshot, 0));
}

function rangeOf(frame: RawFrame, keyspace: string): ListRange {
  const first = `${keyspace}/${optionalText(frame, 'prefix', MAX_TEXT) ?? ''}`;
  const asked = `${keyspace}/${optionalText(frame, 'start', MAX_TEXT) ?? ''}`;
  for (const text of [first, asked]) checkBound(text);
  const end = prefixEnd(first) ?? prefixEnd(`${keyspace}/`);
  const start = compareKeys(asked, first) > 0 ? asked : first;
  if (end !== null && compareKeys(start, end) >= 0) {
    throw new IsochronError('INVALID_REQUEST', '"start" lies behind all keys of the prefix.');
  }
  return { start, end, limit: optionalInt(frame, 'limit', 1, 1000) ?? 100 };
}

async function commit(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  const { node, rules } = context.api;
  const snapshot = optionalTimestamp(frame, 'snapshot');
  const { ct } = await node.coordinator.commit({
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
  const answer = await context.api.node.coordinator.txStatus({ txId: txIdField(frame) });
  return { type: 'status', id, status: answer.status, ts: answer.ts };
}

async function stable(frame: RawFrame, id: number, context: RequestContext): Promise<Answer> {
  const timeoutMs = optionalInt(frame, 'timeoutMs', 0, MAX_STABLE_TIMEOUT_MS) ?? DEFAULT_STABLE_TIMEOUT_MS;
  const ust = await context.api.node.stable(claimed(context, frame, 'ts'), timeoutMs);
  return withToken({ type: 'stable', id, ust }, context.saw(ust, 0));
}

const ping: Handler = async (_frame, id) => ({ type: 'pong', id });

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
