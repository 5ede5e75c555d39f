/** Orders of an operator about nodes of the cluster: through a step of the machine that decides maps. */
import type { NodeId } from '@isochron/core';
import { MAPS_MACHINE, type MapMessage, type OrderAction, type OrderResp, type RequestMap } from '@isochron/protocols';
import { MachinePort, type PortDriver } from '@isochron/sessions';
import { answerTo } from './promised.js';

/** Name of the machine through which the driver asks. */
export const ORDERS_MACHINE = 'orders';

const requests = { OrderReq: { answer: 'OrderResp', machine: MAPS_MACHINE } } as const;
type Requests = RequestMap<typeof requests, MapMessage>;

/** Why an order is refused, and the nodes that are the reason; without `why` a map has carried the order out. */
export type OrderOutcome = Pick<OrderResp, 'why' | 'nodes'>;

export class OrdersPort extends MachinePort<Requests> {
  constructor(node: NodeId, driver: PortDriver<Requests[keyof Requests]['request']>) {
    super(requests, node, driver, ORDERS_MACHINE);
  }

  /** Resolves within seconds: the machine gives an order up that no map carries out in time. */
  async order(action: OrderAction, nodes: readonly NodeId[]): Promise<OrderOutcome> {
    return answerTo<Requests, 'OrderReq'>(this, { type: 'OrderReq', action, nodes });
  }
}
