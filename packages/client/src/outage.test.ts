import { type Called, World } from '@isochron/testing/client/world';
import { MemoryCluster } from '@isochron/testing/nodes/memory-cluster';
import { MemoryNode } from '@isochron/testing/nodes/memory-node';
import type { Call } from './machine.js';

let world: World;
afterEach(() => expect(world.violations).toEqual([]));

/** A client of this many nodes; the application names the first one, which announces the others. */
function connected(learned = 0, chains = true) {
  const cluster = new MemoryCluster();
  const given = new MemoryNode('lb', cluster, 'east');
  const others = Array.from({ length: learned }, (_, i) => new MemoryNode(`node${i}`, cluster, 'east'));
  given.regions = [{ id: 'east', endpoints: others.map(({ url }) => url) }];
  if (!chains) given.lacks('chained-commits');
  const settings = { requestTimeoutMs: 10_000, commitTimeoutMs: 30_000 };
  world = new World([given, ...others], { settings, random: () => 1, given: [given.url] });
  world.ask({ f: 'connect' });
  const outage = (ms: number): void => {
    given.state = 'refuses';
    world.cut(given);
    world.run(ms);
  };
  return { cluster, given, others, outage, dialled: (since: number) => world.dialled.slice(since) };
}

const codesOf = (calls: readonly Called[]): (string | undefined)[] =>
  calls.map(({ settled, reason }) => (settled === 0 ? 'waits' : (reason?.code ?? 'done')));

describe('a request after an outage', () => {
  it.each<[string, Call]>([
    ['read', { f: 'read', keys: ['default/a'] }],
    ['write', { f: 'write', key: 'default/a', value: '1' }],
  ])('a %s after a long outage tries the endpoints at once, whatever is left of the pause', (_, call) => {
    const { given, outage } = connected();
    outage(300_000);
    given.state = 'serves';
    expect(world.timerMs - world.nowMs).toBeGreaterThan(1000);
    expect(codesOf([world.ask(call, 20)])).toEqual(['done']);
  });

  it('a request that begins during an outage is answered within about a second of its end', () => {
    const { given, outage } = connected();
    outage(300_000);
    const call = world.read('a');
    world.run(8000);
    given.state = 'serves';
    world.run(1100);
    expect(codesOf([call])).toEqual(['done']);
  });

  it('a client that waits for changes alone keeps its growing pauses', () => {
    const { outage } = connected();
    world.watch({ results: () => {}, failed: () => {} } as never);
    outage(300_000);
    expect(world.dialled.length).toBeLessThan(20);
  });
});

describe('a given endpoint among many learned ones', () => {
  it.each([18, 54])(
    'the given endpoint is tried first after its connection was lost, before %i learned ones',
    (count) => {
      const { given, others, dialled } = connected(count);
      for (const node of others) node.state = 'silent';
      const before = world.dialled.length;
      world.cut(given);
      const call = world.read('a');
      world.run(100);
      expect([codesOf([call]), dialled(before)]).toEqual([['done'], [given.url]]);
    },
  );

  it('a given endpoint that comes back is reached within a request, though no learned endpoint answers', () => {
    const { given, others, outage } = connected(54);
    for (const node of others) node.state = 'silent';
    outage(1000);
    const call = world.read('a');
    given.state = 'serves';
    world.run(3000);
    expect(codesOf([call])).toEqual(['done']);
  });
});

describe('writes that are rejected for being offline', () => {
  it.each([true, false])(
    'a write that is rejected for being offline takes all later writes of the session with it (chained: %s)',
    (chains) => {
      const { given, cluster, outage } = connected(0, chains);
      outage(0);
      const early = world.write('a');
      world.run(6000);
      const late = [world.write('b'), world.write('c')];
      world.run(4300);
      given.state = 'serves';
      world.run(2000);
      expect(codesOf([early, ...late])).toEqual(['OFFLINE', 'OFFLINE', 'OFFLINE']);
      expect(cluster.outcomes.size).toBe(0);
      expect(codesOf([world.ask({ f: 'write', key: 'default/d', value: '1' }, 50)])).toEqual(['done']);
    },
  );

  it('a read that waits with rejected writes goes on waiting for its own time', () => {
    const { outage } = connected();
    outage(0);
    const write = world.write('a');
    world.run(6000);
    const read = world.read('b');
    world.run(4300);
    expect(codesOf([write, read])).toEqual(['OFFLINE', 'waits']);
  });
});
