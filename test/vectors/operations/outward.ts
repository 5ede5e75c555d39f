/** The contents of sessions of single operations, in the format of the files. */
import type { Dependency } from '@isochron/core/ids';
import type { OperationSession, OperationSessionState } from '@isochron/protocols/kernel/operations/session';
import type { VectorDependency, VectorGet, VectorPut, VectorRot, VectorSeen } from '../format.js';
import { valueOut } from '../outward.js';

export const dependencyOut = ({ key, source, ts, near }: Dependency): VectorDependency => ({
  key,
  source,
  ts,
  ...(near === true ? { near } : {}),
});

export const dependsOut = (depends: readonly Dependency[] | undefined): Pick<VectorSeen, 'depends'> =>
  depends === undefined ? {} : { depends: depends.map(dependencyOut) };

export const seenOut = ({ seen, region, ust, depends }: OperationSessionState): VectorSeen => ({
  seen,
  region,
  ust,
  ...dependsOut(depends),
});

export const getOut = ({ key, seen, region }: ReturnType<OperationSession['get']>): VectorGet => ({
  key,
  seen,
  region,
});

export const rotOut = ({ keys, seen, region, id }: ReturnType<OperationSession['rot']>): VectorRot => ({
  keys,
  seen,
  region,
  ...(id === undefined ? {} : { id }),
});

export function putOut(put: ReturnType<OperationSession['put']>): VectorPut {
  const { txId, key, value, seen, region, sentAfter, attemptRegions, depends } = put;
  return { txId, key, value: valueOut(value), seen, region, sentAfter, attemptRegions, ...dependsOut(depends) };
}
