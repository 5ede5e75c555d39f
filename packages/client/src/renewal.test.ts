/** Credentials that expire, and are renewed on a living session (U3). */
import { Random } from '@isochron/core/random';
import { Issuer } from '@isochron/testing/client/issuer';
import { type Called, type ClientWorldOptions, World } from '@isochron/testing/client/world';
import { memoryNodes, type Reaction, refusal } from '@isochron/testing/nodes/memory-node';
import type { LiveObserver } from './live/observer.js';

interface Options extends Omit<ClientWorldOptions, 'auth'> {
  readonly names?: readonly string[];
  readonly lifeMs?: number;
  /** In place of the issuer's newest credentials. */
  readonly give?: () => unknown;
}

/** A client of nodes that check credentials. */
function scene({ names = ['east'], lifeMs = 10_000, give, ...options }: Options = {}) {
  const nodes = memoryNodes(...names);
  const { cluster } = nodes[0]!;
  const issuer = new Issuer(cluster);
  issuer.lifeMs = lifeMs;
  const app = { give: give ?? ((): unknown => issuer.issue()) };
  const world: World = new World(nodes, { auth: () => app.give(), ...options });
  for (const node of nodes) issuer.guard(node);
  return { world, nodes, node: nodes[0]!, cluster, issuer, app };
}

function connected(options: Options = {}) {
  const all = scene(options);
  const connect = all.world.ask({ f: 'connect' }, 200);
  expect(isDone(connect)).toBe(true);
  return all;
}

const codeOf = ({ reason }: Called): string | undefined => reason?.code;
const isDone = ({ settled, reason }: Called): boolean => settled === 1 && reason === undefined;
const failure = new Error('the identity provider is down');

describe('before credentials expire', () => {
  it('credentials are renewed on the living connection, and no request is refused', () => {
    const { world, node, issuer } = connected();
    const reads: Called[] = [];
    for (let i = 0; i < 120; i++) {
      reads.push(world.read('a'));
      world.run(500);
    }
    expect(reads.every(isDone)).toBe(true);
    expect(issuer.refusals).toBe(0);
    expect(node.received('hello')).toHaveLength(1);
    const sent = node.received('authenticate').map(({ credentials }) => credentials);
    expect(sent).toEqual([2, 3, 4, 5, 6, 7].map((n) => `credentials-${n}`));
    expect(world.violations).toEqual([]);
  });

  it('a renewal repeats no request before the time that its refusal names', () => {
    const { world, node } = connected({ settings: { requestTimeoutMs: 100_000 } });
    const times: number[] = [];
    node.script = (frame) => {
      if (frame.type !== 'read') return undefined;
      times.push(world.nowMs);
      return { ...refusal(frame.id, 'RATE_LIMITED', true), retryAfterMs: 3000 } as Reaction;
    };
    world.read('a');
    world.run(60_000);
    expect(node.received('authenticate').length).toBeGreaterThan(5);
    const pauses = times.slice(1).map((ms, i) => ms - times[i]!);
    expect(pauses.filter((ms) => ms < 3000)).toEqual([]);
    expect(times.length).toBeGreaterThan(15);
  });

  it.each([
    ['an eighth of a short life time', 80_000, 0, 10_000],
    ['a quarter of it with jitter', 80_000, 1, 20_000],
    ['a minute of a long one', 3_600_000, 0, 60_000],
    ['two minutes with jitter', 3_600_000, 1, 120_000],
  ])('credentials are renewed before their end by %s', (_what, lifeMs, random, marginMs) => {
    const { world, node } = connected({ lifeMs, random: () => random });
    world.run(lifeMs - marginMs - 100 - world.nowMs);
    expect(world.authCalls).toBe(1);
    world.run(200);
    expect(world.authCalls).toBe(2);
    expect(node.received('authenticate')).toHaveLength(1);
  });

  it('credentials that do not expire are not renewed', () => {
    const [node] = memoryNodes('east');
    const world = new World([node], { auth: () => 'key' });
    world.ask({ f: 'connect' });
    world.run(600_000);
    expect(world.authCalls).toBe(1);
    expect(node.received('hello')).toMatchObject([{ credentials: 'key' }]);
  });

  it('a renewal that fails is repeated after growing pauses, while requests go on', () => {
    const { world, app, issuer } = connected({ lifeMs: 60_000, random: () => 0.5 });
    const times: number[] = [];
    app.give = () => {
      times.push(Math.round(world.nowMs / 100) * 100);
      return times.length < 4 ? failure : issuer.issue();
    };
    world.run(80_000);
    const [first = 0] = times;
    expect(times.map((ms) => ms - first).slice(0, 4)).toEqual([0, 1200, 2700, 4700]);
    expect(issuer.refusals).toBe(0);
    expect(codeOf(world.ask({ f: 'read', keys: ['default/a'] }))).toBeUndefined();
  });

  it('credentials that the node refuses leave the session as it was, and others are asked for', () => {
    const { world, app, issuer, node } = connected({ lifeMs: 20_000 });
    const given = ['of another principal'];
    app.give = () => given.pop() ?? issuer.issue();
    world.run(19_000);
    expect(node.received('authenticate').map(({ credentials }) => credentials)).toEqual([
      'of another principal',
      'credentials-2',
    ]);
    world.run(10_000);
    expect(codeOf(world.ask({ f: 'read', keys: ['default/a'] }))).toBeUndefined();
    expect(issuer.refusals).toBe(0);
    expect(node.received('hello')).toHaveLength(1);
  });

  it('an answer to new credentials that never comes is a failure, and others are asked for', () => {
    const { world, node } = connected({ lifeMs: 60_000 });
    let isLost = true;
    node.script = (frame) => {
      if (frame.type !== 'authenticate' || !isLost) return undefined;
      isLost = false;
      return 'drop';
    };
    world.run(60_000);
    expect(node.received('authenticate')).toHaveLength(2);
    expect(world.violations).toEqual([]);
  });
});

describe('after a refusal', () => {
  it('a refused read is repeated with new credentials, and its caller gets the answer', () => {
    const { world, issuer, node } = connected();
    issuer.revoke();
    const read = world.ask({ f: 'read', keys: ['default/a'] }, 1500);
    expect(isDone(read)).toBe(true);
    expect(node.received('read')).toHaveLength(2);
    expect(node.received('hello')).toHaveLength(1);
  });

  it('a refused commit is repeated under its id as the same attempt, and takes effect once', () => {
    const { world, issuer, node, cluster } = connected();
    issuer.revoke();
    const writes = ['a', 'b', 'c'].map((key) => world.write(key));
    world.run(1500);
    expect(writes.every(isDone)).toBe(true);
    const commits = node.received('commit');
    expect(commits).toHaveLength(6);
    expect(new Set(commits.map(({ tx }) => tx)).size).toBe(3);
    expect(new Set(commits.map(({ attemptRegions }) => attemptRegions.join())).size).toBe(1);
    expect(cluster.outcomes.size).toBe(3);
    expect(world.violations).toEqual([]);
  });

  it('requests that are refused together need one call for new credentials', () => {
    const { world, issuer } = connected();
    issuer.revoke();
    const reads = Array.from({ length: 10 }, (_, i) => world.read(`k${i}`));
    world.run(1500);
    expect(reads.every(isDone)).toBe(true);
    expect(world.authCalls).toBe(2);
  });

  it('an open transaction goes on in its snapshot', () => {
    const { world, issuer, node } = connected();
    world.step({ kind: 'begin', handle: 1, mode: 'transaction' });
    world.ask({ f: 'read', handle: 1, keys: ['default/a'] });
    issuer.revoke();
    const second = world.ask({ f: 'read', handle: 1, keys: ['default/b'] }, 1500);
    world.machine.handle(1).tx.write('default/c', '1');
    const commit = world.ask({ f: 'commit', handle: 1 });
    expect([second, commit].every(isDone)).toBe(true);
    expect(node.received('start')).toHaveLength(1);
    expect(node.received('commit')[0]?.snapshot).toBeUndefined();
  });

  it('a live query goes on: nothing is read anew, and later changes arrive', () => {
    const { world, node, issuer, cluster } = connected();
    cluster.hold();
    const shown: string[][] = [];
    const observer: LiveObserver = {
      next: (_snapshot, views) => void shown.push([...views[0]!.documents.values()].map(({ value }) => String(value))),
      failed: ({ code }) => void shown.push([code]),
    };
    world.watch(observer, { keys: ['default/a'] });
    world.run(100);
    const reads = node.received('read').length;
    issuer.revoke();
    // The node notices with the next request, and refuses the one that waits, too.
    world.ask({ f: 'read', keys: ['default/b'] }, 1500);
    expect(issuer.refusals).toBe(2);
    cluster.write({ 'default/a': '1' });
    cluster.stabilise();
    world.run(100);
    expect(shown).toEqual([[], ['1']]);
    expect(
      node
        .received('read')
        .slice(reads)
        .map(({ keys }) => keys),
    ).toEqual([['default/b'], ['default/b']]);
    expect(node.received('hello')).toHaveLength(1);
  });

  it('without new credentials waiting requests reject with CREDENTIALS_UNAVAILABLE, and its cause is the last error', () => {
    const { world, issuer, app } = connected();
    app.give = () => failure;
    issuer.revoke();
    const calls = [world.read('a'), world.write('a')];
    world.run(1500);
    expect(calls.map(codeOf)).toEqual(['CREDENTIALS_UNAVAILABLE', 'CREDENTIALS_UNAVAILABLE']);
    expect(calls[0]?.reason).toMatchObject({ retryable: true, cause: failure });
    app.give = () => issuer.issue();
    world.run(5000);
    expect(isDone(world.ask({ f: 'write', key: 'default/a', value: '2' }))).toBe(true);
  });

  it('a call for credentials that does not end is not repeated, and waiting requests reject', () => {
    const { world, issuer, app } = connected();
    app.give = () => undefined;
    issuer.revoke();
    const calls = Array.from({ length: 20 }, () => world.ask({ f: 'read', keys: ['default/a'] }, 500));
    world.run(1500);
    expect(new Set(calls.map(codeOf))).toEqual(new Set(['CREDENTIALS_UNAVAILABLE']));
    expect(world.authCalls).toBe(2);
    expect(world.violations).toEqual([]);
  });

  it.each([
    ['', 0],
    [', also after a sleep', 3_600_000],
  ])('credentials that expire at once are asked for twice a second at most%s', (_when, sleepMs) => {
    const { world, issuer } = connected({ lifeMs: 100_000_000 });
    world.sleep(sleepMs);
    world.run(2000);
    issuer.lifeMs = 1;
    issuer.revoke();
    for (let i = 0; i < 100; i++) {
      world.read('a');
      world.run(100);
    }
    expect(world.authCalls).toBeGreaterThan(5);
    expect(world.authCalls).toBeLessThan(22);
  });
});

describe('a first connection', () => {
  it('a first connection waits for credentials', () => {
    const { world, node } = scene();
    world.authMs = 500;
    const connect = world.ask({ f: 'connect' }, 400);
    expect([connect.settled, world.sockets.size]).toEqual([0, 0]);
    world.run(200);
    expect(isDone(connect)).toBe(true);
    expect(node.received('hello')).toMatchObject([{ credentials: 'credentials-1' }]);
  });

  it('a first connection whose credentials are refused is tried once more with others', () => {
    const given = ['expired'];
    const all = scene();
    all.app.give = () => given.pop() ?? all.issuer.issue();
    expect(isDone(all.world.ask({ f: 'connect' }, 1500))).toBe(true);
    expect(all.node.received('hello').map(({ credentials }) => credentials)).toEqual(['expired', 'credentials-1']);
  });

  it('a first connection rejects with UNAUTHENTICATED where other credentials are refused, too', () => {
    const { world, node } = scene({ give: () => 'wrong', settings: { requestTimeoutMs: 5000 } });
    const connect = world.ask({ f: 'connect' }, 3000);
    expect(connect).toMatchObject({ settled: 1, reason: { code: 'UNAUTHENTICATED' } });
    expect(node.received('hello')).toHaveLength(2);
  });

  it.each([
    ['fails', failure],
    ['gives no text', 5],
    ['gives an empty text', ''],
    ['does not end', undefined],
  ])('a first connection rejects with CREDENTIALS_UNAVAILABLE where the call for credentials %s', (_what, answer) => {
    const { world } = scene({ give: () => answer });
    const connect = world.ask({ f: 'connect' }, 990);
    expect(connect.settled).toBe(0);
    world.run(20);
    expect(connect).toMatchObject({ settled: 1, reason: { code: 'CREDENTIALS_UNAVAILABLE', retryable: true } });
  });

  it('a first connection that is cancelled, or whose client is closed, ends while credentials are awaited', () => {
    for (const isClosed of [false, true]) {
      const { world } = scene({ give: () => undefined });
      const connect = world.ask({ f: 'connect' });
      if (isClosed) world.call({ f: 'close' });
      else connect.cancel('enough');
      world.run(50);
      expect(connect.settled).toBe(1);
      expect(isClosed ? codeOf(connect) : connect.reason).toBe(isClosed ? 'CLIENT_CLOSED' : 'enough');
      world.call({ f: 'close' });
      world.run(5000);
      expect([world.timerMs, world.violations]).toEqual([Number.POSITIVE_INFINITY, []]);
    }
  });
});

describe('a client that closes', () => {
  it.each([100, 300])(
    'writes that wait for credentials go on with those that come after %i ms, while the client closes',
    (authMs) => {
      const { world, cluster, issuer } = connected({ lifeMs: 100_000 });
      issuer.revoke();
      world.authMs = authMs;
      const write = world.write('a');
      world.run(101);
      const close = world.call({ f: 'close', flushMs: 5000 });
      world.run(1000);
      expect([write, close].map(isDone)).toEqual([true, true]);
      expect(cluster.outcomes.size).toBe(1);
      expect([world.authCalls, world.timerMs]).toEqual([2, Number.POSITIVE_INFINITY]);
    },
  );
});

describe('a session without a connection', () => {
  it('credentials that expire meanwhile are renewed when a node answers again, and not before', () => {
    const { world, node } = connected({ lifeMs: 10_000 });
    node.state = 'silent';
    world.cut(node);
    world.run(60_000);
    expect(world.authCalls).toBeLessThanOrEqual(2);
    node.state = 'serves';
    world.run(40_000);
    expect(isDone(world.ask({ f: 'read', keys: ['default/a'] }, 1500))).toBe(true);
    expect(world.machine.core.status(world.nowMs).state).toBe('online');
  });

  it.each([
    ['before a node has seen them', (world: World) => world.run(15_000)],
    ['in a sleep before a node has seen them', (world: World) => world.sleep(15_000)],
  ])('credentials that expire %s are renewed, also after others that were refused', (_when, expire) => {
    const { world, node, issuer } = connected({ lifeMs: 10_000, settings: { requestTimeoutMs: 60_000 } });
    world.authMs = 500;
    issuer.revoke();
    world.cut(node);
    while (world.authCalls < 2) world.run(10);
    node.state = 'refuses';
    world.run(600);
    expire(world);
    node.state = 'serves';
    const read = world.ask({ f: 'read', keys: ['default/a'] }, 40_000);
    expect([read.reason, read.settled]).toEqual([undefined, 1]);
  });

  it('after a sleep, too, requests reject with UNAUTHENTICATED where new credentials are refused twice', () => {
    const { world, node, issuer, app } = connected({ settings: { requestTimeoutMs: 60_000 } });
    world.sleep(60_000);
    world.run(3000);
    app.give = () => 'wrong';
    issuer.revoke();
    world.cut(node);
    const read = world.ask({ f: 'read', keys: ['default/a'] }, 20_000);
    expect([codeOf(read), read.settled]).toEqual(['UNAUTHENTICATED', 1]);
  });

  it('requests reject with CREDENTIALS_UNAVAILABLE where a node could be reached, but no credentials be had', () => {
    const { world, node, app } = connected({ lifeMs: 10_000 });
    app.give = () => failure;
    world.run(20_000);
    world.cut(node);
    const read = world.ask({ f: 'read', keys: ['default/a'] }, 1500);
    expect(read.reason).toMatchObject({ code: 'CREDENTIALS_UNAVAILABLE', cause: failure });
  });

  it('after a fail-over the newest credentials are used, also where they arrive during it', () => {
    const { world, nodes, issuer } = connected({ names: ['east', 'west'], lifeMs: 10_000 });
    const [east, west] = nodes;
    east!.regions = west!.regions = nodes.map(({ region, url }) => ({ id: region, endpoints: [url] }));
    const used = nodes.find(({ region }) => region === world.machine.core.status(0).region)!;
    world.run(8700 - world.nowMs);
    used.state = 'refuses';
    world.cut(used);
    world.run(2000);
    const reads = [world.read('a'), world.read('b')];
    world.run(1000);
    expect(reads.every(isDone)).toBe(true);
    world.run(30_000);
    expect(issuer.refusals).toBe(0);
    expect(world.violations).toEqual([]);
  });
});

describe('every call of a client whose credentials expire', () => {
  const SEEDS = 80;
  const CODES = ['NOT_READY', 'OVERLOADED', 'OUTCOME_PENDING', 'UNAUTHENTICATED', 'CREDITS_EXHAUSTED'];

  /** Random requests, faults and failures of the application. */
  function live(seed: number) {
    const random = new Random(seed);
    const names = ['east', 'west', 'north'].slice(0, 1 + random.below(3));
    const all = scene({
      names,
      lifeMs: random.pick([400, 1500, 5000]),
      settings: { returnAfterMs: random.pick([50, 1000]), requestTimeoutMs: random.pick([300, 2000]) },
      random: () => random.float(),
    });
    const { world, nodes, issuer, app } = all;
    const network = { trouble: 0.15 };
    world.authMs = random.below(200);
    app.give = () => (random.chance(network.trouble) ? failure : issuer.issue());
    for (const node of nodes) {
      node.credits = 1 + random.below(6);
      node.delayMs = 1 + random.below(20);
      node.regions = nodes.map(({ region, url }) => ({ id: region, endpoints: [url] }));
      node.script = (frame) => {
        if (!random.chance(network.trouble)) return undefined;
        const refused = refusal(frame.type === 'hello' ? undefined : frame.id, random.pick(CODES), true);
        return random.pick<Reaction>(['drop', 'close', 'apply-and-drop', 'apply-and-close', refused]);
      };
    }
    const act = (): void => {
      const at = random.below(10);
      const key = `default/k${random.below(5)}`;
      if (at < 4) world.call({ f: 'read', keys: [key] });
      else if (at < 7) world.call({ f: 'write', key, value: `${world.nowMs}` });
      else if (at < 8) world.cut(random.pick(nodes));
      else if (at < 9) random.pick(nodes).state = random.pick(['serves', 'refuses', 'silent']);
      else issuer.revoke();
    };
    return { ...all, random, network, act };
  }

  it('every call is settled exactly once, whatever the network and the application do', () => {
    let [renewed, unavailable, done] = [0, 0, 0];
    for (let seed = 0; seed < SEEDS; seed++) {
      const { random, world, nodes, cluster, network, act, issuer } = live(seed);
      const connect = world.ask({ f: 'connect' }, random.below(3000));
      for (let i = 0; i < 100 && isDone(connect); i++) {
        act();
        world.run(random.below(100));
      }
      network.trouble = 0;
      issuer.lifeMs = 5000;
      for (const node of nodes) node.state = 'serves';
      world.run(100_000);
      if (isDone(connect)) {
        expect([seed, world.machine.core.status(world.nowMs)]).toMatchObject([
          seed,
          { state: 'online', pendingCommits: 0 },
        ]);
        const { refusals } = issuer;
        world.run(20_000);
        expect([seed, issuer.refusals]).toEqual([seed, refusals]);
      }
      world.call({ f: 'close' });
      world.run(30_000);
      const settled = world.calls.map((call) => call.settled);
      expect([seed, settled]).toEqual([seed, settled.map(() => 1)]);
      expect([seed, world.timerMs, world.live, world.violations]).toEqual([seed, Number.POSITIVE_INFINITY, [], []]);
      renewed += nodes.flatMap((node) => node.received('authenticate')).length;
      unavailable += world.calls.filter((call) => codeOf(call) === 'CREDENTIALS_UNAVAILABLE').length;
      for (const { value } of world.calls.filter(({ call }) => call.f === 'write')) {
        const { txId, timestamp } = (value ?? {}) as { txId?: string; timestamp?: number };
        if (txId !== undefined) expect([seed, cluster.outcomes.get(txId)]).toEqual([seed, timestamp]);
        if (txId !== undefined) done++;
      }
    }
    expect(Math.min(renewed, unavailable, done)).toBeGreaterThan(50);
  });
});
