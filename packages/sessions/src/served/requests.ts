/** For each type of request, the coordinator's request and the frame that answers it. */
import {
  holderOf,
  IsochronError,
  isQueueId,
  type KeyWrite,
  type ListRange,
  type Principal,
  type QueuePlace,
  type Timestamp,
  type TxId,
  Update,
} from '@isochron/core';
import type { Capability, ListResp, Snapshot } from '@isochron/protocols';
import type { AnswerFrame, RequestFrame } from '@isochron/wire/session-frames';
import type { Infer, Kind, ObjectForm } from '@isochron/wire/session-frames/notation';
import { REQUEST_FRAMES as FRAMES } from '@isochron/wire/session-frames/requests';
import { type AccessRules, readClaim } from '../access/judged-coordinator.js';
import type { CoordinatorPort } from '../coordinator/coordinator-port.js';
import { commitThrough, type OutcomeQuestions, type PlacedCommit } from '../coordinator/outcomes.js';
import { clientTxId, storedTxId } from '../coordinator/owned-ids.js';
import type { Done } from '../coordinator/request-port.js';
import { answerBytes, cutPage } from '../requests/answer-size.js';
import { requireCapability, unsupported } from '../requests/capabilities.js';
import { asIsochronError } from '../requests/errors.js';
import { levelField, listRange } from '../requests/range.js';
import { depsField, snapshotOf, wanted } from '../snapshot.js';
import type { SessionTokens } from '../tokens/session-token.js';
import { refuseFuture } from '../tokens/snapshot-checks.js';
import type { Answer, FrameEncoder } from './answers.js';
import { blocked, type CommitOrder, type WriteNeed } from './commit-order.js';
import {
  attemptRegionsOf,
  avoidsOf,
  type Checked,
  checkOf,
  depsOf,
  keysOf,
  mapsOf,
  type RawFrame,
  writesOf,
} from './frames.js';
import type { Reply, RequestContext } from './served-session.js';
import type { Watches } from './watches.js';

/** The parts of a node that sessions with transactions need. */
export interface TransactionParts {
  readonly coordinator: CoordinatorPort;
  /** The access rules of the node; absent where there are none. */
  readonly access?: AccessRules | undefined;
  readonly outcomes: OutcomeQuestions;
  readonly tokens: SessionTokens;
}

/** A request's view of its session. */
export interface TransactionRequests extends RequestContext {
  readonly parts: TransactionParts;
  readonly commits: CommitOrder;
  readonly principal: Principal;
  /** The highest snapshot that the session has seen. */
  readonly seen: Snapshot;
  /** Raises the highest snapshot that the session has seen and, when that changed, returns its new token. */
  saw(snapshot: Snapshot): string | undefined;
  /** As `saw`, after an answer that goes from a timestamp, which the client claims, to another one. */
  sawChanges(from: Timestamp, to: Timestamp): string | undefined;
  /** The scopes that the connection watches. */
  readonly watches: Watches;
  /** Requests for changes that wait. */
  waiting: number;
  /** As `saw`, for the snapshot of a transaction that begins. */
  began(txId: TxId, snapshot: Snapshot): string | undefined;
  /** The snapshot of a transaction that began here; nothing, which belongs to no region, where it is not known. */
  readBy(txId: TxId): Snapshot;
  /** As `saw`, for a commit. @param sent the snapshot that it was sent with */
  committed(commit: PlacedCommit, sent: Snapshot): string | undefined;
  /** What a commit depends on that was sent with this snapshot, behind commits that the session has seen meanwhile. */
  depending(snapshot: Snapshot): Snapshot;
}

/** Serves requests of one type, whose fields are not checked yet. */
export type Handler<C> = (frame: RawFrame, id: number, context: C, reply: Reply) => void;

/** A request of a type, with its fields as declared. */
export type Request<T extends RequestFrame['type']> = Checked<Extract<RequestFrame, { readonly type: T }>>;

/** Serves the requests of a type once their fields are checked. */
export function checked<K extends ObjectForm & Kind, C>(
  kind: K,
  serve: (frame: Checked<Infer<K>>, id: number, context: C, reply: Reply) => void,
): Handler<C> {
  const check = checkOf(kind);
  return (frame, id, context, reply) => serve(check(frame), id, context, reply);
}

const DEFAULT_LIMIT = 100;
const DEFAULT_STABLE_TIMEOUT_MS = 10_000;

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
export function claimed(context: RequestContext, ts: Timestamp, name: string): Timestamp {
  return notInFuture(context, { ts }, name).ts;
}

function notInFuture(context: RequestContext, snapshot: Snapshot, name: string): Snapshot {
  refuseFuture(context.node.latest(), snapshot, `"${name}"`);
  return snapshot;
}

/** A snapshot that a client names: a timestamp, with its other entries in `deps`. */
function named(
  context: TransactionRequests,
  ts: Timestamp | null | undefined,
  entries: Request<'commit'>['deps'],
  name: 'at' | 'snapshot',
): Snapshot | null {
  const isNamed = ts != null;
  const deps = depsOf(entries, isNamed ? context.parts.tokens.checks.entries : 0);
  return isNamed ? notInFuture(context, { ts, deps }, name) : null;
}

function pastOf(context: TransactionRequests, frame: Pick<Request<'read'>, 'at' | 'deps'>): Snapshot | null {
  const at = named(context, frame.at, frame.deps, 'at');
  if (at !== null) requireCapability(context.node.protocol, 'read-past', '"at"');
  return at;
}

function start(frame: Request<'start'>, id: number, context: TransactionRequests, reply: Reply): void {
  const at = pastOf(context, frame);
  const { tx: txId } = frame;
  const { transactions } = context.node.serving;
  const stored = storedOf(context, txId);
  const isNew = transactions.begin(context.client, stored);
  const failed: Reply = (result) => {
    if (result instanceof IsochronError && isNew) transactions.end(stored);
    reply(result);
  };
  context.parts.coordinator.ask(
    { type: 'StartTxReq', txId, ...wanted(context.seen, at) },
    answered(failed, (answer) => {
      const snapshot = snapshotOf(answer);
      const token = context.began(txId, snapshot);
      return withToken({ type: 'started', id, snapshot: snapshot.ts, ...depsField(snapshot) }, token);
    }),
  );
}

/** The id of a transaction of this session's principal, as nodes store it (U4). */
export const storedOf = ({ principal }: TransactionRequests, txId: TxId): TxId => storedTxId(txId, holderOf(principal));

/** Hot: no intermediate frame, and only closures on the way. */
function read(frame: Request<'read'>, id: number, context: TransactionRequests, reply: Reply): void {
  const at = pastOf(context, frame);
  const txId = frame.tx ?? null;
  const keys = keysOf(frame.keys, context.node.rules);
  context.parts.coordinator.ask(
    { type: 'ReadReq', txId, ...wanted(context.seen, at), keys },
    answered(reply, (answer) => {
      const { versions } = answer;
      const bytes = answerBytes(versions, context.node.rules.maxAnswerBytes);
      const snapshot = snapshotOf(answer);
      const token = context.saw(snapshot);
      return { bytes, encode: (encoder) => encoder.values(id, snapshot, versions, token) };
    }),
  );
}

function list(frame: Request<'list'>, id: number, context: TransactionRequests, reply: Reply): void {
  const at = pastOf(context, frame);
  const { keyspace } = frame;
  const range = rangeOf(context, frame);
  const txId = frame.tx ?? null;
  const known = claimed(context, frame.known ?? 0, 'known');
  context.parts.coordinator.ask(
    { type: 'ListReq', txId, ...wanted(context.seen, at), keyspace, range },
    answered(reply, (listed) => pageOf(context, id, keyspace.length + 1, listed, known)),
  );
}

/**
 * @param cut length of the keyspace in each key
 * @param known documents at or below it come without their values (LQ8)
 */
function pageOf(context: TransactionRequests, id: number, cut: number, listed: ListResp, known: Timestamp): Answer {
  const snapshot = snapshotOf(listed);
  const { entries, next, bytes } = cutPage(listed.entries, listed.next, context.node.rules.maxAnswerBytes, known);
  const token = context.saw(snapshot);
  const page = (encoder: FrameEncoder<unknown>): AnswerFrame => ({
    type: 'listed',
    id,
    snapshot: snapshot.ts,
    ...depsField(snapshot),
    entries: entries.map(({ key, version: { ts, value } }) =>
      ts <= known ? [key.slice(cut), ts] : [key.slice(cut), ts, encoder.value(value ?? 'null')],
    ),
    next: next === null ? null : next.slice(cut),
    ...(token === undefined ? {} : { token }),
  });
  return { bytes, encode: (encoder) => encoder.frame(page(encoder)) };
}

function rangeOf({ node }: RequestContext, { keyspace, prefix, start, limit, level }: Request<'list'>): ListRange {
  const range = listRange(node.rules, keyspace, prefix ?? '', start ?? '', limit ?? DEFAULT_LIMIT);
  return { ...range, ...levelField(level) };
}

function commit(frame: Request<'commit'>, id: number, context: TransactionRequests, reply: Reply): void {
  const { topology } = context.node;
  const snapshot = named(context, frame.snapshot, frame.deps, 'snapshot');
  const attemptRegions = attemptRegionsOf(frame.attemptRegions, (name) => topology.regions.includes(name));
  const txId = frame.tx;
  const hwt = claimed(context, frame.hwt, 'hwt');
  const first = frame.first == null ? undefined : claimed(context, frame.first, 'first');
  // A deferred commit lies above the horizon: below its first timestamp, no log has to be searched for it.
  const sentAfter = Math.max(claimed(context, frame.sentAfter, 'sentAfter'), (first ?? 1) - 1);
  const avoids = avoidsOf(frame, (avoid) => topology.isAvoidList(avoid));
  const maps = mapsOf(frame);
  const principal = context.principal.id;
  const writes = commitWrites(frame, context);
  const queue = frame.queue == null ? undefined : queueOf(frame.queue, context);
  // The coordinator alone knows what it has read: the commit comes again with that, once the one before is decided.
  if (frame.after != null && snapshot === null && context.parts.tokens.rules.depending !== undefined)
    throw blocked(frame.after);
  let sent = snapshot ?? context.readBy(txId);
  context.commits.add(
    txId,
    frame.after ?? null,
    needsOf(frame.behind ?? [], context),
    (above, behind, done) => {
      if (above > 0) sent = context.depending(sent);
      const known = snapshot && sent;
      const attempts = { attemptRegions, avoids, maps };
      const session = {
        hwt: Math.max(hwt, above),
        sentAfter,
        principal,
        first,
        queue,
        behind: behind.length > 0 ? behind : undefined,
      };
      commitThrough(context.parts.coordinator, { txId, known, writes, ...attempts, ...session }, done);
    },
    answered(reply, (committed) => {
      context.node.serving.transactions.end(storedOf(context, txId));
      const token = context.committed(committed, sent);
      const { ts, nodes, map, upTo } = committed;
      // The client judges by them whether a map defers the commit (M10).
      const place = { ...(map && { map }), ...(nodes && { nodes }), ...(upTo && { upTo }) };
      return withToken({ type: 'committed', id, ts, ...depsField(committed), ...place }, token);
    }),
  );
}

/** The place in a queue. @throws IsochronError `NOT_SUPPORTED_BY_PROTOCOL`, `INVALID_REQUEST`, `TIMESTAMP_IN_FUTURE` */
export function queueOf(
  { id, n, read }: NonNullable<Request<'commit'>['queue']>,
  context: TransactionRequests,
): QueuePlace {
  requireCapability(context.node.protocol, 'write-counters', '"queue"');
  if (!isQueueId(id)) throw new IsochronError('INVALID_REQUEST', 'The id of a queue is 128 bits, as base64url.');
  claimed(context, read, 'read');
  return { id, n };
}

/** What a commit follows (M4). @throws IsochronError `INVALID_REQUEST`, `TIMESTAMP_IN_FUTURE` */
function needsOf(behind: NonNullable<Request<'commit'>['behind']>, context: TransactionRequests): WriteNeed[] {
  const { length } = context.node.topology.nodes;
  return behind.map(({ node, ct }) => {
    if (node != null && node >= length)
      throw new IsochronError('INVALID_REQUEST', `"behind": there is no node ${node}.`);
    return { ...(node != null && { node }), ct: claimed(context, ct, 'behind') };
  });
}

/** The writes of a commit: updates only where the protocol has them. */
function commitWrites(frame: Request<'commit'>, { node }: TransactionRequests): KeyWrite[] {
  const writes = writesOf(frame.writes, node.rules);
  if (writes.some(({ value }) => value instanceof Update)) requireCapability(node.protocol, 'updates', '"operations"');
  return writes;
}

function origin(frame: Request<'origin'>, id: number, context: TransactionRequests, reply: Reply): void {
  requireCapability(context.node.protocol, 'updates', '"origin"');
  const at = { ts: claimed(context, frame.at, 'at') };
  const keys = [context.node.rules.qualified(frame.key)];
  readClaim(
    context.parts.coordinator,
    { type: 'ReadReq', txId: null, ...wanted(context.seen, at), keys },
    frame.tx,
    answered(reply, ({ answer, version, origin: made }) => {
      const token = context.saw(snapshotOf(answer));
      return {
        bytes: answerBytes([version], context.node.rules.maxAnswerBytes),
        encode: (encoder) => {
          const value =
            version === null || version.value === null ? null : ([version.ts, encoder.value(version.value)] as const);
          return encoder.frame(
            withToken({ type: 'origin', id, value, origin: made && [made.ts, clientTxId(made.txId)] }, token),
          );
        },
      };
    }),
  );
}

function abort({ tx }: Request<'abort'>, id: number, context: TransactionRequests, reply: Reply): void {
  context.parts.coordinator.ask(
    { type: 'EndTxReq', txId: tx },
    answered(reply, () => {
      context.node.serving.transactions.end(storedOf(context, tx));
      return { type: 'aborted', id };
    }),
  );
}

function status(frame: Request<'status'>, id: number, context: TransactionRequests, reply: Reply): void {
  context.parts.outcomes.status(
    storedOf(context, frame.tx),
    frame.sentAfter ?? null,
    answered(reply, (answer) => ({ type: 'status', id, status: answer.status, ts: answer.ts })),
  );
}

function stable(frame: Request<'stable'>, id: number, context: RequestContext, reply: Reply): void {
  const timeoutMs = frame.timeoutMs ?? DEFAULT_STABLE_TIMEOUT_MS;
  const ts = claimed(context, frame.ts, 'ts');
  context.identity.wait<Timestamp>(
    (done) => context.node.serving.stable(context.client, ts, timeoutMs, done),
    answered(reply, (ust) => withToken({ type: 'stable', id, ust }, context.sawStable(ust))),
  );
}

function ping({ token }: Request<'ping'>, id: number, context: RequestContext, reply: Reply): void {
  reply(withToken({ type: 'pong', id }, token == null ? undefined : context.learn(token)));
}

function authenticate(
  { credentials }: Request<'authenticate'>,
  id: number,
  context: RequestContext,
  reply: Reply,
): void {
  context.identity.renew(
    credentials,
    answered(reply, ({ expiresAt }) => ({
      type: 'authenticated',
      id,
      now: context.node.now(),
      ...(expiresAt === null ? {} : { expiresAt }),
    })),
  );
}

/** A handler for every type of request. */
export type Handlers<C> = { readonly [T in RequestFrame['type']]: Handler<C> };

/** The requests of every kind of session. */
export const COMMON_REQUESTS: Pick<Handlers<RequestContext>, 'stable' | 'ping' | 'authenticate'> = {
  stable: checked(FRAMES.stable, stable),
  ping: checked(FRAMES.ping, ping),
  authenticate: checked(FRAMES.authenticate, authenticate),
};

/** A request that this kind of session does not support. */
export const refuse =
  (needed: Capability): Handler<RequestContext> =>
  ({ type }, _id, { node }) => {
    throw unsupported(node.protocol, needed, `"${String(type)}"`);
  };

/** The requests of sessions with transactions, except those for changes (`feed-requests.ts`). */
export const TRANSACTION_REQUESTS: Omit<Handlers<TransactionRequests>, 'changes' | 'live' | 'settle'> = {
  start: checked(FRAMES.start, start),
  read: checked(FRAMES.read, read),
  list: checked(FRAMES.list, list),
  commit: checked(FRAMES.commit, commit),
  origin: checked(FRAMES.origin, origin),
  abort: checked(FRAMES.abort, abort),
  status: checked(FRAMES.status, status),
  get: refuse('operations'),
  rot: refuse('operations'),
  put: refuse('operations'),
  ...COMMON_REQUESTS,
};

/** The handler of an unchecked type. */
export const handlerOf = <C>(handlers: Handlers<C>, type: unknown): Handler<C> | undefined =>
  typeof type === 'string' && Object.hasOwn(handlers, type) ? handlers[type as RequestFrame['type']] : undefined;
