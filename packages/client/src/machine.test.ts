import { type ClientWorldOptions, World } from '@isochron/testing/client/world';
import { memoryNodes, type Reaction, refusal } from '@isochron/testing/nodes/memory-node';
import type { ClientFrame } from '@isochron/wire/session-frames';

/** A world with these nodes, and its client connected to the first one. */
function connected(names: readonly string[] = ['east'], options: ClientWorldOptions = {}) {
  const nodes = memoryNodes(...names);
  for (const node of nodes) node.lacks('chained-commits');
  // The others are further away.
  for (const node of nodes.slice(1)) node.delayMs = 10;
  const world = new World(nodes, options);
  expect(world.ask({ f: 'connect' }).settled).toBe(1);
  const [home, other] = nodes;
  expect(world.machine.core.connector.current?.welcome.node).toBe(`${home!.name}-1`);
  return { cluster: nodes[0]!.cluster, world, nodes, home: home!, other: other! };
}

/**
 * As `connected`, next to another node that is further away and could not be reached at first: the client is about to
 * measure it.
 */
function looking() {
  const [home, other] = memoryNodes('east', 'west');
  home.credits = 2;
  other.delayMs = 10;
  other.state = 'refuses';
  const world = new World([home, other], { settings: { returnAfterMs: 100 } });
  world.ask({ f: 'connect' });
  other.state = 'serves';
  expect(world.machine.core.connector.current?.region).toBe('east');
  return { world, home, other };
}

/** Does something to the first frame of a type, and nothing to the others. */
function once(type: ClientFrame['type'], scripted: Reaction) {
  let done = false;
  return (frame: ClientFrame): Reaction => {
    if (frame.type !== type || done) return undefined;
    done = true;
    return scripted;
  };
}

/** The same for every frame of a type. */
const always =
  (type: ClientFrame['type'], scripted: (id: number) => Reaction) =>
  (frame: ClientFrame): Reaction =>
    frame.type === type ? scripted((frame as { id: number }).id) : undefined;

let worlds: World[] = [];
beforeEach(() => {
  worlds = [];
});
const watched = <S extends { readonly world: World }>(scene: S): S => {
  worlds.push(scene.world);
  return scene;
};
afterEach(() => {
  for (const { violations } of worlds) expect(violations).toEqual([]);
});

describe('a write', () => {
  it('a write that may have taken effect is not called refused because nodes are overloaded when it is repeated', () => {
    const { world, home, cluster } = watched(connected());
    let applied = false;
    home.script = (frame) => {
      if (frame.type !== 'commit') return undefined;
      if (applied) return refusal(frame.id, 'OVERLOADED', true);
      applied = true;
      return 'apply-and-close';
    };
    const write = world.write('a');
    world.run(10_000);
    expect([cluster.outcomes.size, write.reason?.code]).toEqual([1, 'OUTCOME_UNKNOWN']);
    const attempts = home.received('commit').map(({ attemptRegions }) => attemptRegions);
    expect(new Set(attempts.map(String))).toEqual(new Set([home.region]));
  });

  it('a write that a map has deferred is sent again with its first timestamp (F9, M10)', () => {
    const { world, home, cluster } = watched(connected());
    const write = world.write('a');
    world.run(50);
    const { clock } = cluster;
    expect(write.value).toMatchObject({ timestamp: clock });
    home.script = once('commit', 'drop');
    const cuts = [{ map: 1, horizon: clock - 1, nodes: [0] }];
    world.machine.core.ust({ type: 'ust', ust: 0, freshness: home.freshness(), cuts });
    world.run(10);
    const [sent, again] = home.received('commit');
    expect([sent?.first, again?.first, again?.tx]).toEqual([undefined, clock, sent?.tx]);
  });

  it('a write whose connection is lost is sent again unchanged on the next one', () => {
    const { world, home, cluster } = watched(connected());
    home.script = once('commit', 'apply-and-close');
    const write = world.write('a');
    world.run(50);
    const [first, second, ...more] = home.received('commit');
    expect(more).toEqual([]);
    expect({ ...second, id: 0 }).toEqual({ ...first, id: 0 });
    expect(cluster.outcomes.size).toBe(1);
    expect(write).toMatchObject({ settled: 1, value: { timestamp: cluster.clock, txId: first!.tx } });
  });

  it('a write is not sent under another home once it may have taken effect', () => {
    const { world, home, other, cluster } = watched(connected(['east', 'west']));
    home.script = always('commit', () => 'apply-and-close');
    const write = world.write('a');
    world.run(200);
    expect(other.received('commit').map(({ attemptRegions }) => attemptRegions)).toEqual([['east']]);
    expect([write.settled, cluster.outcomes.size]).toEqual([1, 1]);
  });

  it('a write that was refused before it began has its home where it is sent next', () => {
    const { world, home, other } = watched(connected(['east', 'west']));
    home.script = always('commit', (id) => refusal(id, 'NOT_READY', true));
    const write = world.write('a');
    world.run(200);
    expect(other.received('commit').map(({ attemptRegions }) => attemptRegions)).toEqual([['west']]);
    expect(write.value).toBeDefined();
  });

  it('a write waits for its turn until the outcome of the one before is known', () => {
    const { world, home } = watched(connected());
    home.script = once('commit', 'drop');
    const [first, second] = [world.write('a'), world.write('b')];
    world.run(900);
    expect(home.received('commit')).toHaveLength(1);
    world.run(2000);
    const [sent, again, next] = home.received('commit').map(({ tx }) => tx);
    expect(again).toBe(sent);
    expect([first.value, second.value]).toMatchObject([{ txId: sent }, { txId: next }]);
  });

  it('a write that is refused for good when it is repeated may have had an effect where it was sent first', () => {
    const { world, home, other, cluster } = watched(connected(['east', 'west']));
    home.script = always('commit', () => 'apply-and-close');
    other.script = always('commit', (id) => refusal(id, 'TIMESTAMP_IN_FUTURE', false));
    const write = world.write('a');
    world.run(500);
    expect(write.reason).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { code: 'TIMESTAMP_IN_FUTURE' } });
    expect(cluster.outcomes.size).toBe(1);
  });

  it('a write that is refused for good at its first sending has failed', () => {
    const { world, home } = watched(connected());
    home.script = always('commit', (id) => refusal(id, 'TIMESTAMP_IN_FUTURE', false));
    expect(world.ask({ f: 'write', key: 'default/a', value: '1' }).reason?.code).toBe('TIMESTAMP_IN_FUTURE');
  });

  it('the time for the answer to a write doubles with each overdue answer', () => {
    const { world, home } = watched(connected(['east'], { settings: { commitTimeoutMs: 60_000 } }));
    const sentMs: number[] = [];
    home.script = always('commit', () => {
      sentMs.push(world.nowMs);
      return 'drop';
    });
    world.write('a');
    world.run(120_000);
    const took = sentMs.slice(1).map((ms, i) => Math.round((ms - sentMs[i]!) / 1000));
    // Until the caller gets OUTCOME_UNKNOWN, and afterwards.
    expect(took).toEqual([1, 2, 4, 8, 16, 29, 32]);
  });

  it('a write is OUTCOME_UNKNOWN after its deadline, and those behind it are SESSION_BLOCKED', () => {
    const { world, home } = watched(connected());
    home.script = always('commit', () => 'drop');
    const [first, second] = [world.write('a'), world.write('b')];
    world.run(5000);
    expect([first.reason?.code, second.reason?.code]).toEqual(['OUTCOME_UNKNOWN', 'SESSION_BLOCKED']);
    expect(new Set(home.received('commit').map(({ tx }) => tx)).size).toBe(1);
  });

  it('a write that is cancelled before its turn has no effect', () => {
    const { world, home } = watched(connected());
    home.script = once('commit', 'drop');
    world.write('a');
    const second = world.write('b');
    world.run(10);
    second.cancel('enough');
    expect(second).toMatchObject({ settled: 1, reason: 'enough' });
    world.run(5000);
    expect(home.received('commit').map(({ writes }) => writes[0]!.key)).not.toContain('default/b');
  });

  it('a write that is cancelled in the turn that asked for it is not sent', () => {
    const { world, home } = watched(connected());
    const write = world.write('a');
    write.cancel('enough');
    world.run(100);
    expect(write.reason).toBe('enough');
    expect(home.received('commit')).toEqual([]);
  });

  it('a write that is cancelled after it was sent has an unknown outcome, which is resolved before the next write', () => {
    const { world, home, cluster } = watched(connected());
    home.script = once('commit', 'drop');
    const write = world.write('a');
    world.run(10);
    write.cancel('enough');
    expect(write).toMatchObject({ settled: 1, reason: { code: 'OUTCOME_UNKNOWN', cause: 'enough' } });
    const next = world.write('b');
    world.run(2000);
    expect(next.value).toBeDefined();
    expect(cluster.outcomes.size).toBe(2);
  });

  it('a write that has succeeded is not settled again when it is cancelled afterwards', () => {
    const { world, home } = watched(connected());
    const write = world.write('a');
    world.run(50);
    write.cancel('too late');
    expect(write).toMatchObject({ settled: 1, value: { timestamp: home.cluster.clock } });
  });

  it('a write that was withdrawn from the queue is not settled again when it is cancelled afterwards', () => {
    const { world, home } = watched(connected());
    home.script = always('commit', () => 'drop');
    world.write('a');
    const second = world.write('b');
    second.cancel('first');
    second.cancel('second');
    expect(second).toMatchObject({ settled: 1, reason: 'first' });
  });
});

describe('requests', () => {
  it('requests of one turn leave in one message', () => {
    const { world, home } = watched(connected());
    const before = home.packing.length;
    const reads = Array.from({ length: 10 }, (_, i) => world.read(`k${i}`));
    world.write('a');
    world.run(50);
    expect(home.packing.slice(before)).toEqual([11]);
    expect(reads.map(({ settled }) => settled)).toEqual(Array(10).fill(1));
  });

  it('waiting requests get the credits of refused ones', () => {
    const { world, home } = watched(connected());
    home.script = always('read', (id) => refusal(id, 'KEYSPACE_UNKNOWN', false));
    const reads = Array.from({ length: 40 }, (_, i) => world.read(`k${i}`));
    world.run(100);
    expect(reads.map(({ reason }) => reason?.code)).toEqual(Array(40).fill('KEYSPACE_UNKNOWN'));
    home.script = () => undefined;
    const read = world.read('a');
    world.run(10);
    expect(read.value).toEqual([null]);
  });

  it('waiting requests do not get the credits of cancelled ones before those are answered', () => {
    const { world, home } = watched(connected());
    const held: number[] = [];
    home.script = always('read', (id) => {
      held.push(id);
      return 'drop';
    });
    for (let i = 0; i < home.credits; i++) world.read(`k${i}`).cancel('enough');
    const reads = Array.from({ length: home.credits }, (_, i) => world.read(`k${i}`));
    world.run(10);
    expect(held).toHaveLength(home.credits);
    for (const read of reads) read.cancel('enough');
    const late = world.read('late');
    world.run(10);
    expect(held).toHaveLength(home.credits);
    home.script = () => undefined;
    home.push(...held.map((id) => refusal(id, 'OVERLOADED', true)));
    world.run(10);
    expect(late.value).toEqual([null]);
  });

  it('requests wait while there is no connection, and fail at their deadline', () => {
    const { world, home } = watched(connected());
    home.state = 'refuses';
    world.cut(home);
    const [early, late] = [world.read('a'), world.read('b')];
    early.cancel('enough');
    world.run(1500);
    expect([early.reason, late.reason?.code]).toEqual(['enough', 'OFFLINE']);
  });
});

describe('a transaction', () => {
  it('a transaction whose first reads leave in one message is opened once', () => {
    const { world, home } = watched(connected());
    world.step({ kind: 'begin', handle: 1, mode: 'transaction' });
    const reads = ['a', 'b'].map((key) => world.call({ f: 'read', handle: 1, keys: [`default/${key}`] }));
    world.run(10);
    expect(reads.map(({ value }) => value)).toEqual([[null], [null]]);
    const [start, ...more] = home.received('start');
    expect(more).toEqual([]);
    expect(home.received('read').map(({ tx }) => tx)).toEqual([start!.tx, start!.tx]);
  });
});

describe('connections', () => {
  it('connections that fail right after the welcome are opened again with growing pauses', () => {
    const { world, home } = watched(connected(['east'], { random: () => 0.5 }));
    home.script = always('ping', () => 'close');
    world.cut(home);
    const before = home.received('hello').length;
    world.run(10_000);
    const tries = home.received('hello').length - before;
    expect(tries).toBeGreaterThan(3);
    expect(tries).toBeLessThan(15);
  });

  it('a connection lost while a nearer endpoint is measured is replaced as usual, and the oldest requests leave first', () => {
    const { world, home, other } = watched(looking());
    home.script = (frame) => (frame.type === 'read' || frame.type === 'ping' ? 'drop' : undefined);
    const first = world.read('first');
    // The search has measured the other one, and waits for the ping of this one: no credit is left.
    world.run(200);
    const second = world.read('second');
    world.run(1);
    expect(other.received('ping')).toHaveLength(2);
    world.cut(home);
    world.run(100);
    expect(other.received('read').map(({ keys }) => keys[0])).toEqual(['default/first', 'default/second']);
    expect([first.settled, second.settled]).toEqual([1, 1]);
    expect(world.live).toHaveLength(1);
  });

  it('a connection that is only measured when a cut comes is closed: its welcome lacks the cut (M10)', () => {
    const { world, home, other } = watched(looking());
    home.script = always('ping', () => 'drop');
    world.run(200);
    expect(world.live.map(({ node }) => node.name)).toEqual(['east', 'west']);
    const cuts = [{ map: 1, horizon: 1, nodes: [0] }];
    other.push({ type: 'ust', ust: 0, freshness: other.freshness(), map: 1, cuts });
    world.run(20);
    expect(world.live.map(({ node }) => node.name)).toEqual(['east']);
  });

  it('connections are not left for one further away while no credit is free for a measurement', () => {
    const { world, home, other } = watched(looking());
    home.script = always('read', () => 'drop');
    for (let i = 0; i < home.credits; i++) world.read(`k${i}`);
    world.run(400);
    expect(world.machine.core.connector.current!.region).toBe('east');
    expect(other.received('ping')).toEqual([]);
  });

  it('connections are not opened to a node whose second measurement is refused', () => {
    const { world, home, other } = watched(looking());
    [home.delayMs, other.delayMs] = [20, 1];
    let pings = 0;
    other.script = always('ping', (id) => (++pings % 2 === 0 ? refusal(id, 'OVERLOADED', true) : undefined));
    world.run(400);
    expect(pings).toBeGreaterThan(1);
    expect(world.machine.core.connector.current!.region).toBe('east');
  });

  it('connections are closed where the first measurement is refused', () => {
    const [east, west] = memoryNodes('east', 'west');
    east!.script = always('ping', (id) => refusal(id, 'OVERLOADED', true));
    const { world } = watched({ world: new World([east!, west!]) });
    expect(world.ask({ f: 'connect' }, 150).settled).toBe(1);
    world.run(1000);
    expect(world.live.map(({ node }) => node.name)).toEqual(['west']);
  });

  it('connections that are not in use do not change the token', () => {
    const { world, home, other } = watched(looking());
    home.script = always('ping', () => 'drop');
    other.script = always('ping', (id) => ({ type: 'pong', id, token: 'of-a-look' }));
    const token = world.machine.core.currentToken();
    world.run(200);
    expect(other.received('ping')).toHaveLength(2);
    expect(world.machine.core.currentToken()).toBe(token);
  });

  it('connections that send an invalid frame are replaced, and their unanswered requests are sent again', () => {
    const { world, home } = watched(connected());
    home.script = once('read', { type: 'values', id: 9999, snapshot: 1000, values: [null] });
    const read = world.read('a');
    world.run(100);
    expect(read.value).toEqual([null]);
    expect(home.received('hello')).toHaveLength(2);
    expect(world.live).toHaveLength(1);
  });

  it('connections that open after another one was chosen are closed', () => {
    const [east, west] = memoryNodes('east', 'west');
    west!.delayMs = 100;
    const { world } = watched({ world: new World([east!, west!]) });
    expect(world.ask({ f: 'connect' }, 150).settled).toBe(1);
    world.run(1000);
    expect(world.live.map(({ node }) => node.name)).toEqual(['east']);
  });
});

describe('a client that closes', () => {
  it('a client that closes while it connects opens no other socket', () => {
    const nodes = memoryNodes('east', 'west');
    const { world } = watched({ world: new World(nodes) });
    const connecting = world.call({ f: 'connect' });
    const closing = world.ask({ f: 'close' });
    expect(world.sockets.size).toBe(2);
    expect(world.live).toEqual([]);
    expect([connecting.settled, closing.settled]).toEqual([1, 1]);
    expect(connecting.reason?.code).toBe('CONNECTION_LOST');
  });

  it('a client that closes while it reconnects opens no other socket', () => {
    const { world, home, nodes } = watched(connected(['east', 'west']));
    for (const node of nodes) node.state = 'silent';
    world.cut(home);
    world.run(50);
    const { size } = world.sockets;
    expect(world.live).toHaveLength(1);
    const closing = world.ask({ f: 'close' }, 2000);
    expect([closing.settled, world.sockets.size]).toEqual([1, size]);
  });

  it('a client that closes asks for no more timers, and settles every call', () => {
    const { world, home } = watched(connected(['east', 'west'], { settings: { returnAfterMs: 100 } }));
    home.script = (frame) => (frame.type === 'ping' ? undefined : 'drop');
    const calls = [world.read('a'), world.write('a'), world.write('b')];
    world.run(10);
    const closing = world.call({ f: 'close' });
    world.run(10);
    expect(calls.map(({ reason }) => reason?.code)).toEqual(['CLIENT_CLOSED', 'OUTCOME_UNKNOWN', 'CLIENT_CLOSED']);
    expect(closing.settled).toBe(1);
    expect([world.timerMs, world.live]).toEqual([Number.POSITIVE_INFINITY, []]);
    expect(world.ask({ f: 'read', keys: ['default/a'] }).reason?.code).toBe('CLIENT_CLOSED');
    expect([world.timerMs, world.live]).toEqual([Number.POSITIVE_INFINITY, []]);
  });

  it('a client that closes waits at most a second for its sockets, and is not settled again when they close later', () => {
    const { world, home } = watched(connected());
    home.state = 'silent';
    home.delayMs = 5000;
    const closing = world.ask({ f: 'close' }, 900);
    expect(closing.settled).toBe(0);
    world.run(200);
    expect([closing.settled, world.timerMs]).toEqual([1, Number.POSITIVE_INFINITY]);
    world.run(20_000);
    expect([closing.settled, world.live]).toEqual([1, []]);
  });

  it('a client that closes while the client of its protocol is loaded ends its connect when loading is done', () => {
    const node = memoryNodes('east')[0];
    const { world } = watched({ world: new World([node]) });
    world.loadsAtOnce = false;
    const connecting = world.ask({ f: 'connect' });
    expect(world.loads).toEqual(['paris']);
    const closing = world.ask({ f: 'close' });
    world.loaded('paris');
    world.run(50);
    expect([connecting.settled, closing.settled]).toEqual([1, 1]);
    expect([world.timerMs, world.live]).toEqual([Number.POSITIVE_INFINITY, []]);
  });
});
