/** The session of the cluster's protocol: loaded when the first node has reported its protocol. */

import type { OpenEngine } from '@isochron/client/session/engine';
import { openTransactions } from '@isochron/client/session/transactions';
import { IsochronError } from '@isochron/core/errors';
import { Session, type SessionRules } from '@isochron/protocols/kernel/transactions/session';

const transactions = (rules: SessionRules): OpenEngine =>
  openTransactions((id, state) => new Session(id, rules, state));

/** Throws NOT_SUPPORTED_BY_PROTOCOL for a protocol that this client does not support. */
export async function loadEngine(protocol: string): Promise<OpenEngine> {
  if (protocol === 'paris') return transactions((await import('@isochron/protocols/paris/session')).parisSession);
  const { loadOther } = await import('./other-protocols.js');
  const engine = await loadOther(protocol, transactions);
  if (engine !== undefined) return engine;
  throw new IsochronError(
    'NOT_SUPPORTED_BY_PROTOCOL',
    `this client does not support the cluster's protocol, ${protocol}`,
  );
}
