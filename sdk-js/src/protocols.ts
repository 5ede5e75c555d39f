/** The session of the cluster's protocol: loaded when the first node has reported its protocol. */

import type { OpenEngine } from '@isochron/client/session/engine';
import { openTransactions } from '@isochron/client/session/transactions';
import { IsochronError } from '@isochron/core/errors';
import { Session, type SessionRules } from '@isochron/protocols/kernel/transactions/session';
import { part } from './parts.js';

/** The rules of PaRiS, which most clusters run: their file is fetched while the first connection opens. */
export const loadParis = () => part(import('@isochron/protocols/paris/session'));

const transactions = (rules: SessionRules): OpenEngine =>
  openTransactions((id, state) => new Session(id, rules, state));

/**
 * @throws NOT_SUPPORTED_BY_PROTOCOL for a protocol that this client does not support, CODE_UNAVAILABLE where a file
 *   could not be fetched
 */
export async function loadEngine(protocol: string): Promise<OpenEngine> {
  if (protocol === 'paris') return transactions((await loadParis()).parisSession);
  const { loadOther } = await part(import('./other-protocols.js'));
  const engine = await part(loadOther(protocol, transactions));
  if (engine !== undefined) return engine;
  throw new IsochronError(
    'NOT_SUPPORTED_BY_PROTOCOL',
    `this client does not support the cluster's protocol, ${protocol}`,
  );
}
