/** The contents of sessions, in the format of the files. */

import { toBase64 } from '@isochron/client/encoding';
import { type Content, type Deps, InvariantViolation, type Timestamp, Update, type Value } from '@isochron/core';
import type { ReadResult, SessionState, SessionTransaction } from '@isochron/protocols/kernel/transactions/session';
import type { Snapshot } from '@isochron/protocols/kernel/transactions/snapshots';
import { laidOver, type OwnWrite } from '@isochron/protocols/kernel/transactions/write-cache';
import type {
  Refusal,
  VectorContent,
  VectorRead,
  VectorSnapshot,
  VectorState,
  VectorValue,
  VectorView,
} from './format.js';

/** The texts of the sessions' invariants, and their names in the files. */
const REFUSALS: readonly (readonly [RegExp, Refusal])[] = [
  [/is below what was seen/, 'snapshotBelowSeen'],
  [/a snapshot never changes/, 'snapshotChanged'],
  [/one commit in flight/, 'commitInFlight'],
  [/no commit is in flight/, 'noCommitInFlight'],
  [/one operation at a time/, 'operationUnderWay'],
  [/no operation is under way/, 'noOperationUnderWay'],
  [/no PUT is under way/, 'noPutUnderWay'],
];

/** Calls a session: its result, or the rule of its refusal. */
export function attempt<T>(call: () => T): { readonly returned: T } | { readonly refused: Refusal } {
  try {
    return { returned: call() };
  } catch (error) {
    if (!(error instanceof InvariantViolation)) throw error;
    const refusal = REFUSALS.find(([message]) => message.test(error.message));
    if (refusal === undefined) throw error;
    return { refused: refusal[1] };
  }
}

export const valueOut = (value: Value | null): VectorValue =>
  value instanceof Uint8Array ? { bytes: toBase64(value) } : value;

export const contentOut = (content: Content): VectorContent =>
  content instanceof Update ? { operations: content.operations } : valueOut(content);

const depsOut = (deps: Deps | undefined): { deps?: readonly Timestamp[] } => (deps === undefined ? {} : { deps });

export const snapshotOut = ({ ts, deps }: Snapshot): VectorSnapshot => ({ ts, ...depsOut(deps) });

export const stateOut = ({ ust, deps, hwt, cache }: SessionState): VectorState => ({
  ust,
  ...depsOut(deps),
  hwt,
  cache: cache.map(([key, { ct, txId, value }]) => ({ key, ct, txId, value: contentOut(value) })),
});

export const readOut = ({ value, ts }: ReadResult): VectorRead => ({
  value: valueOut(value),
  ...(ts === null ? {} : { ts }),
});

export function viewOut(tx: SessionTransaction): VectorView {
  const { id, snapshot, covered, hasWrites } = tx;
  const [{ ts: floor }, { deps }] = [tx.seen, tx.read];
  return {
    id,
    floor,
    ...(snapshot === undefined ? {} : { snapshot }),
    ...depsOut(deps),
    covered: Number.isFinite(covered) ? covered : null,
    hasWrites,
    writes: writesOut(tx.writes),
  };
}

/** Own writes of a key, over a snapshot without the key. */
export const overAbsent = (own: readonly OwnWrite[]): ReadResult => ({
  value: laidOver(null, own) ?? null,
  ts: own.at(-1)?.ct ?? null,
});

export const writesOut = (writes: SessionTransaction['writes']): VectorView['writes'] =>
  writes.map(({ key, value }) => ({ key, value: contentOut(value) }));
