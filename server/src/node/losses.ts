/** Losses (D10) for operators: lines in the log, and acknowledgements through a step of the node. */
import type { NodeId, Topology, TxId } from '@isochron/core';
import {
  type AcknowledgeLossesReq,
  type AcknowledgeLossesResp,
  LOSS_REPORTS_MACHINE,
  type Loss,
} from '@isochron/protocols';
import { type PortDriver, RequestPort } from '@isochron/sessions';
import type { Logger } from 'pino';
import { promised } from './promised.js';

/** Name of the machine for the node's operators. */
export const OPERATOR_MACHINE = 'operator';

/** Number of keys of a loss in a line of the log; `GET /v1/losses` has all of them. */
const LOGGED_KEYS = 50;

export class OperatorPort extends RequestPort<AcknowledgeLossesReq, AcknowledgeLossesResp> {
  constructor(node: NodeId, driver: PortDriver<AcknowledgeLossesReq>) {
    super(node, driver, OPERATOR_MACHINE);
  }

  /** Resolves once it is durable, with the number of open losses that it acknowledged. */
  async acknowledgeLosses(transactions: readonly TxId[] | 'all'): Promise<number> {
    const request: AcknowledgeLossesReq = {
      type: 'AcknowledgeLossesReq',
      ref: this.ref(),
      transactions: transactions === 'all' ? null : transactions,
    };
    const { acknowledged } = await promised<AcknowledgeLossesResp>((done) =>
      this.call(request, 'AcknowledgeLossesResp', done, this.node, LOSS_REPORTS_MACHINE),
    );
    return acknowledged;
  }
}

/** One line for each new loss. */
export const lossLogger =
  (logger: Pick<Logger, 'error'>, topology: Topology) =>
  (losses: readonly Loss[]): void => {
    for (const { txId, ts, keys, partitions, node, committed, takenBack } of losses) {
      const fields = {
        transaction: txId,
        timestamp: ts,
        keys: keys.slice(0, LOGGED_KEYS),
        keyCount: keys.length,
        partitions: partitions.map((id) => topology.partitions[id]?.name ?? String(id)),
        lostDiskOf: node,
        committed,
        takenBack,
      };
      logger.error(fields, 'a lost disk took a part of this transaction; "isochron losses" lists all of them');
    }
  };
