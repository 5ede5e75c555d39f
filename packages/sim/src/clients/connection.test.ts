import { type AnyMessage, Random, Topology } from '@isochron/core';
import { VirtualTime } from '../engine/virtual-time.js';
import { ClientPort } from '../world/client-port.js';
import type { SimNode } from '../world/node.js';
import { type ClientConnection, ClientNetwork } from './connection.js';

interface Echo extends AnyMessage {
  readonly type: 'Echo';
  readonly ref: number;
}

/** A node that answers every request a little later. */
function connected() {
  const time = new VirtualTime();
  const host = {
    clock: { now: () => 0 },
    id: 'p-1',
    region: 'p',
    up: true,
    life: 1,
    port: new ClientPort<Echo>(),
    unresponsive: { nodes: [], regions: [] },
    protocol: { ready: () => true, ust: () => 42 },
    requests: 0,
    request(message: Echo): void {
      host.requests++;
      const { port } = host;
      time.after(5, () =>
        port.step({ kind: 'message', now: 0, from: { node: 'p-1', machine: 'coordinator' }, message }),
      );
    },
  };
  const world = {
    topology: new Topology({ regions: [{ id: 'p', nodes: [{ id: 'p-1' }] }], keyspaces: [] }),
    node: () => host as Pick<SimNode<Echo>, 'id'> as SimNode<Echo>,
    reaches: () => host.up,
    delayMs: () => 10,
  };
  const network = new ClientNetwork<Echo>(time, new Random(1), world, ({ ref }) => ref);
  const run = (ms: number) => time.runUntil(time.now + ms, () => false);
  let opened: { connection: ClientConnection<Echo>; ust: number } | undefined;
  network.connect('p', 'p-1', (result) => {
    opened = result;
  });
  run(500);
  const answers: (number | undefined)[] = [];
  const refs: number[] = [];
  const ask = () =>
    opened!.connection.ask(
      (ref) => {
        refs.push(ref);
        return { type: 'Echo', ref };
      },
      (answer) => answers.push(answer?.ref),
    );
  return { host, network, run, ask, answers, refs, opened: opened!, time };
}

describe('a client connection', () => {
  it('is welcomed with the stable time, and answers in the order of the requests', () => {
    const { opened, run, ask, answers, refs } = connected();
    expect([opened.ust, opened.connection.region]).toEqual([42, 'p']);
    for (let i = 0; i < 10; i++) ask();
    run(500);
    expect([answers.length, answers]).toEqual([10, refs]);
  });

  it('loses requests and answers that are in flight when it breaks, and the client hears of it', () => {
    const { opened, host, run, ask, answers } = connected();
    ask();
    opened.connection.break(50);
    run(500);
    expect([host.requests, answers, opened.connection.open]).toEqual([0, [undefined], false]);
  });

  it('loses an answer that was on its way', () => {
    const { opened, host, run, ask, answers, time } = connected();
    ask();
    time.runUntil(time.now + 500, () => host.requests === 1);
    opened.connection.break(50);
    run(500);
    expect([host.requests, answers]).toEqual([1, [undefined]]);
  });

  it('does not reach the successor of a dead process', () => {
    const { network, host, run, ask, answers } = connected();
    ask();
    host.life++;
    network.crashed('p-1');
    run(500);
    expect([host.requests, answers]).toEqual([0, [undefined]]);
  });

  it('is refused by a node that is not there', () => {
    const { network, host, run } = connected();
    host.up = false;
    let refused = false;
    network.connect('p', 'p-1', (result) => {
      refused = result === undefined;
    });
    run(1_000);
    expect(refused).toBe(true);
  });
});
