import { Random } from '@isochron/core/random';
import { World } from '@isochron/testing/client/world';
import { type MemoryNode, memoryNodes, type Reaction, refusal } from '@isochron/testing/nodes/memory-node';

describe('every call', () => {
  it('a write that is too large for its repetition rejects with OUTCOME_UNKNOWN: it may have had an effect', () => {
    const node = memoryNodes('east')[0];
    const world = new World([node]);
    world.ask({ f: 'connect' });
    node.script = (frame) => (frame.type === 'commit' ? 'apply-and-close' : undefined);
    node.limits = { ...node.limits, maxRequestBytes: 150 };
    const write = world.write('a', JSON.stringify('x'.repeat(200)));
    world.run(500);
    expect(node.cluster.outcomes.size).toBe(1);
    expect(write).toMatchObject({ settled: 1, reason: { code: 'OUTCOME_UNKNOWN' } });
    const never = world.write('a', JSON.stringify('x'.repeat(200)));
    world.run(500);
    expect(never).toMatchObject({ settled: 1, reason: { code: 'REQUEST_TOO_LARGE' } });
  });

  const SEEDS = 60;
  const CODES = [
    'NOT_READY',
    'OVERLOADED',
    'OUTCOME_PENDING',
    'INTERNAL',
    'CREDITS_EXHAUSTED',
    'RATE_LIMITED',
    'REPLICA_UNREACHABLE',
  ];

  /** Random requests, drops, cuts, refusals and delays; then a network that works, or not; then the end. */
  function live(seed: number) {
    const random = new Random(seed);
    const nodes = memoryNodes('east', 'west', 'north');
    for (const node of nodes) {
      node.credits = 1 + random.below(6);
      if (seed % 2 === 1) node.lacks('chained-commits');
      node.delayMs = 1 + random.below(20);
      node.regions = nodes.map(({ region, url }) => ({ id: region, endpoints: [url] }));
    }
    const settings = { returnAfterMs: random.pick([50, 1000]), requestTimeoutMs: random.pick([200, 1000]) };
    const world = new World(nodes, { settings, random: () => random.float() });
    const network = { trouble: 0.2 };
    world.jitterMs = () => (random.chance(network.trouble) ? random.below(100) : 0);
    for (const node of nodes)
      node.script = (frame) => {
        if (!random.chance(network.trouble)) return undefined;
        const refused = refusal(frame.type === 'hello' ? undefined : frame.id, random.pick(CODES), true);
        return random.pick<Reaction>(['drop', 'close', 'apply-and-drop', 'apply-and-close', refused]);
      };
    let handle = 0;
    /** A transaction that reads, and is committed or ended, possibly during the read. */
    const transact = (keys: readonly string[]): void => {
      world.step({ kind: 'begin', handle: ++handle, mode: random.pick(['transaction', 'snapshot']) });
      world.call({ f: 'read', handle, keys });
      if (random.chance(0.5)) world.run(random.below(50));
      world.machine.handle(handle).tx.write(keys[0]!, '"written"');
      if (random.chance(0.7)) world.call({ f: 'commit', handle });
      else world.step({ kind: 'end', handle });
    };
    const act = (): void => {
      const at = random.below(11);
      const key = `default/k${random.below(5)}`;
      if (at < 2) world.call({ f: 'read', keys: [key] });
      else if (at < 3) for (const one of ['a', 'b', 'c']) world.write(one);
      else if (at < 5) world.call({ f: 'write', key, value: `${world.nowMs}` });
      else if (at < 6) transact([key]);
      else if (at < 8) random.pick(world.calls).cancel('enough');
      else if (at < 9) world.cut(random.pick<MemoryNode>(nodes));
      else if (at < 10) random.pick<MemoryNode>(nodes).state = random.pick(['serves', 'refuses', 'silent']);
      else random.pick([...nodes]).push({ type: 'goaway', reason: 'restart', delayMs: random.below(500) });
    };
    return { random, world, nodes, cluster: nodes[0].cluster, network, act };
  }

  it('every call is settled exactly once, and writes in their order, whatever the network does', () => {
    let [committed, unknown, rejected, chained] = [0, 0, 0, 0];
    for (let seed = 0; seed < SEEDS; seed++) {
      const { random, world, nodes, cluster, network, act } = live(seed);
      world.call({ f: 'connect' });
      world.run(random.below(1000));
      if (world.machine.core.protocol !== '') {
        for (let i = 0; i < 150; i++) {
          act();
          world.run(random.below(30));
        }
        if (random.chance(0.5)) {
          network.trouble = 0;
          for (const node of nodes) node.state = 'serves';
          world.run(60_000);
          expect([seed, world.machine.core.status(world.nowMs).pendingCommits]).toEqual([seed, 0]);
        }
      }
      world.call({ f: 'close' });
      for (const node of nodes) node.state = 'serves';
      world.run(30_000);
      const settled = world.calls.map(({ settled }) => settled);
      expect([seed, settled]).toEqual([seed, settled.map(() => 1)]);
      expect([seed, world.timerMs, world.live, world.violations]).toEqual([seed, Number.POSITIVE_INFINITY, [], []]);
      chained += nodes.flatMap((node) => node.received('commit')).filter(({ after }) => after !== undefined).length;
      let last = 0;
      for (const { call, value, reason } of world.calls) {
        if (call.f !== 'write' && call.f !== 'commit') continue;
        if (reason?.code === 'OUTCOME_UNKNOWN') unknown++;
        else if (reason !== undefined) rejected++;
        else committed++;
        const { txId, timestamp } = (value ?? {}) as { txId?: string; timestamp?: number };
        if (txId === undefined) continue;
        expect([seed, cluster.outcomes.get(txId)]).toEqual([seed, timestamp]);
        expect([seed, timestamp]).toEqual([seed, Math.max(last + 1, timestamp!)]);
        last = timestamp!;
      }
    }
    expect(Math.min(committed, unknown, rejected, chained)).toBeGreaterThan(10);
  });
});
