/** A client with one session: transaction after transaction, each when the one before has ended, as the papers' clients do. */
import type { QualifiedKey, TxId } from '@isochron/core';
import type { Session, SessionTransaction, TransactionMessage } from '@isochron/protocols';
import type { VirtualTime } from '../engine/virtual-time.js';
import type { ClientConnection, ScaleNode } from './scale-node.js';

/** After a refusal. */
const BACK_OFF_MS = 50;
const PRINCIPAL = 'anonymous';

type M = TransactionMessage;
type Request = (ref: number) => M;

/** An endless sequence of transactions. */
export interface Transactions {
  nextTransaction(): { readonly reads: readonly QualifiedKey[]; readonly writes: readonly QualifiedKey[] };
  nextValue(): string;
}

/** What is told of transactions. */
export interface LoopListener {
  begin(): void;
  /** @param ms from its start until its client knew that it had committed, or that it was refused */
  end(outcome: 'committed' | 'refused', ms: number): void;
}

export class ClosedLoop implements ClientConnection {
  readonly #session: Session;
  readonly #node: ScaleNode;
  readonly #transactions: Transactions;
  readonly #listener: LoopListener;
  readonly #time: VirtualTime;
  readonly #oneWayMs: number;
  #tx: SessionTransaction | undefined;
  #writes: readonly QualifiedKey[] = [];
  #asked: readonly QualifiedKey[] = [];
  #beganAt = 0;
  #committing = false;
  /** Requests of this transaction that are not answered. */
  readonly #refs = new Set<number>();

  /** @param oneWayMs between the client and its node */
  constructor(
    session: Session,
    node: ScaleNode,
    transactions: Transactions,
    listener: LoopListener,
    time: VirtualTime,
    oneWayMs: number,
  ) {
    this.#session = session;
    this.#node = node;
    this.#transactions = transactions;
    this.#listener = listener;
    this.#time = time;
    this.#oneWayMs = oneWayMs;
  }

  /** Whether a transaction of it is under way. */
  get underWay(): boolean {
    return this.#tx !== undefined;
  }

  /** Begins the next transaction: start and reads are one message, as the SDK sends them. */
  begin(): void {
    const { reads, writes } = this.#transactions.nextTransaction();
    const tx = this.#session.begin();
    this.#tx = tx;
    this.#writes = writes;
    this.#asked = reads;
    this.#beganAt = this.#time.now;
    this.#committing = false;
    this.#listener.begin();
    const { ts: ust, deps } = this.#session.seen;
    const { id: txId } = tx;
    this.#send([
      (ref) => ({ type: 'StartTxReq', ref: this.#awaited(ref), txId, ust, at: null, deps }),
      (ref) => ({ type: 'ReadReq', ref: this.#awaited(ref), txId, ust, at: null, deps, keys: reads }),
    ]);
  }

  /** What the node sent reaches the client a while later. */
  answered(answers: readonly M[]): void {
    this.#time.after(this.#oneWayMs, () => {
      for (const answer of answers) if ('ref' in answer && this.#refs.delete(answer.ref)) this.#take(answer);
    });
  }

  #awaited(ref: number): number {
    this.#refs.add(ref);
    return ref;
  }

  #send(requests: readonly Request[]): void {
    this.#time.after(this.#oneWayMs, () => this.#node.request(this, requests));
  }

  #take(answer: M): void {
    const tx = this.#tx!;
    switch (answer.type) {
      case 'StartTxResp':
        this.#session.started(tx, answer.snapshot, answer.deps);
        return;
      case 'ReadResp':
        this.#asked.forEach((key, i) => {
          tx.record(key, answer.versions[i] ?? null);
        });
        this.#commit(tx);
        return;
      case 'CommitResp':
        this.#session.committed(answer.ct, answer.deps);
        this.#end('committed');
        return;
      case 'Refused':
        this.#refused(tx);
        return;
      default:
    }
  }

  #commit(tx: SessionTransaction): void {
    for (const key of this.#writes) tx.write(key, this.#transactions.nextValue());
    if (!tx.hasWrites) {
      this.#endOnServer(tx.id);
      this.#session.end(tx);
      this.#end('committed');
      return;
    }
    const { txId, deps, hwt, birth, writes } = this.#session.commit(tx);
    const homes = [this.#node.region];
    this.#committing = true;
    const commit = {
      type: 'CommitReq',
      txId,
      snapshot: null,
      deps,
      hwt,
      birth,
      homes,
      principal: PRINCIPAL,
      writes,
    } as const;
    this.#send([(ref) => ({ ...commit, ref: this.#awaited(ref) })]);
  }

  #refused(tx: SessionTransaction): void {
    if (this.#committing) this.#session.refused();
    else {
      this.#endOnServer(tx.id);
      this.#session.end(tx);
    }
    this.#end('refused');
  }

  #endOnServer(txId: TxId): void {
    this.#send([(ref) => ({ type: 'EndTxReq', ref, txId })]);
  }

  #end(outcome: 'committed' | 'refused'): void {
    this.#tx = undefined;
    this.#refs.clear();
    this.#listener.end(outcome, this.#time.now - this.#beganAt);
    if (outcome === 'committed') this.begin();
    else this.#time.after(BACK_OFF_MS, () => this.begin());
  }
}
