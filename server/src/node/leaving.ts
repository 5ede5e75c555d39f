/** How a node leaves the members of its cluster, in order, and comes back: through a step of its machines. */
import { setTimeout as delay } from 'node:timers/promises';
import type { NodeId } from '@isochron/core';
import { MAPS_MACHINE, type MapMessage, type RequestMap, type Staying } from '@isochron/protocols';
import { MachinePort, type PortDriver } from '@isochron/sessions';
import { answerTo } from './promised.js';

/** Name of the machine through which the driver asks. */
export const LEAVING_MACHINE = 'leaving';

const requests = {
  LeaveReq: { answer: 'LeaveResp', machine: MAPS_MACHINE },
  ReturnReq: { answer: 'LeaveResp', machine: MAPS_MACHINE },
} as const;
type Requests = RequestMap<typeof requests, MapMessage>;

/** Why a node stays a member. */
export type StayReason = Staying | 'late' | 'no-members';

export class LeavingPort extends MachinePort<Requests> {
  constructor(node: NodeId, driver: PortDriver<Requests[keyof Requests]['request']>) {
    super(requests, node, driver, LEAVING_MACHINE);
  }

  /**
   * Resolves once the node has left, or with why it stays a member, after `timeoutMs` at the latest. The node is away
   * until it starts again, or `comeBack`.
   */
  async leave(timeoutMs: number): Promise<StayReason | undefined> {
    const given = new AbortController();
    const late = delay(timeoutMs, 'late' as const, { signal: given.signal }).catch(() => undefined);
    const answer = answerTo<Requests, 'LeaveReq'>(this, { type: 'LeaveReq' }).then(({ why }) => why);
    const why = await Promise.race([answer, late]);
    given.abort();
    // A node that has failed answers nothing.
    if (why === 'late') this.comeBack();
    return why;
  }

  /** Leaves no more, or comes back once the node has what it lacks. */
  comeBack(): void {
    this.ask({ type: 'ReturnReq' }, () => undefined);
  }
}
