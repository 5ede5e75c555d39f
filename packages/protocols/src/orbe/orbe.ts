/**
 * Orbe's DM protocol (Du, Elnikety, Roy, Zwaenepoel: _Orbe: Scalable Causal Consistency Using Dependency Matrices and
 * Physical Clocks_, SoCC 2013, section 3): GET and PUT. A client tracks its nearest dependencies in a sparse matrix; an
 * update carries it, and is applied in another region when every partition that it names has its dependencies.
 */
import { NodeClock } from '../kernel/node-clock.js';
import { matrixSession } from '../kernel/operations/dependency-matrix.js';
import { MatrixRules } from '../kernel/operations/matrix-rules.js';
import type { OperationProtocol } from '../kernel/operations/protocol.js';

/** Causal consistency of single operations; only updates of other regions wait, for their dependencies. */
export const orbe: OperationProtocol = {
  name: 'orbe',
  rots: false,
  Clock: NodeClock,
  session: matrixSession,
  rules: (state) => new MatrixRules(state),
};
