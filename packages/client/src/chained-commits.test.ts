import { type Called, type ClientWorldOptions, World } from '@isochron/testing/client/world';
import { type MemoryNode, memoryNodes, type Reaction, refusal } from '@isochron/testing/nodes/memory-node';
import type { CommitFrame } from '@isochron/wire/session-frames';
import type { Committed } from './session/outcome.js';

const KEYS = ['a', 'b', 'c', 'd'];
const keyOf = ({ writes }: CommitFrame): string => writes[0]!.key.slice('default/'.length);

let world: World;
afterEach(() => expect(world.violations).toEqual([]));

/** A client of nodes that chain commits. */
function connected(names: readonly string[] = ['east'], options: ClientWorldOptions = {}) {
  const nodes = memoryNodes(...names);
  for (const node of nodes.slice(1)) node.delayMs = 10;
  world = new World(nodes, options);
  world.ask({ f: 'connect' });
  return { cluster: nodes[0]!.cluster, home: nodes[0]!, other: nodes[1]! };
}

/** A script for every node: does this to the first commit of a key. */
function onceOf(key: string, scripted: (id: number) => Reaction) {
  let done = false;
  return (frame: { readonly type: string }): Reaction => {
    if (frame.type !== 'commit' || done || keyOf(frame as CommitFrame) !== key) return undefined;
    done = true;
    return scripted((frame as CommitFrame).id);
  };
}

const writeAll = (keys: readonly string[] = KEYS): Called[] => keys.map((key) => world.write(key));
const sentTo = (node: MemoryNode): string[] => node.received('commit').map(keyOf);
const timesOf = (writes: readonly Called[]): number[] => writes.map(({ value }) => (value as Committed).timestamp);
/** The writes have committed, each above the write before, and no others have. */
function expectCommitted(writes: readonly Called[], { cluster }: MemoryNode): void {
  expect(timesOf(writes)).toEqual([...cluster.outcomes.values()]);
  expect(timesOf(writes)).toEqual([...cluster.outcomes.values()].sort((a, b) => a - b));
}
const codesOf = (writes: readonly Called[]) => writes.map(({ reason }) => reason?.code);

describe('writes that are asked for at once', () => {
  it('writes that are asked for at once leave in one message, each behind the one before it, and take one round trip', () => {
    const { home } = connected();
    home.packing.length = 0;
    const writes = writeAll();
    home.delayMs = 60;
    world.run(125);
    expect(home.packing[0]).toBe(KEYS.length);
    const frames = home.received('commit');
    expect(frames.map(({ after }) => after)).toEqual([undefined, ...frames.slice(0, -1).map(({ tx }) => tx)]);
    expectCommitted(writes, home);
  });

  it('writes that are asked for at once are sent one after the other to a node that does not chain them', () => {
    const { home } = connected();
    home.lacks('chained-commits');
    world.cut(home);
    world.run(50);
    home.delayMs = 60;
    writeAll();
    world.run(185);
    expect(sentTo(home)).toEqual(['a', 'b']);
    expect(home.received('commit').map(({ after }) => after)).toEqual([undefined, undefined]);
  });

  it('chained writes are sent again in their order when the connection is lost, and take effect once', () => {
    const { home, cluster } = connected();
    home.script = onceOf('b', () => 'apply-and-close');
    const writes = writeAll();
    world.run(200);
    expect(sentTo(home)).toEqual(['a', 'b', 'c', 'd', 'a', 'b', 'c', 'd']);
    expectCommitted(writes, home);
    expect(cluster.outcomes.size).toBe(4);
  });

  it('chained writes wait for a write that was refused, and are sent together once that is decided', () => {
    const { home } = connected();
    home.script = onceOf('a', (id) => refusal(id, 'OVERLOADED', true));
    const writes = writeAll();
    world.run(200);
    expect(sentTo(home)).toEqual(['a', 'b', 'c', 'd', 'a', 'b', 'c', 'd']);
    expect(home.packing.slice(-2)).toEqual([1, 3]);
    expectCommitted(writes, home);
  });

  it('a chained write that was refused for the rate comes again at its time, not with the end of the one before', () => {
    const { home } = connected(['east'], { settings: { requestTimeoutMs: 10_000, commitTimeoutMs: 10_000 } });
    const held = onceOf('a', () => 'hold');
    const limited = onceOf('b', (id) => ({ ...refusal(id, 'RATE_LIMITED', true), retryAfterMs: 3000 }) as Reaction);
    home.script = (frame) => held(frame) ?? limited(frame);
    const writes = writeAll(['a', 'b']);
    world.run(500);
    home.letGo();
    world.run(500);
    expect([codesOf(writes), writes[0]!.settled, sentTo(home)]).toEqual([[undefined, undefined], 1, ['a', 'b']]);
    world.run(3000);
    expect([codesOf(writes), writes[1]!.settled, sentTo(home)]).toEqual([[undefined, undefined], 1, ['a', 'b', 'b']]);
  });

  it('chained writes go on without a write that has failed', () => {
    const { home } = connected();
    home.script = onceOf('b', (id) => refusal(id, 'TIMESTAMP_IN_FUTURE', false));
    const writes = writeAll();
    world.run(200);
    expect(codesOf(writes)).toEqual([undefined, 'TIMESTAMP_IN_FUTURE', undefined, undefined]);
    expectCommitted([writes[0]!, writes[2]!, writes[3]!], home);
  });

  it('chained writes go on without a write that is cancelled before it was sent', () => {
    const { home } = connected();
    home.credits = 2;
    world.cut(home);
    world.run(50);
    const writes = writeAll();
    world.run(1);
    writes[2]!.cancel('enough');
    world.run(200);
    expect(writes[2]!.reason).toBe('enough');
    expect(sentTo(home)).toEqual(['a', 'b', 'd']);
    expectCommitted([writes[0]!, writes[1]!, writes[3]!], home);
  });

  it('writes behind an undecided one end with SESSION_BLOCKED without effect, with OUTCOME_UNKNOWN if they may have one', () => {
    const { home, other } = connected(['east', 'west']);
    // Neither node decides the first write.
    home.script = (frame) => (frame.type === 'commit' && keyOf(frame) === 'a' ? 'drop' : undefined);
    other.script = (frame) => (frame.type === 'commit' ? refusal(frame.id, 'OUTCOME_PENDING', true) : undefined);
    const early = writeAll(['a', 'b']);
    world.run(10);
    // From now on no write is sent behind another one.
    for (const node of [home, other]) node.lacks('chained-commits');
    world.run(1500);
    const late = writeAll(['c']);
    world.run(4000);
    expect(codesOf([...early, ...late])).toEqual(['OUTCOME_UNKNOWN', 'OUTCOME_UNKNOWN', 'SESSION_BLOCKED']);
    expect(late[0]!.reason).toMatchObject({ blockedBy: home.received('commit')[0]!.tx });
  });

  it('at most 128 writes are chained at a time', () => {
    const { home } = connected();
    home.credits = 1000;
    world.cut(home);
    world.run(50);
    const writes = writeAll(Array.from({ length: 300 }, (_, i) => `k${i}`));
    home.delayMs = 50;
    world.run(60);
    expect(sentTo(home)).toHaveLength(128);
    world.run(400);
    expectCommitted(writes, home);
  });
});

describe('detach from a write that others were sent behind', () => {
  it('detach makes a write that may have had an effect another attempt, which is decided without the write before it', () => {
    const { home } = connected(['east'], { settings: { requestTimeoutMs: 10_000, commitTimeoutMs: 10_000 } });
    home.script = onceOf('a', () => 'drop');
    const writes = writeAll(['a', 'b']);
    world.run(10);
    const [first, second] = home.received('commit');
    expect(world.ask({ f: 'detach' }).value).toBe(first!.tx);
    world.cut(home);
    world.run(100);
    const again = home.received('commit').slice(2);
    expect(again.map(keyOf).sort()).toEqual(['a', 'b']);
    expect(again.find(({ tx }) => tx === second!.tx)).toMatchObject({ attemptRegions: ['east', 'east'] });
    expect(again.map(({ after }) => after)).toEqual([undefined, undefined]);
    expect(writes.map(({ settled }) => settled)).toEqual([1, 1]);
  });
});

describe('an answer to a write', () => {
  it('an answer to a write that comes before that of the write before it is refused', () => {
    const { home } = connected();
    home.script = onceOf('a', () => 'drop');
    const writes = writeAll(['a', 'b']);
    world.run(10);
    const { id } = home.received('commit')[1]!;
    home.push({ type: 'committed', id, ts: home.cluster.clock + 1000 });
    world.run(100);
    expectCommitted(writes, home);
  });
});
