/**
 * Ids of transactions, each in the scope of its principal (U4). Clients make ids, and readers of changes see the ids of
 * other clients. So a node stores an id together with its owner: the id of another principal's transaction names no
 * transaction, in any request. Answers have the id as the client made it.
 */
import { createHash } from 'node:crypto';
import { type NodeId, RecentMap, type TxId } from '@isochron/core';
import type { CoordinatorPort } from './client-port.js';

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

type Call<Name extends 'start' | 'read' | 'list' | 'commit' | 'end' | 'txStatus'> = Parameters<CoordinatorPort[Name]>;

/** A coordinator that is called with the ids of one principal's clients. */
export class OwnedCoordinator implements CoordinatorPort {
  constructor(
    readonly port: CoordinatorPort,
    /** The principal now, see `holderOf`. */
    readonly holder: () => string,
  ) {}

  start(request: Call<'start'>[0], done: Call<'start'>[1], coordinator?: NodeId): void {
    this.port.start(this.#stored(request), done, coordinator);
  }

  read(request: Call<'read'>[0], done: Call<'read'>[1], coordinator?: NodeId): void {
    this.port.read(this.#stored(request), done, coordinator);
  }

  list(request: Call<'list'>[0], done: Call<'list'>[1], coordinator?: NodeId): void {
    this.port.list(this.#stored(request), done, coordinator);
  }

  commit(request: Call<'commit'>[0], done: Call<'commit'>[1], coordinator?: NodeId): void {
    this.port.commit(this.#stored(request), done, coordinator);
  }

  end(request: Call<'end'>[0], done: Call<'end'>[1], coordinator?: NodeId): void {
    this.port.end(this.#stored(request), done, coordinator);
  }

  txStatus(request: Call<'txStatus'>[0], done: Call<'txStatus'>[1], coordinator?: NodeId): void {
    this.port.txStatus(this.#stored(request), done, coordinator);
  }

  changes(...call: Parameters<CoordinatorPort['changes']>): void {
    this.port.changes(...call);
  }

  newReader(): number {
    return this.port.newReader();
  }

  live(...call: Parameters<CoordinatorPort['live']>): void {
    this.port.live(...call);
  }

  endLive(reader: number): void {
    this.port.endLive(reader);
  }

  #stored<R extends { readonly txId: TxId | null }>(request: R): R {
    const holder = request.txId === null ? '' : this.holder();
    return request.txId === null || holder === '' ? request : { ...request, txId: storedTxId(request.txId, holder) };
  }
}
