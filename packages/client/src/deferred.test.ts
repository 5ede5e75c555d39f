import type { Timestamp } from '@isochron/core/ids';
import { World } from '@isochron/testing/client/world';
import { memoryNodes, type Reaction } from '@isochron/testing/nodes/memory-node';
import type { CommitFrame, ServerFrame } from '@isochron/wire/session-frames';
import type { LiveObserver } from './live/observer.js';
import type { ClientStatus } from './session/core.js';
import { importSession } from './session/imported.js';
import { CLIENT_KIT } from './session/kit.js';
import type { Committed } from './session/outcome.js';

let world: World;
afterEach(() => expect(world.violations).toEqual([]));

const status = (): ClientStatus => world.machine.core.status(world.nowMs);
/** Whether an attempt belongs to map 1. */
const isAgain = ({ maps = [] }: CommitFrame): boolean => maps.at(-1) === 1;

/** Commits at the only node need node 0, and stable time stands still. From `letAgain` on, commits are made again. */
function scene(session?: string) {
  const node = memoryNodes('east')[0]!;
  node.cluster.hold();
  const imported = session === undefined ? {} : { session: importSession(session, CLIENT_KIT) };
  world = new World([node], imported);
  let at: Timestamp | undefined;
  let map = session === undefined ? 0 : 1;
  node.script = (frame): Reaction => {
    if (frame.type !== 'commit' || !isAgain(frame)) return undefined;
    return at === undefined ? 'drop' : { type: 'committed', id: frame.id, ts: at++, map: 1, nodes: [1] };
  };
  node.sends = (frame): ServerFrame => {
    if (frame.type === 'committed') return { nodes: [0], ...frame };
    return frame.type === 'welcome' ? { ...frame, map } : frame;
  };
  world.ask({ f: 'connect' });
  const letAgain = (from: Timestamp): void => {
    at = from;
    world.run(1500);
  };
  /** A map without node 0: what the session has written above stable time is deferred. */
  const suspend = (): void => {
    map = 1;
    const { ust } = node.cluster;
    const cuts = [{ map, horizon: ust, nodes: [0] }];
    node.push({ type: 'ust', ust, freshness: node.freshness(), map, cuts });
    world.run(20);
  };
  return { node, suspend, letAgain };
}

function written(key: string): Committed {
  const write = world.write(key);
  world.run(50);
  return write.value as Committed;
}

describe('a session with deferred commits', () => {
  it('deferred commits are made again in their order, and a later write waits for all of them (M10)', () => {
    const { node, suspend, letAgain } = scene();
    const before = [written('a'), written('b')];
    suspend();
    expect(status().deferredCommits).toBe(2);
    const later = world.write('c');
    world.run(100);
    expect(node.received('commit').filter(isAgain)).toHaveLength(1);
    expect(later.settled).toBe(0);
    letAgain(before[1]!.timestamp + 1000);
    const sent = node.received('commit').map(({ tx }) => tx);
    expect([...new Set(sent.slice(2))].slice(0, 2)).toEqual(before.map(({ txId }) => txId));
    expect(status().deferredCommits).toBe(0);
    expect(later.settled).toBe(1);
    expect(node.received('commit').at(-1)).toMatchObject({ behind: [{ node: 1 }] });
  });

  it('stable() resolves with the timestamp at which a deferred commit is made again, also once that is stable (M10)', () => {
    const { node, suspend, letAgain } = scene();
    const { timestamp } = written('a');
    suspend();
    const wait = world.call({ f: 'stable', ts: timestamp, timeoutMs: 60_000 });
    node.cluster.stabilise();
    world.run(1000);
    expect(wait.settled).toBe(0);
    const last = timestamp + 1;
    letAgain(last);
    world.run(1000);
    expect(wait).toMatchObject({ settled: 1, value: undefined });
    expect(world.machine.core.own!.finalOf(timestamp)).toBe(last);
  });

  it('stable() of a client that closes while a write is deferred is rejected with CLIENT_CLOSED', () => {
    const { node, suspend } = scene();
    const { timestamp } = written('a');
    suspend();
    const wait = world.call({ f: 'stable', ts: timestamp, timeoutMs: 60_000 });
    node.cluster.stabilise();
    world.run(1000);
    world.ask({ f: 'close' }, 10_000);
    expect(wait).toMatchObject({ settled: 1, reason: { code: 'CLIENT_CLOSED' } });
  });

  it('an imported session makes again what it brings as deferred, although no cut comes with the welcome (M10)', () => {
    const { suspend } = scene();
    const { timestamp, txId } = written('a');
    suspend();
    const session = JSON.stringify(world.machine.core.export());
    const next = scene(session);
    expect(status().deferredCommits).toBe(1);
    next.letAgain(timestamp + 1000);
    expect(status().deferredCommits).toBe(0);
    expect(next.node.received('commit').map(({ tx }) => tx)).toContain(txId);
  });

  it('a live query goes on when the session goes on without its deferred commits (LQ2, M10)', () => {
    const { node, suspend } = scene();
    written('a');
    let snapshot = 0;
    const next = (at: Timestamp): void => {
      snapshot = at;
    };
    world.watch({ next, failed: () => {} } as LiveObserver, { start: 'default/', end: 'default0' });
    world.run(100);
    suspend();
    const before = snapshot;
    node.cluster.write({ 'default/b': '1' });
    node.cluster.stabilise();
    world.run(1000);
    expect(snapshot).toBe(before);
    expect(world.ask({ f: 'detach' }).value).toBeDefined();
    world.run(1000);
    expect(snapshot).toBeGreaterThan(before);
  });
});
