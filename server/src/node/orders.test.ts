import type { OrderReq } from '@isochron/protocols';
import { OrdersPort } from './orders.js';

describe("a node's driver", () => {
  it("an operator's order goes to the machine that decides maps, and the machine's answer comes back", async () => {
    const sent: [unknown, OrderReq][] = [];
    const port = new OrdersPort('virginia-1', { firstRef: 1, post: (to, _from, message) => sent.push([to, message]) });
    const ordered = port.order('hold', ['ireland-1', 'oregon-1']);
    const [to, { ref, ...order }] = sent[0]!;
    expect(to).toEqual({ node: 'virginia-1', machine: 'maps' });
    expect(order).toEqual({ type: 'OrderReq', action: 'hold', nodes: ['ireland-1', 'oregon-1'] });
    const from = { node: 'virginia-1', machine: 'maps' };
    const message = { type: 'OrderResp', ref, why: 'silent', nodes: ['oregon-1'] } as const;
    port.step({ kind: 'message', now: 0, from, message });
    expect(await ordered).toMatchObject({ why: 'silent', nodes: ['oregon-1'] });
  });
});
