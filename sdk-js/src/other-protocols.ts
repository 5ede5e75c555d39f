/**
 * The protocols beside PaRiS. It takes the core's code as an argument instead of importing it, so that bundlers keep
 * the two apart: few clusters run one of them.
 */

import type { OpenEngine } from '@isochron/client/session/engine';
import type { SessionRules } from '@isochron/protocols/kernel/transactions/session';
import {
  isOperationName,
  isTransactionName,
  OPERATION_SESSIONS,
  TRANSACTION_SESSIONS,
} from '@isochron/protocols/session-rules';

/**
 * The engine of a protocol by its name; undefined if the catalogue has no such protocol. The client of single
 * operations is a file of its own, too.
 * @param transactions makes the engine of a protocol with transactions
 */
export async function loadOther(
  protocol: string,
  transactions: (rules: SessionRules) => OpenEngine,
): Promise<OpenEngine | undefined> {
  if (isTransactionName(protocol)) return transactions(await TRANSACTION_SESSIONS[protocol]());
  if (!isOperationName(protocol)) return undefined;
  const engine = import('@isochron/client/session/operations');
  const rules = await OPERATION_SESSIONS[protocol]();
  return (await engine).openOperations(rules);
}
