import type { Timestamp, TxId } from '@isochron/core/ids';
import type { RequestFrame } from '@isochron/wire/session-frames';
import { Exchange, unexpected } from '../link/exchange.js';
import type { Answer } from '../link/frames.js';
import type { TransactionStatus } from '../transaction-status.js';

/** Asks any node for the status of a transaction. */
export class TxStatusExchange extends Exchange<TransactionStatus> {
  constructor(
    readonly txId: TxId,
    readonly sentAfter: Timestamp | undefined,
  ) {
    super();
  }

  frame(id: number): RequestFrame {
    return {
      type: 'status',
      id,
      tx: this.txId,
      ...(this.sentAfter === undefined ? {} : { sentAfter: this.sentAfter }),
    };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'status') throw unexpected(frame);
    this.done({ state: frame.status, timestamp: frame.ts ?? undefined });
  }
}
