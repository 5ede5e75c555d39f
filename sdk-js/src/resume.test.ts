import {
  client,
  closeAll,
  clusterOf,
  codeOf,
  deferred,
  type MemoryCluster,
  refusal,
  server,
  statusOf,
} from '../testing/harness.js';
import type { MemoryServer } from '../testing/memory-server.js';

afterEach(closeAll);

/** A cluster of two regions with `a` and `b` = 1, and a client connected to `home`. */
async function twoRegions(options: Parameters<typeof client>[1] = {}) {
  const cluster = clusterOf();
  cluster.seed('default/a', 1);
  cluster.seed('default/b', 1);
  const servers = [await server(cluster), await server(cluster, { region: 'oregon' })] as const;
  const app = await client(servers, options);
  const [home, other] = app.status.region === 'virginia' ? servers : ([servers[1], servers[0]] as const);
  return { cluster, app, home, other, servers };
}

/** Another client changes both keys, and the writes are stable. */
function overtake(cluster: MemoryCluster): void {
  cluster.seed('default/a', 'newer');
  cluster.seed('default/b', 'newer');
}

/** The fault of the node that gets the operation: it dies before or after it, or is silent from then on. */
const FAULTS = ['close', 'apply-and-close', 'drop', 'apply-and-drop'] as const;
const OPERATIONS = ['start', 'first read', 'second read', 'commit'] as const;

function inject(node: MemoryServer, operation: (typeof OPERATIONS)[number], fault: (typeof FAULTS)[number]): void {
  const type = operation.split(' ').at(-1);
  let left = operation === 'second read' ? 2 : 1;
  node.script = (frame) => {
    if (left === 0) return fault.endsWith('drop') ? 'drop' : undefined;
    return frame.type === type && --left === 0 ? fault : undefined;
  };
}

const cases = OPERATIONS.flatMap((operation) => FAULTS.map((fault) => [operation, fault] as const));

describe('a transaction whose coordinator dies (D8)', () => {
  it.each(cases)(
    'a transaction whose coordinator dies goes on in its snapshot elsewhere, and commits once: %s, %s',
    async (operation, fault) => {
      const { cluster, app, servers, home } = await twoRegions({ requestTimeoutMs: 3000 });
      inject(home, operation, fault);
      const { result, write } = await app.transaction(async (tx) => {
        const a = await tx.get('a');
        const at = tx.timestamp;
        overtake(cluster);
        const b = await tx.get('b');
        tx.set('c', [a, b]);
        return { a, b, same: at === tx.timestamp };
      });
      expect(result).toEqual({ a: 1, b: 1, same: true });
      expect([...cluster.outcomes].filter(([tx]) => tx === write?.txId)).toHaveLength(1);
      cluster.stabilise();
      expect(cluster.versionsOf('default/c')).toHaveLength(1);
      const commits = servers.flatMap((node) => node.received('commit'));
      expect(new Set(commits.map(({ tx, hwt, sentAfter }) => `${tx} ${hwt} ${sentAfter}`)).size).toBe(1);
    },
  );

  it('a transaction whose coordinator dies goes on between two operations, in another region', async () => {
    const { cluster, app, home, other } = await twoRegions();
    const { ust } = cluster;
    const { result } = await app.transaction(async (tx) => {
      await tx.get('a');
      await home.close();
      overtake(cluster);
      return tx.getMany(['a', 'b']);
    });
    expect(result).toEqual([1, 1]);
    const [first] = home.received('start');
    const [second] = other.received('start');
    expect(second?.at).toBe(ust);
    // An opening of its own: a coordinator that only the client cannot reach may still hold the other one.
    expect(second?.tx).not.toBe(first?.tx);
  });

  it('a transaction whose coordinator dies ends with SNAPSHOT_TOO_OLD where its versions have been collected', async () => {
    const { app, home, other } = await twoRegions();
    other.script = (frame) =>
      frame.type === 'start' && frame.at !== undefined ? refusal(frame.id, 'SNAPSHOT_TOO_OLD', false) : undefined;
    const transaction = app.transaction(async (tx) => {
      await tx.get('a');
      await home.close();
      await tx.get('b');
    });
    expect(await codeOf(transaction)).toBe('SNAPSHOT_TOO_OLD');
    expect(await app.get('b')).toBe(1);
  });

  it('a transaction waits for a node that has not installed the snapshot yet, and does not leave it for that', async () => {
    const { cluster, app, home, other } = await twoRegions();
    const installed = deferred();
    const isOpen = (): boolean => other.answers('started').length > 0;
    other.script = (frame) => {
      if (frame.type === 'start') return installed.promise;
      // As a node whose start is still waiting.
      return frame.type === 'read' && !isOpen() ? refusal(frame.id, 'TRANSACTION_UNKNOWN', false) : undefined;
    };
    const { result } = await app.transaction(async (tx) => {
      await tx.get('a');
      await home.close();
      overtake(cluster);
      const reading = tx.get('b');
      await other.until(() => other.received('read').length > 5);
      expect(isOpen()).toBe(false);
      installed.resolve();
      return reading;
    });
    expect(result).toBe(1);
    expect(other.received('hello').length).toBe(2);
  });
});

describe('a silent node', () => {
  it('a node that is silent is left for another one long before the request times out', async () => {
    const { app, home, other } = await twoRegions({ requestTimeoutMs: 3000 });
    home.script = () => 'drop';
    expect(await app.getMany(['a', 'b'])).toEqual([1, 1]);
    expect(other.received('read').length).toBe(1);
    expect(home.received('ping').length).toBeGreaterThan(0);
  });

  it('a node that answers pings is not left: its answer may take time for good reasons', async () => {
    const { app, home, other } = await twoRegions({ requestTimeoutMs: 900 });
    const held = deferred();
    home.script = (frame) => (frame.type === 'read' ? held.promise : undefined);
    const reading = app.get('a');
    const pings = home.received('ping').length;
    await home.until(() => home.received('ping').length >= pings + 2);
    held.resolve();
    expect(await reading).toBe(1);
    expect(other.received('read')).toEqual([]);
  });
});

describe('a node that goes away', () => {
  it('a node that goes away is used until another one is there', async () => {
    const { app, home, other } = await twoRegions();
    const hello = deferred();
    other.script = (frame) => (frame.type === 'hello' ? hello.promise : undefined);
    home.push({ type: 'goaway', reason: 'restart', delayMs: 60_000 });
    await other.until(() => other.received('hello').length === 2);
    expect(await app.get('a')).toBe(1);
    expect(app.status).toMatchObject({ state: 'online', region: home.region });
    expect(home.received('read').length).toBe(1);
    hello.resolve();
    await statusOf(app, ({ region }) => region === other.region);
    expect(await app.get('a')).toBe(1);
    expect(other.received('read').length).toBe(1);
    await home.until(() => home.connections === 0);
  });

  it('a node that goes away takes no open transaction with it', async () => {
    const { cluster, app, home, other } = await twoRegions();
    const { result, write } = await app.transaction(async (tx) => {
      await tx.get('a');
      const moved = statusOf(app, ({ region }) => region === other.region);
      home.push({ type: 'goaway', reason: 'restart', delayMs: 60_000 });
      await moved;
      overtake(cluster);
      tx.set('c', 1);
      return tx.get('b');
    });
    expect(result).toBe(1);
    expect(cluster.outcomes.get(write!.txId)).toBe(write!.timestamp);
    expect(home.received('commit')).toEqual([]);
  });

  it('a node that goes away is waited for where there is no other', async () => {
    const cluster = clusterOf();
    cluster.seed('default/a', 1);
    const node = await server(cluster);
    const app = await client([node]);
    node.push({ type: 'goaway', reason: 'restart', delayMs: 30 });
    // The node may receive the next connection before the end of this one.
    await node.until(() => node.received('hello').length === 2);
    expect(await app.get('a')).toBe(1);
  });

  it('a late write on a node that goes away is in the session’s token on the next node', async () => {
    const { app, home, other } = await twoRegions();
    const held = deferred();
    home.script = (frame) => (frame.type === 'commit' ? held.promise : undefined);
    const write = app.set('c', 1);
    await home.until(() => home.received('commit').length === 1);
    const moved = statusOf(app, ({ region }) => region === other.region);
    home.push({ type: 'goaway', reason: 'restart', delayMs: 60_000 });
    await moved;
    held.resolve();
    const { timestamp } = await write;
    const [written] = home.answers('committed');
    expect(written).toMatchObject({ ts: timestamp, token: expect.any(String) as string });
    const isSent = () => other.received('ping').some(({ token }) => token === written?.token);
    await other.until(isSent);
  });
});

describe('a commit that is refused before it began', () => {
  it('a commit that is refused before it began has its home where it is sent next', async () => {
    const { app, home, other } = await twoRegions();
    home.script = (frame) => (frame.type === 'commit' ? refusal(frame.id, 'NOT_READY', true) : undefined);
    await app.set('c', 1);
    expect(home.received('commit').map(({ attemptRegions }) => attemptRegions)).toEqual([[home.region]]);
    expect(other.received('commit').map(({ attemptRegions }) => attemptRegions)).toEqual([[other.region]]);
  });

  it('a refused commit keeps its home where an earlier sending may have begun it', async () => {
    const { app, home, other } = await twoRegions();
    // It takes the commit, and cannot be reached any more.
    home.script = (frame) => (home.received('commit').length > 0 || frame.type === 'commit' ? 'close' : undefined);
    let refusals = 0;
    other.script = (frame) =>
      frame.type === 'commit' && refusals++ === 0 ? refusal(frame.id, 'NOT_READY', true) : undefined;
    await app.set('c', 1);
    expect(home.received('commit').map(({ attemptRegions }) => attemptRegions)).toEqual([[home.region]]);
    expect(other.received('commit').map(({ attemptRegions }) => attemptRegions)).toEqual([
      [home.region],
      [home.region],
    ]);
  });
});
