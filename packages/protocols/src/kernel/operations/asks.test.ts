import { packWall } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import { NodeClock } from '../node-clock.js';
import { Asks } from './asks.js';
import type { OperationMessage } from './messages.js';

const REPLICA: Address = { node: 'p-1', machine: 'replica/0' };
const CLIENT = { from: { node: 'p-1', machine: 'session-frames' }, ref: 1 };

describe('what a coordinator has asked', () => {
  it('a question counts until its requester is refused, and its late answer is still taken once', () => {
    const asks = new Asks(new NodeClock(packWall(1), 0), 1_000);
    const sent: OperationMessage[] = [];
    const nothing = () => 0;
    const out: Effects<OperationMessage> = {
      send: (_to, message) => sent.push(message),
      sendAfterPersist: nothing,
      setTimer: nothing,
      write: nothing,
      lastWrite: nothing,
    };
    const late: unknown[] = [];
    const ask = {
      requester: CLIENT,
      to: REPLICA,
      request: (ref: number) => ({ type: 'SettleReq', ref }) as OperationMessage,
      answer: 'SettleResp' as const,
      taken: () => late.push('in time'),
      until: 100,
      late: { code: 'OUTCOME_PENDING' as const, detail: 'ask again' },
      takenLate: (answer: unknown) => late.push(answer),
    };
    asks.ask(ask, 0, out);
    expect(asks.size).toBe(1);
    asks.sweep(101, out);
    expect([asks.size, sent.map(({ type }) => type)]).toEqual([0, ['SettleReq', 'Refused']]);
    const answer = { type: 'SettleResp', ref: (sent[0] as { ref: number }).ref } as never;
    for (let i = 0; i < 2; i++) asks.take(answer, REPLICA, 102, out);
    expect(late).toEqual([answer]);
  });
});
