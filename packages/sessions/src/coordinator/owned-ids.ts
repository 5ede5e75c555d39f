/**
 * Ids of transactions, each in the scope of its principal (U4). Clients make ids, and readers of changes see the ids of
 * other clients. So a node stores an id together with its owner: the id of another principal's transaction names no
 * transaction, in any request. Answers have the id as the client made it.
 */
import { createHash } from 'node:crypto';
import { type NodeId, RecentMap, type TxId } from '@isochron/core';
import type {
  CoordinatorAnswer,
  CoordinatorPort,
  CoordinatorRequest,
  CoordinatorRequestType,
} from './coordinator-port.js';
import type { Done } from './request-port.js';

/** No id of a client contains the mark. */
const MARK = '~';
const OWNER_LENGTH = 12;

const owners = new RecentMap<string, string>(4096);

/** The owner as a part of an id: 72 bits of a hash, the same on every node of every region. */
function ownerOf(holder: string): string {
  const known = owners.get(holder);
  if (known !== undefined) return known;
  const owner = createHash('sha256').update(holder).digest('base64url').slice(0, OWNER_LENGTH);
  owners.set(holder, owner);
  return owner;
}

/** A client's id as nodes store it. @param holder see `holderOf`; empty where no caller needs credentials */
export const storedTxId = (txId: TxId, holder: string): TxId =>
  holder === '' ? txId : `${txId}${MARK}${ownerOf(holder)}`;

/** A stored id as its client made it. */
export function clientTxId(stored: TxId): TxId {
  const at = stored.length - OWNER_LENGTH - 1;
  return stored[at] === MARK ? stored.slice(0, at) : stored;
}

/** A coordinator that is asked with the ids of one principal's clients. */
export class OwnedCoordinator implements CoordinatorPort {
  constructor(
    readonly port: CoordinatorPort,
    /** The principal now, see `holderOf`. */
    readonly holder: () => string,
  ) {}

  ask<T extends CoordinatorRequestType>(
    request: CoordinatorRequest<T>,
    done: Done<CoordinatorAnswer<T>>,
    node?: NodeId,
  ): void {
    this.port.ask(this.#stored(request), done, node);
  }

  #stored<R extends { readonly type: string; readonly txId?: TxId | null }>(request: R): R {
    const { txId } = request;
    const holder = txId == null ? '' : this.holder();
    return txId == null || holder === '' ? request : { ...request, txId: storedTxId(txId, holder) };
  }
}
