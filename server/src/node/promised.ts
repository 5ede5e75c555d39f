/** Calls that end with a callback, as promises: for HTTP routes. */
import { IsochronError, type NodeId } from '@isochron/core';
import type {
  ChangesReq,
  ChangesResp,
  CommitReq,
  CommitResp,
  EndTxReq,
  EndTxResp,
  GetReq,
  GetResp,
  ListReq,
  ListResp,
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
import type { CoordinatorPort, Done, OperationsPort, Unreferenced } from '@isochron/sessions';

/** The result of a call. */
export const promised = <T>(call: (done: Done<T>) => void): Promise<T> =>
  new Promise((resolve, reject) => {
    call((result) => {
      if (result instanceof IsochronError) reject(result);
      else resolve(result);
    });
  });

/** A {@link CoordinatorPort}. */
export class TransactionRequests {
  constructor(readonly port: CoordinatorPort) {}

  start(request: Unreferenced<StartTxReq>, coordinator?: NodeId): Promise<StartTxResp> {
    return promised((done) => this.port.start(request, done, coordinator));
  }

  read(request: Unreferenced<ReadReq>, coordinator?: NodeId): Promise<ReadResp> {
    return promised((done) => this.port.read(request, done, coordinator));
  }

  list(request: Unreferenced<ListReq>, coordinator?: NodeId): Promise<ListResp> {
    return promised((done) => this.port.list(request, done, coordinator));
  }

  commit(request: Unreferenced<CommitReq>, coordinator?: NodeId): Promise<CommitResp> {
    return promised((done) => this.port.commit(request, done, coordinator));
  }

  end(request: Unreferenced<EndTxReq>, coordinator?: NodeId): Promise<EndTxResp> {
    return promised((done) => this.port.end(request, done, coordinator));
  }

  txStatus(request: Unreferenced<TxStatusReq>, coordinator?: NodeId): Promise<TxStatusResp> {
    return promised((done) => this.port.txStatus(request, done, coordinator));
  }

  changes(request: Unreferenced<ChangesReq>): Promise<ChangesResp> {
    return promised((done) => this.port.changes(request, done));
  }
}

/** An {@link OperationsPort}. */
export class OperationRequests {
  constructor(readonly port: OperationsPort) {}

  get(request: Unreferenced<GetReq>): Promise<GetResp> {
    return promised((done) => this.port.get(request, done));
  }

  put(request: Unreferenced<PutReq>): Promise<PutResp> {
    return promised((done) => this.port.put(request, done));
  }

  rot(request: Unreferenced<RotReq>): Promise<RotResp> {
    return promised((done) => this.port.rot(request, done));
  }
}
