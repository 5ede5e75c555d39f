/** Losses (D10) for operators: lines in the log, and acknowledgements through a step of the node. */
import type { NodeId, Topology, TxId } from '@isochron/core';
import {
  type AcknowledgeLossesReq,
  LOSS_REPORTS_MACHINE,
  type Loss,
  type ReplicationMessage,
  type RequestMap,
} from '@isochron/protocols';
import { MachinePort, type PortDriver } from '@isochron/sessions';
import type { Logger } from 'pino';
import { answerTo } from './promised.js';

/** Name of the machine for the node's operators. */
export const OPERATOR_MACHINE = 'operator';

/** Number of keys of a loss in a line of the log; `GET /v1/losses` has all of them. */
const LOGGED_KEYS = 50;

const operatorRequests = {
  AcknowledgeLossesReq: { answer: 'AcknowledgeLossesResp', machine: LOSS_REPORTS_MACHINE },
} as const;
type OperatorRequests = RequestMap<typeof operatorRequests, ReplicationMessage>;

/** The requests of a node's operators. */
export class OperatorPort extends MachinePort<OperatorRequests> {
  constructor(node: NodeId, driver: PortDriver<AcknowledgeLossesReq>) {
    super(operatorRequests, node, driver, OPERATOR_MACHINE);
  }

  /** Resolves once the acknowledgement is durable, with the number of acknowledged losses that were open. */
  async acknowledgeLosses(transactions: readonly TxId[] | 'all'): Promise<number> {
    const request = {
      type: 'AcknowledgeLossesReq',
      transactions: transactions === 'all' ? null : transactions,
    } as const;
    const { acknowledged } = await answerTo<OperatorRequests, 'AcknowledgeLossesReq'>(this, request);
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
