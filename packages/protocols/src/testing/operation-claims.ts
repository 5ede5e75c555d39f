/**
 * What every protocol of single operations claims, whatever it claims about causality. Each such protocol runs it:
 * `operationClaims('Okapi', okapi)`.
 */
import type { OperationProtocol } from '../kernel/operations/protocol.js';
import { durabilityClaims } from './durability-claims.js';
import { putClaims } from './put-claims.js';
import { refusalClaims } from './refusal-claims.js';

export function operationClaims(name: string, protocol: OperationProtocol): void {
  durabilityClaims(name, protocol);
  putClaims(name, protocol);
  refusalClaims(name, protocol);
}
