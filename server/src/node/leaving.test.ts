import type { LeaveReq, ReturnReq } from '@isochron/protocols';
import { LeavingPort } from './leaving.js';

/** A port on a node, and what was sent to its machine. */
function opened() {
  const sent: (LeaveReq | ReturnReq)[] = [];
  const port = new LeavingPort('virginia-1', { firstRef: 1, post: (_to, _from, message) => sent.push(message) });
  const answer = (ref: number, why?: 'only-replica') =>
    port.step({
      kind: 'message',
      now: 0,
      from: { node: 'virginia-1', machine: 'maps' },
      message: { type: 'LeaveResp', ref, why },
    });
  return { port, sent, answer };
}

describe('how a node leaves', () => {
  it('a node has left when its machine answers, or stays with a reason', async () => {
    const { port, sent, answer } = opened();
    const left = port.leave(10_000);
    answer(sent[0]!.ref);
    expect(await left).toBeUndefined();
    const staying = port.leave(10_000);
    answer(sent[1]!.ref, 'only-replica');
    expect(await staying).toBe('only-replica');
  });

  it('a node that does not answer stays a member after the time, and leaves no more', async () => {
    const { port, sent } = opened();
    expect(await port.leave(20)).toBe('late');
    expect(sent.map(({ type }) => type)).toEqual(['LeaveReq', 'ReturnReq']);
  });
});
