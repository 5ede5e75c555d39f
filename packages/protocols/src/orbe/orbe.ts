/**
 * Orbe's DM protocol (Du, Elnikety, Roy, Zwaenepoel: _Orbe: Scalable Causal Consistency Using Dependency Matrices and Physical Clocks_, SoCC 2013,
 * section 3): GET and PUT. A client tracks its nearest dependencies in a sparse matrix; an update carries it, and is applied in another region when every
 * partition that it names has what it depends on.
 */
import { NodeClock } from '../kernel/node-clock.js';
import { matrixSession } from '../kernel/operations/dependency-matrix.js';
import { MatrixRules } from '../kernel/operations/matrix-rules.js';
import type { OperationProtocol } from '../kernel/operations/protocol.js';

/** Causal consistency of single operations; nothing waits but updates of other regions, for what they depend on. */
export const orbe: OperationProtocol = {
  name: 'orbe',
  rots: false,
  Clock: NodeClock,
  session: matrixSession,
  rules: (state) => new MatrixRules(state),
};
