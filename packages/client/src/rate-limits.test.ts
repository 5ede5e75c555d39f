/** The client at the limit of its rate: nodes that refuse requests as a real one does, in simulated time. */
import { RateLimit } from '@isochron/core/rate-limit';
import { LiveCluster, LiveNode } from '@isochron/testing/client/live-cluster';
import { ALL, refusal, ScriptedNode, ScriptedStore } from '@isochron/testing/client/scripted-node';
import { World } from '@isochron/testing/client/world';
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
function connected(perSecond: number, { capabilities = ALL, requestTimeoutMs = 10_000 } = {}) {
  const store = new ScriptedStore();
  const [home, other] = ['east', 'west'].map((name) => new ScriptedNode(name, store)) as [ScriptedNode, ScriptedNode];
  for (const node of [home, other]) Object.assign(node, { capabilities, credits: 256, script: limiter(perSecond) });
  other.delayMs = 10;
  world = new World([home, other], { settings: { requestTimeoutMs, commitTimeoutMs: requestTimeoutMs } });
  world.ask({ f: 'connect' });
  return { home, other, store };
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
  ['one after the other', ALL],
  ['chained', [...ALL, 'chained-commits']],
])(
  'writes above the rate commit once each, in their order and under their ids, when they are sent %s',
  (_, capabilities) => {
    const { home, store } = connected(20, { capabilities });
    const writes = KEYS.map((key) => world.write(key));
    world.run(5000);
    expect(writes.map(({ reason }) => reason)).toEqual(KEYS.map(() => undefined));
    const times = writes.map(({ value }) => (value as Committed).timestamp);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(store.outcomes.size).toBe(KEYS.length);
    const idsOf = new Map<string, Set<string>>();
    for (const {
      writes: [first],
      tx,
    } of home.received('commit'))
      idsOf.set(first!.key, (idsOf.get(first!.key) ?? new Set()).add(tx));
    expect([...idsOf.values()].every((ids) => ids.size === 1)).toBe(true);
  },
);

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
  const cluster = new LiveCluster();
  const node = new LiveNode('east', cluster);
  world = new World([node]);
  node.nowMs = () => world.nowMs;
  const shown: string[] = [];
  const observer: LiveObserver = {
    next: (_snapshot, views) => void shown.push(...[...views[0]!.documents.values()].map(({ value }) => String(value))),
    failed: ({ code }) => void shown.push(code),
  };
  const write = (n: number): void => {
    const tx = `other-0123456789abcdef.${n}`;
    cluster.commit({ tx, hwt: 0, sentAfter: 0, writes: [{ key: 'default/a', value: String(n) }] });
    node.ust = cluster.clock;
    node.tick();
  };
  write(1);
  world.ask({ f: 'connect' });
  const admit = limiter(4);
  let refusals = 0;
  node.fault = (frame) => {
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
