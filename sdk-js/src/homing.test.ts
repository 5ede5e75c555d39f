import { client, closeAll, clusterOf, deferred, refusal, server, statusOf, tokenOf } from '../testing/harness.js';
import type { MemoryServer } from '../testing/memory-server.js';

afterEach(closeAll);

/** Delay of answers to pings, in ms: the distance of a server. */
const FAR_MS = 40;
const nearAndDistant = () => clusterOf({ regions: ['near', 'distant'] });
const far = (node: MemoryServer): void => {
  node.script = (frame) => {
    if (frame.type !== 'ping') return undefined;
    const { promise, resolve } = deferred();
    setTimeout(resolve, FAR_MS);
    return promise;
  };
};

/** A client that left `near` when that went away, and is at `distant` now. */
async function awayFromHome(options: Parameters<typeof client>[1] = {}) {
  const cluster = nearAndDistant();
  cluster.seed('default/a', 1);
  const [near, distant] = [await server(cluster, { region: 'near' }), await server(cluster, { region: 'distant' })];
  far(distant);
  const app = await client([near, distant], { returnAfterMs: 20, ...options });
  expect(app.status.region).toBe('near');
  await near.close();
  await statusOf(app, ({ region }) => region === 'distant');
  return { cluster, near, distant, app, back: () => server(cluster, { region: 'near', port: near.port }) };
}

describe('after a failover', () => {
  it('after a failover the client goes back to the nearest endpoint once that is there again', async () => {
    const { app, distant, back } = await awayFromHome();
    expect(await app.get('a')).toBe(1);
    const near = await back();
    await statusOf(app, ({ region }) => region === 'near');
    expect(await app.get('a')).toBe(1);
    expect(near.received('read').length).toBe(1);
    expect(near.received('hello')[0]?.token).toBe(tokenOf(distant));
    await distant.until(() => distant.connections === 0);
  });

  it('a return to the nearest endpoint takes open transactions and commits under way along', async () => {
    const { cluster, app, distant, back } = await awayFromHome();
    const { result, write } = await app.transaction(async (tx) => {
      const before = await tx.get('a');
      await back();
      await statusOf(app, ({ region }) => region === 'near');
      cluster.seed('default/a', 2);
      const after = await tx.get('a');
      tx.set('b', 1);
      return [before, after, await tx.get('c')];
    });
    expect(result).toEqual([1, 1, undefined]);
    expect(cluster.outcomes.has(write!.txId)).toBe(true);
    expect(distant.received('commit')).toEqual([]);
  });

  it('the client does not go back to a node that is not ready, or has not caught up', async () => {
    const { cluster, app, back } = await awayFromHome();
    const near = await back();
    let ready = false;
    near.script = (frame) => (frame.type === 'hello' && !ready ? refusal(undefined, 'NOT_READY', true) : undefined);
    await near.until(() => near.received('hello').length >= 2);
    // It serves again, and its stable time is still the one before it went away.
    near.aged = { stalenessMs: 60_000 };
    ready = true;
    const hellos = near.received('hello').length;
    await near.until(() => near.received('hello').length >= hellos + 2);
    expect(app.status.region).toBe('distant');
    expect(near.received('ping')).toEqual([]);
    near.aged = {};
    await statusOf(app, ({ region }) => region === 'near');
    expect(cluster.outcomes.size).toBe(1);
  });

  it('the client does not go back to a region that stable time waits for: it may be cut off from the others', async () => {
    const { cluster, app, distant, back } = await awayFromHome();
    distant.push({
      type: 'ust',
      ust: cluster.ust,
      freshness: {
        ...distant.freshness(),
        stale: true,
        heldBackBy: { region: 'near', node: null, partition: null },
      },
    });
    await statusOf(app, ({ stale }) => stale);
    const near = await back();
    await near.until(() => near.received('hello').length >= 2);
    expect([app.status.region, near.received('ping')]).toEqual(['distant', []]);
    distant.push({ type: 'ust', ust: cluster.ust + 1, freshness: distant.freshness() });
    await statusOf(app, ({ region }) => region === 'near');
  });

  it('the client stays at its present endpoint after a failover when it is configured to', async () => {
    const cluster = nearAndDistant();
    const [near, distant] = [await server(cluster, { region: 'near' }), await server(cluster, { region: 'distant' })];
    far(distant);
    const app = await client([near, distant], { returnAfterMs: Number.POSITIVE_INFINITY });
    near.push({ type: 'goaway', reason: 'a moment', delayMs: 0 });
    await statusOf(app, ({ region }) => region === 'distant');
    for (let i = 0; i < 20; i++) await app.get(`k${i}`);
    expect(near.received('hello').length).toBe(1);
  });
});

describe('a client that is at home', () => {
  it('a client that is at home opens no connection to the other endpoints', async () => {
    const cluster = nearAndDistant();
    const [near, distant] = [await server(cluster, { region: 'near' }), await server(cluster, { region: 'distant' })];
    far(distant);
    const app = await client([near, distant], { returnAfterMs: 5 });
    expect(app.status.region).toBe('near');
    for (let i = 0; i < 20; i++) await app.get(`k${i}`);
    expect(distant.received('hello').length).toBe(1);
    expect(distant.connections).toBe(0);
  });

  it('a client that is at home measures one that is back, and stays where it is when that is farther away', async () => {
    const cluster = nearAndDistant();
    const [near, gone] = [await server(cluster, { region: 'near' }), await server(cluster, { region: 'distant' })];
    await gone.close();
    const app = await client([near, gone], { returnAfterMs: 5 });
    const distant = await server(cluster, { region: 'distant', port: gone.port });
    far(distant);
    await distant.until(() => distant.received('ping').length >= 2 && distant.connections === 0);
    expect(app.status.region).toBe('near');
  });

  it('a client that is at home does not go to endpoints that it was not given, however near they are', async () => {
    const cluster = nearAndDistant();
    const learned = await server(cluster, { region: 'near' });
    const given = await server(cluster, { region: 'distant', regions: [{ id: 'near', endpoints: [learned.url] }] });
    far(given);
    const gone = await server(cluster, { region: 'distant' });
    await gone.close();
    const app = await client([given, gone], { returnAfterMs: 5 });
    // The client searches only the given endpoints.
    const back = await server(cluster, { region: 'distant', port: gone.port });
    far(back);
    await back.until(() => back.received('ping').length >= 2 && back.connections === 0);
    expect(learned.received('hello')).toEqual([]);
    expect(app.status.region).toBe('distant');
  });
});

describe('a client that is closed while it looks around', () => {
  it('a client that is closed while it measures other endpoints changes its connection no more', async () => {
    const { app, distant, back } = await awayFromHome();
    const near = await back();
    const hello = deferred();
    near.script = (frame) => (frame.type === 'hello' ? hello.promise : undefined);
    await near.until(() => near.received('hello').length === 1);
    await app.close();
    hello.resolve();
    await near.until(() => near.connections === 0);
    await distant.until(() => distant.connections === 0);
    expect(app.status.state).toBe('closed');
  });
});

describe('the next endpoint to try', () => {
  it('the next endpoint to try is another node of the same region, before one of another region that was measured', async () => {
    const cluster = nearAndDistant();
    const neighbour = await server(cluster, { region: 'near', node: 'near-2' });
    const near = await server(cluster, { region: 'near', regions: [{ id: 'near', endpoints: [neighbour.url] }] });
    const distant = await server(cluster, { region: 'distant' });
    far(distant);
    const app = await client([near, distant]);
    expect(app.status.node).toBe('near-1');
    await near.close();
    await statusOf(app, ({ state, node }) => state === 'online' && node !== 'near-1');
    expect(app.status.node).toBe('near-2');
  });
});
