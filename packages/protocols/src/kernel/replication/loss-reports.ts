/** The operators' access to `Losses`: acknowledging a loss is a durable write, so it goes through a step. */
import type { Effects, Input, Machine } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import type { AcknowledgeLossesReq, ReplicationMessage } from './messages.js';

/** Name of the machine. */
export const LOSS_REPORTS_MACHINE = 'losses';

export class LossReports implements Machine<ReplicationMessage> {
  constructor(readonly state: Pick<NodeState, 'node' | 'losses'>) {}

  step(input: Input<ReplicationMessage>, out: Effects<ReplicationMessage>): void {
    if (input.kind !== 'message' || input.message.type !== 'AcknowledgeLossesReq') return;
    // Each node keeps its own reports: an operator's request comes through the node's own API.
    if (input.from.node !== this.state.node) return;
    const { ref, transactions }: AcknowledgeLossesReq = input.message;
    const acknowledged = this.state.losses.acknowledge(transactions ?? 'all', out);
    out.sendAfterPersist(input.from, { type: 'AcknowledgeLossesResp', ref, acknowledged });
  }

  invariants(): void {}

  describe(): object {
    return { losses: this.state.losses.all.length, open: this.state.losses.open.length };
  }
}
