/** One-shot writes and commits for plain HTTP callers. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Content, IsochronError, type KeyWrite, type NodeId, type Timestamp, type TxId } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import {
  ATTEMPT_PAUSE_MS,
  attemptInId,
  bytesOf,
  type Caller,
  commitThrough,
  mayTryAgain,
  type PlacedCommit,
  requireCapability,
  withNextAttempt,
} from '@isochron/sessions';
import type { FastifyRequest } from 'fastify';
import { promised } from '../../node/promised.js';
import type { ApiContext, TransactionsContext } from '../context.js';
import type { WriteRef } from '../documentation/schemas.js';
import { countKeys } from '../limits/rates.js';

/** A commit, as a route requests it. */
export interface RequestedCommit {
  readonly txId: TxId;
  /** The snapshot that the transaction read. */
  readonly snapshot: Snapshot;
  /** Whether it is an interactive one that its coordinator has open. */
  readonly open?: boolean;
  readonly hwt: Timestamp;
  readonly sentAfter: Timestamp;
  readonly principal: string;
  readonly writes: readonly KeyWrite[];
  readonly coordinator?: NodeId | undefined;
}

/**
 * Commits and takes the writes into the caller's session. Returns the commit timestamp and the caller's next token.
 * @throws UndecidedError where the commit may have taken effect; IsochronError where it has not
 */
export async function commit(
  api: TransactionsContext,
  request: FastifyRequest,
  caller: Caller,
  order: RequestedCommit,
): Promise<{ ct: Timestamp; token: string }> {
  const { txId, snapshot, open = false, hwt, sentAfter, principal, writes } = order;
  const depending = api.sessions.depending(caller, snapshot);
  const known = open && depending === snapshot ? null : depending;
  const coordinator = api.coordinator(request, caller.hwt);
  const fields = { txId, known, hwt, sentAfter, principal, writes };
  const attempt = async (attempts: ReturnType<typeof attemptInId>): Promise<PlacedCommit> => {
    const call = { ...fields, ...attempts };
    try {
      return await promised<PlacedCommit>((done) => commitThrough(coordinator, call, done, order.coordinator));
    } catch (error) {
      if (!(error instanceof IsochronError) || !mayTryAgain(error, attempts)) throw error;
    }
    await delay(ATTEMPT_PAUSE_MS);
    return attempt(withNextAttempt(attempts, api.node));
  };
  const committed = await attempt(attemptInId(txId, api.node));
  const written = { txId, writes, commit: committed, map: committed.map, sent: depending };
  return { ct: committed.ts, token: api.sessions.committed(caller, written, api.holder(request)) };
}

/** The order of a one-shot write: it depends on the caller's snapshot. */
export const oneShot = (
  api: TransactionsContext,
  caller: Caller,
  id: { txId: TxId; repeated: boolean },
  principal: string,
  writes: readonly KeyWrite[],
): RequestedCommit => ({
  txId: id.txId,
  snapshot: api.sessions.knownTo(caller),
  hwt: caller.hwt,
  sentAfter: api.sentAfter(id.repeated),
  principal,
  writes,
});

/**
 * The writes of a body, checked and counted.
 * @throws IsochronError for what the rules and limits refuse; `INVALID_REQUEST` for a key named twice or an ambiguous
 * write
 */
export function writesOf(api: ApiContext, request: FastifyRequest, refs: readonly WriteRef[]): KeyWrite[] {
  api.rules.count(refs.length);
  countKeys(api, request, refs.length);
  const writes = refs.map((ref) => ({ key: api.rules.qualify(ref.keyspace, ref.key), value: contentOf(api, ref) }));
  if (new Set(writes.map(({ key }) => key)).size < writes.length) {
    throw new IsochronError('INVALID_REQUEST', 'A transaction writes each key once: one of the keys is named twice.');
  }
  return writes;
}

function contentOf(api: ApiContext, ref: WriteRef): Content {
  const given = ['value', 'bytes', 'delete', 'operations'].filter((field) => Object.hasOwn(ref, field));
  if (given.length !== 1) {
    const detail = 'A write has exactly one of "value", "bytes", "delete" and "operations".';
    throw new IsochronError('INVALID_REQUEST', detail);
  }
  if (ref.delete === true) return null;
  if (ref.operations !== undefined) {
    requireCapability(api.node.protocol, 'updates', '"operations"');
    return api.rules.update(JSON.stringify(ref.operations));
  }
  return ref.bytes === undefined ? api.rules.written(JSON.stringify(ref.value)) : api.rules.value(bytesOf(ref.bytes));
}
