/** Calls of a region's coordinators for clients. */
import type { IsochronError, NodeId } from '@isochron/core';
import type {
  ChangesReq,
  ChangesResp,
  ClientRequest,
  ClientResponse,
  CommitReq,
  CommitResp,
  EndTxReq,
  EndTxResp,
  GetReq,
  GetResp,
  ListReq,
  ListResp,
  LiveReq,
  LiveResp,
  OperationRequest,
  OperationResponse,
  PutReq,
  PutResp,
  ReadReq,
  ReadResp,
  RotReq,
  RotResp,
  StartTxReq,
  StartTxResp,
  TxStatusReq,
  TxStatusResp,
} from '@isochron/protocols';
import { FEEDS_MACHINE } from '@isochron/protocols/kernel/feeds/log-server';
import { type Done, RequestPort } from './request-port.js';

/** A request without its reference, which the port adds. */
export type Unreferenced<R> = Omit<R, 'type' | 'ref'>;

/** A scope of a live reader that has ended, and why. */
export interface EndedScope {
  readonly watch: number;
  readonly error: IsochronError;
}

/** An answer to a live reader. Scopes end where access rules refuse them. */
export type LiveAnswer = LiveResp & { readonly ended?: readonly EndedScope[] };

/**
 * A coordinator of interactive transactions. Every call ends: with the answer, or with an IsochronError that carries
 * the refusal's code. `coordinator` names another node of the region that opened the transaction; the default is this
 * node.
 */
export interface CoordinatorPort {
  start(request: Unreferenced<StartTxReq>, done: Done<StartTxResp>, coordinator?: NodeId): void;
  read(request: Unreferenced<ReadReq>, done: Done<ReadResp>, coordinator?: NodeId): void;
  list(request: Unreferenced<ListReq>, done: Done<ListResp>, coordinator?: NodeId): void;
  commit(request: Unreferenced<CommitReq>, done: Done<CommitResp>, coordinator?: NodeId): void;
  end(request: Unreferenced<EndTxReq>, done: Done<EndTxResp>, coordinator?: NodeId): void;
  txStatus(request: Unreferenced<TxStatusReq>, done: Done<TxStatusResp>, coordinator?: NodeId): void;
  /** From the change feed of this node. */
  changes(request: Unreferenced<ChangesReq>, done: Done<ChangesResp>): void;
  /** A number for a live reader. */
  newReader(): number;
  /** From the change feed of this node, for a live reader. */
  live(request: Unreferenced<LiveReq>, done: Done<LiveAnswer>): void;
  /** A live reader is gone. */
  endLive(reader: number): void;
}

/** The coordinator of single operations on this node. Every call ends, as those of {@link CoordinatorPort} do. */
export interface OperationsPort {
  get(request: Unreferenced<GetReq>, done: Done<GetResp>): void;
  put(request: Unreferenced<PutReq>, done: Done<PutResp>): void;
  rot(request: Unreferenced<RotReq>, done: Done<RotResp>): void;
}

/** For interactive transactions: any coordinator of the region may be called. */
export class ClientPort extends RequestPort<ClientRequest, ClientResponse> implements CoordinatorPort {
  start(request: Unreferenced<StartTxReq>, done: Done<StartTxResp>, coordinator = this.node): void {
    this.call({ type: 'StartTxReq', ref: this.ref(), ...request }, 'StartTxResp', done, coordinator);
  }

  read(request: Unreferenced<ReadReq>, done: Done<ReadResp>, coordinator = this.node): void {
    this.call({ type: 'ReadReq', ref: this.ref(), ...request }, 'ReadResp', done, coordinator);
  }

  list(request: Unreferenced<ListReq>, done: Done<ListResp>, coordinator = this.node): void {
    this.call({ type: 'ListReq', ref: this.ref(), ...request }, 'ListResp', done, coordinator);
  }

  commit(request: Unreferenced<CommitReq>, done: Done<CommitResp>, coordinator = this.node): void {
    this.call({ type: 'CommitReq', ref: this.ref(), ...request }, 'CommitResp', done, coordinator);
  }

  end(request: Unreferenced<EndTxReq>, done: Done<EndTxResp>, coordinator = this.node): void {
    this.call({ type: 'EndTxReq', ref: this.ref(), ...request }, 'EndTxResp', done, coordinator);
  }

  txStatus(request: Unreferenced<TxStatusReq>, done: Done<TxStatusResp>, coordinator = this.node): void {
    this.call({ type: 'TxStatusReq', ref: this.ref(), ...request }, 'TxStatusResp', done, coordinator);
  }

  changes(request: Unreferenced<ChangesReq>, done: Done<ChangesResp>): void {
    this.call({ type: 'ChangesReq', ref: this.ref(), ...request }, 'ChangesResp', done, this.node, FEEDS_MACHINE);
  }

  newReader(): number {
    return this.ref();
  }

  live(request: Unreferenced<LiveReq>, done: Done<LiveResp>): void {
    this.call({ type: 'LiveReq', ref: this.ref(), ...request }, 'LiveResp', done, this.node, FEEDS_MACHINE);
  }

  endLive(reader: number): void {
    this.post({ type: 'LiveEnd', ref: this.ref(), reader }, this.node, FEEDS_MACHINE);
  }
}

/** For single operations: this node's coordinator does them. */
export class OperationPort extends RequestPort<OperationRequest, OperationResponse> implements OperationsPort {
  get(request: Unreferenced<GetReq>, done: Done<GetResp>): void {
    this.call({ ...request, type: 'GetReq', ref: this.ref() }, 'GetResp', done, this.node);
  }

  put(request: Unreferenced<PutReq>, done: Done<PutResp>): void {
    this.call({ ...request, type: 'PutReq', ref: this.ref() }, 'PutResp', done, this.node);
  }

  rot(request: Unreferenced<RotReq>, done: Done<RotResp>): void {
    this.call({ ...request, type: 'RotReq', ref: this.ref() }, 'RotResp', done, this.node);
  }
}
