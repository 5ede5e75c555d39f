/**
 * The claims of every protocol of single operations, causal or not. `operation-claims.test.ts` runs them for each.
 */
import type { OperationProtocol } from '@isochron/protocols/kernel/operations/protocol';
import { durabilityClaims } from './durability-claims.js';
import { putClaims } from './put-claims.js';
import { refusalClaims } from './refusal-claims.js';

export function operationClaims(protocol: OperationProtocol): void {
  durabilityClaims(protocol);
  putClaims(protocol);
  refusalClaims(protocol);
}
