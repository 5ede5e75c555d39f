/** Runs the claims about causality for every protocol of single operations in the catalogue that promises it. */
import type { Deps, Timestamp } from '@isochron/core';
import { OPERATION_PROTOCOLS } from '@isochron/protocols/catalogue';
import { matrixSession, only } from '@isochron/protocols/kernel/operations/dependency-matrix';
import { causalityClaims } from './causality-claims.js';
import { matrixClaims } from './matrix-claims.js';
import { namedClaims } from './named-claims.js';

const { eventual: _notCausal, ...CAUSAL } = OPERATION_PROTOCOLS;

/** A matrix with one element: it stands for every matrix up to its timestamp. */
const oneElement = (ts: Timestamp): Deps => only(0, 0, ts);

describe.each(Object.entries(CAUSAL))('%s', (name, { protocol, session }) => {
  const hasMatrices = session === matrixSession;
  // The second round of COPS-GT reads the version that the first one depends on: the newer one.
  const between = name === 'cops-gt' ? (['X1', 'Y1'] as const) : undefined;
  causalityClaims(protocol, hasMatrices ? oneElement : undefined, between);
  if (hasMatrices) matrixClaims(protocol);
  if (session.depends !== undefined) namedClaims(protocol);
});
