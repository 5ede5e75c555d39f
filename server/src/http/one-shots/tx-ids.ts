/**
 * Transaction ids of the API: 128 random bits, the home of the commit (`home-in-id.ts`), and a binding to the principal
 * that they were made for. The id of another caller's transaction cannot be guessed, except that of a write under an
 * Idempotency-Key by who knows the key. Another principal that learns an id cannot use it, nor take it for a write of
 * its own: nodes store each id with its owner (U4).
 */
import { createHmac } from 'node:crypto';
import { isTxId, type Topology, type TxId, txIdOf } from '@isochron/core';
import { homeInId, homeOfKey, partWithHome, RANDOM_PART } from '@isochron/sessions';

/** A scope of one principal; empty where callers need no key: all are one principal then. */
export type PrincipalScope = Buffer;

/** Bytes of a binding: as many as the counter of an id holds. */
const BINDING_BYTES = 6;

/** The id of a part with its home. */
export const boundTxId = (scope: PrincipalScope, part: string): TxId =>
  txIdOf(part, scope.length === 0 ? 0 : mac(scope, 'transaction', part).readUIntBE(0, BINDING_BYTES));

/** Whether an id may have been made for the principal. @param scopes of the principal */
export const isBoundTo = (scopes: readonly PrincipalScope[], txId: TxId): boolean =>
  scopes.some((scope) => scope.length === 0 || txId === boundTxId(scope, txId.slice(0, txId.indexOf('.'))));

/**
 * The id of a write under an Idempotency-Key: the key itself where it is an id that was made for this principal, as in
 * a problem document; otherwise one that only this principal gets for this key. Both are the same in every region, and
 * on nodes that have different secrets while the cluster's secret is changed.
 *
 * @param lasting the scope of the principal that no secret is part of
 */
export function txIdOfKey(
  scopes: readonly PrincipalScope[],
  lasting: PrincipalScope,
  key: string,
  topology: Topology,
): TxId {
  if (isTxId(key) && isBoundTo([...scopes, lasting], key) && homeInId(key, topology) !== undefined) return key;
  const part = mac(lasting, 'idempotency key', key).toString('base64url').slice(0, RANDOM_PART);
  return boundTxId(lasting, partWithHome(part, { home: homeOfKey(key, topology), avoid: [] }, topology));
}

const mac = (scope: PrincipalScope, label: string, text: string): Buffer =>
  createHmac('sha256', scope).update(`${label}\0`).update(text).digest();
