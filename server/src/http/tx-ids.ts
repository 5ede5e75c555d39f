/**
 * Transaction ids that the API makes: 128 random bits, and a binding to the principal that they were made for. The
 * id of another caller's transaction cannot be guessed, and another principal that learns one can neither use it nor
 * take it for a write of its own.
 */
import { createHmac } from 'node:crypto';
import { isTxId, type TxId, txIdOf } from '@isochron/core';

/** What is known to one principal and the node only; empty where callers need no key: then all are one principal. */
export type Scope = Buffer;

/** Bytes of a binding: as many as the counter of an id holds. */
const BINDING_BYTES = 6;

/** The id of a random part. */
export const boundTxId = (scope: Scope, part: string): TxId =>
  txIdOf(part, scope.length === 0 ? 0 : mac(scope, 'transaction', part).readUIntBE(0, BINDING_BYTES));

/** Whether an id may have been made for the principal. */
export const isBoundTo = (scope: Scope, txId: TxId): boolean =>
  scope.length === 0 || txId === boundTxId(scope, txId.slice(0, txId.indexOf('.')));

/**
 * The id of a write under an Idempotency-Key: the id itself where it was made for this principal, as the problem
 * document of a write has it; otherwise one that only this principal gets for this key.
 */
export const txIdOfKey = (scope: Scope, key: string): TxId =>
  isTxId(key) && isBoundTo(scope, key)
    ? key
    : boundTxId(scope, mac(scope, 'idempotency key', key).toString('base64url'));

const mac = (scope: Scope, label: string, text: string): Buffer =>
  createHmac('sha256', scope).update(`${label}\0`).update(text).digest();
