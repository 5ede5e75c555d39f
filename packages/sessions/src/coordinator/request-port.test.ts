import type { IsochronError } from '@isochron/core';
import { type ClientRequest, clientRequests } from '@isochron/protocols';
import type { CoordinatorRequests } from './coordinator-port.js';
import { type Done, MachinePort } from './request-port.js';

const link = (port: MachinePort<CoordinatorRequests>, up: boolean) =>
  port.step({ kind: 'link', now: 0, node: 'virginia-2', up });

/** A port, the requests that it has posted, and the codes of the calls that have ended. */
function portOf() {
  const posted: ClientRequest[] = [];
  const ended: (string | undefined)[] = [];
  const driver = { firstRef: 0, post: (_to: unknown, _from: unknown, message: ClientRequest) => posted.push(message) };
  const done: Done<object> = (result) => ended.push((result as Partial<IsochronError>).code);
  return { port: new MachinePort<CoordinatorRequests>(clientRequests, 'virginia-1', driver), posted, ended, done };
}

describe('a call of the coordinator on another node', () => {
  it("a call of another node's coordinator ends at once while the link to it is down: nothing sent on it arrives", () => {
    const { port, posted, ended, done } = portOf();
    const ask = () => port.ask({ type: 'TxStatusReq', txId: 'abcdefghijklmnopqrstuv.0' }, done, 'virginia-2');
    // Never linked, linked, and linked no more.
    ask();
    expect(ended).toEqual(['CONNECTION_LOST']);
    link(port, true);
    ask();
    expect([posted.length, ended.length]).toEqual([1, 1]);
    link(port, false);
    ask();
    expect(ended).toEqual(Array(3).fill('CONNECTION_LOST'));
    expect([posted.length, port.inFlight]).toEqual([1, 0]);
  });

  it('a call that is not answered when the node closes is lost, not refused: a commit may have taken effect', () => {
    const { port, ended, done } = portOf();
    port.ask({ type: 'EndTxReq', txId: 'abcdefghijklmnopqrstuv.0' }, done);
    port.close();
    expect(ended).toEqual(['CONNECTION_LOST']);
  });

  it('a call ends once, with the answer of its type or with INTERNAL', () => {
    const { port, posted, ended, done } = portOf();
    const from = { node: 'virginia-1', machine: 'coordinator' };
    for (let i = 0; i < 2; i++) port.ask({ type: 'EndTxReq', txId: 'abcdefghijklmnopqrstuv.0' }, done);
    const [first, second] = posted.map(({ ref }) => ref) as [number, number];
    const status = { type: 'TxStatusResp', ref: second, status: 'open', ts: 1, attempt: 0 } as const;
    for (const message of [{ type: 'EndTxResp', ref: first }, { type: 'EndTxResp', ref: first }, status] as const)
      port.step({ kind: 'message', now: 0, from, message });
    expect(ended).toEqual([undefined, 'INTERNAL']);
  });
});
