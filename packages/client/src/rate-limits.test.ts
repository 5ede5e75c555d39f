/** The client at the limit of its rate: nodes that refuse requests as a real one does, in simulated time. */
import { RateLimit } from '@isochron/core/rate-limit';
import { World } from '@isochron/testing/client/world';
import { memoryNodes, refusal } from '@isochron/testing/nodes/memory-node';
import type { ClientFrame, RequestFrame, ServerFrame } from '@isochron/wire/session-frames';
import type { LiveObserver } from './live/observer.js';
import type { Committed } from './session/outcome.js';

let world: World;
afterEach(() => expect(world.violations).toEqual([]));

/** Refuses frames above a number in a second. */
function limiter(perSecond: number) {
  const limit = new RateLimit(perSecond, 1000);
  return (frame: ClientFrame): ServerFrame | undefined => {
    if (frame.type === 'hello' || frame.type === 'ping') return undefined;
    const retryAfterMs = limit.take('client', 1, world.nowMs);
    if (retryAfterMs === 0) return undefined;
    return { ...refusal((frame as RequestFrame).id, 'RATE_LIMITED', true), retryAfterMs } as ServerFrame;
  };
}

/** A client of nodes that serve a number of requests in a second. */
function connected(perSecond: number, { chains = false, requestTimeoutMs = 10_000 } = {}) {
  const [home, other] = memoryNodes('east', 'west');
  for (const node of [home, other]) {
    if (!chains) node.lacks('chained-commits');
    Object.assign(node, { credits: 256, script: limiter(perSecond) });
  }
  other.delayMs = 10;
  world = new World([home, other], { settings: { requestTimeoutMs, commitTimeoutMs: requestTimeoutMs } });
  world.ask({ f: 'connect' });
  return { home, other, cluster: home.cluster };
}

const KEYS = Array.from({ length: 60 }, (_, i) => `k${i}`);

it('reads above the rate are repeated at the times that their refusals name, in their order, and on the same node', () => {
  const { home, other } = connected(20);
  const reads = KEYS.map((key) => world.read(key));
  world.run(1900);
  expect(reads.filter(({ settled }) => settled === 0).length).toBeGreaterThan(0);
  world.run(200);
  expect(reads.map(({ settled, reason }) => [settled, reason])).toEqual(KEYS.map(() => [1, undefined]));
  // One refusal for each of the forty that found no room, and no crowd of repetitions.
  expect(home.received('read')).toHaveLength(KEYS.length + 40);
  const repeated = home.received('read').slice(KEYS.length);
  expect(repeated.map(({ keys }) => keys[0])).toEqual(KEYS.slice(20).map((key) => `default/${key}`));
  expect([other.received('read'), home.received('hello').length]).toEqual([[], 1]);
});

it.each([
  ['one after the other', false],
  ['chained', true],
])('writes above the rate commit once each, in their order and under their ids, when they are sent %s', (_, chains) => {
  const { home, cluster } = connected(20, { chains });
  const writes = KEYS.map((key) => world.write(key));
  world.run(5000);
  expect(writes.map(({ reason }) => reason)).toEqual(KEYS.map(() => undefined));
  const times = writes.map(({ value }) => (value as Committed).timestamp);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(cluster.outcomes.size).toBe(KEYS.length);
  const idsOf = new Map<string, Set<string>>();
  for (const {
    writes: [first],
    tx,
  } of home.received('commit'))
    idsOf.set(first!.key, (idsOf.get(first!.key) ?? new Set()).add(tx));
  expect([...idsOf.values()].every((ids) => ids.size === 1)).toBe(true);
});

it('a request that finds no room until its timeout fails with RATE_LIMITED, and later ones go on', () => {
  connected(1, { requestTimeoutMs: 1500 });
  const reads = KEYS.map((key) => world.read(key));
  world.run(4000);
  const codes = new Set(reads.map(({ reason }) => reason?.code));
  expect(codes).toEqual(new Set([undefined, 'RATE_LIMITED']));
  world.run(5000);
  const late = world.read('late');
  world.run(100);
  expect(late.settled).toBe(1);
  expect(late.reason).toBeUndefined();
});

it('a wait that a node names is kept within half a minute', () => {
  const { home } = connected(1000, { requestTimeoutMs: 60_000 });
  let refused = false;
  home.script = (frame) => {
    if (frame.type !== 'read' || refused) return undefined;
    refused = true;
    return { ...refusal(frame.id, 'RATE_LIMITED', true), retryAfterMs: 1e9 } as ServerFrame;
  };
  const read = world.read('a');
  world.run(29_000);
  expect(read.settled).toBe(0);
  world.run(1500);
  expect(read.value).toEqual([null]);
});

it('a live query whose requests are refused for the rate goes on, and shows every state in the end', () => {
  const [node] = memoryNodes('east');
  const { cluster } = node;
  cluster.hold();
  world = new World([node]);
  const shown: string[] = [];
  const observer: LiveObserver = {
    next: (_snapshot, views) => void shown.push(...[...views[0]!.documents.values()].map(({ value }) => String(value))),
    failed: ({ code }) => void shown.push(code),
  };
  const write = (n: number): void => {
    cluster.write({ 'default/a': String(n) });
    cluster.stabilise();
  };
  write(1);
  world.ask({ f: 'connect' });
  const admit = limiter(4);
  let refusals = 0;
  node.script = (frame) => {
    const answer = frame.type === 'live' ? admit(frame) : undefined;
    if (answer !== undefined) refusals++;
    return answer;
  };
  world.watch(observer, { start: 'default/', end: 'default0' });
  for (let n = 2; n <= 12; n++) {
    world.run(60);
    write(n);
  }
  world.run(5000);
  expect(refusals).toBeGreaterThan(0);
  expect([shown.at(-1), shown.includes('RATE_LIMITED')]).toEqual(['12', false]);
});
