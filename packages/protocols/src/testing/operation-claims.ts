/**
 * What every protocol of single operations claims, whatever it claims about causality. `operation-claims.test.ts` runs it for each
 * of them.
 */
import type { OperationProtocol } from '../kernel/operations/protocol.js';
import { durabilityClaims } from './durability-claims.js';
import { putClaims } from './put-claims.js';
import { refusalClaims } from './refusal-claims.js';

export function operationClaims(protocol: OperationProtocol): void {
  durabilityClaims(protocol);
  putClaims(protocol);
  refusalClaims(protocol);
}
