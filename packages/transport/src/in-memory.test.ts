import { ManualTime } from '@isochron/testing/transport/manual-time';
import { InMemoryNetwork } from './in-memory.js';
import { pings, Recorder, runTransportSuite, type SuiteMessage, suiteCodec } from './suite.js';

runTransportSuite('InMemoryNetwork', async (codec, nodes) => {
  const network = new InMemoryNetwork<SuiteMessage>({ codec });
  const transports = new Map(nodes.map((node) => [node.node, network.join(node)]));
  return {
    transport: (node) => transports.get(node)!,
    cut: (x, y) => network.cut(x, y),
    heal: (x, y) => network.heal(x, y),
    close: async () => {
      for (const transport of transports.values()) await transport.close();
    },
  };
});

describe('InMemoryNetwork in virtual time', () => {
  const [a, b] = [new Recorder('a-1'), new Recorder('b-1')];
  const setUp = () => {
    const time = new ManualTime();
    const network = new InMemoryNetwork<SuiteMessage>({ codec: suiteCodec(), scheduler: time, wallClock: () => 0 });
    const transport = network.join(a);
    network.join(b);
    time.advance(0);
    return { time, network, transport };
  };
  afterEach(() => {
    a.frames.length = b.frames.length = a.links.length = b.links.length = 0;
  });

  it('InMemoryNetwork delays frames by what is set for their direction', () => {
    const { time, network, transport } = setUp();
    network.setDelay('a-1', 'b-1', 40);
    transport.send('b-1', pings('a-1', 'b-1', 1, 1));
    time.advance(39);
    expect(b.frames).toHaveLength(0);
    time.advance(1);
    expect(b.pings('a-1')).toEqual([1]);
  });

  it('InMemoryNetwork keeps the order when a delay becomes shorter', () => {
    const { time, network, transport } = setUp();
    network.setDelay('a-1', 'b-1', 40);
    transport.send('b-1', pings('a-1', 'b-1', 1, 1));
    network.setDelay('a-1', 'b-1', 1);
    transport.send('b-1', pings('a-1', 'b-1', 2, 2));
    time.advance(39);
    expect(b.frames).toHaveLength(0);
    time.advance(1);
    expect(b.pings('a-1')).toEqual([1, 2]);
  });

  it('InMemoryNetwork loses frames under way when the link is cut, even if it is healed before they would have arrived', () => {
    const { time, network, transport } = setUp();
    network.setDelay('a-1', 'b-1', 40);
    transport.send('b-1', pings('a-1', 'b-1', 1, 1));
    time.advance(10);
    network.cut('a-1', 'b-1');
    network.heal('a-1', 'b-1');
    time.advance(100);
    expect(b.frames).toHaveLength(0);
    expect(b.turns('a-1')).toEqual([true, false, true]);
  });

  it('InMemoryNetwork lets a node that left join again', async () => {
    const { time, network, transport } = setUp();
    await transport.close();
    network.join(a).send('b-1', pings('a-1', 'b-1', 1, 1)); // not linked yet: dropped
    time.advance(0);
    expect(b.turns('a-1')).toEqual([true, false, true]);
    expect(b.frames).toHaveLength(0);
  });
});
