import {
  all,
  client,
  closeAll,
  clusterOf,
  codeOf,
  deferred,
  PATCHES_READ,
  server,
  UNCHAINED,
} from '../testing/harness.js';
import type { MergePatch, Transaction } from './index.js';

afterEach(closeAll);

describe('a transaction', () => {
  it('a transaction starts with its first read, in the same message, and commits in the second round trip', async () => {
    const node = await server();
    node.cluster.seed('default/a', 1);
    const app = await client([node]);
    await node.until(() => node.received('ping').length === 1);
    const before = node.packing.length;
    const { result, write } = await app.transaction(async (tx) => {
      const [a, b] = await tx.getMany<number>(['a', 'b']);
      tx.set('b', (a ?? 0) + 1);
      return b;
    });
    expect(result).toBeUndefined();
    expect(write?.timestamp).toBe(node.cluster.clock);
    expect(node.packing.slice(before)).toEqual([2, 1]);
    expect(node.frames.slice(-3).map(({ type }) => type)).toEqual(['start', 'read', 'commit']);
    // It is open there, so the commit ends it and names no snapshot.
    expect(node.received('commit')[0]?.snapshot).toBeUndefined();
    expect(node.openTransactions).toBe(0);
  });

  it('a transaction needs no start and one round trip when it only writes', async () => {
    const node = await server();
    const app = await client([node]);
    const { write } = await app.transaction((tx) => {
      tx.set('a', 1);
      tx.keyspace('eu').set('b', 2);
      tx.collection('todos').delete('c');
    });
    expect(write?.txId).toBe(node.received('commit')[0]?.tx);
    expect(node.received('commit')[0]?.writes.map(({ key }) => key)).toEqual(['default/a', 'eu/b', 'default/todos/c']);
    expect(node.received('commit')[0]).toMatchObject({
      snapshot: node.cluster.ust,
      sentAfter: node.cluster.ust,
      hwt: 0,
      attemptRegions: ['virginia'],
    });
    expect(node.received('start')).toEqual([]);
  });

  it('a transaction reads repeatably, absent keys too, while others write', async () => {
    const node = await server();
    node.cluster.seed('default/a', 'old');
    const app = await client([node]);
    await app.transaction(async (tx) => {
      const first = await tx.getMany(['a', 'none']);
      node.cluster.seed('default/a', 'new');
      node.cluster.seed('default/none', 'new');
      expect(await tx.getMany(['a', 'none'])).toEqual(first);
      expect(await tx.get('b')).toBeUndefined();
    });
    expect(await app.get('a')).toBe('new');
  });

  it('a transaction sees the write cache as it was at its start (P7)', async () => {
    const node = await server();
    const app = await client([node]);
    await app.set('a', 'before');
    const begun = deferred();
    const written = begun.promise.then(async () => {
      await app.set('a', 'during');
      await app.set('b', 'during');
    });
    await app.transaction(async (tx) => {
      expect(await tx.get('x')).toBeUndefined();
      begun.resolve();
      await written;
      expect(await tx.getMany(['a', 'b'])).toEqual(['before', undefined]);
    });
    expect(await app.getMany(['a', 'b'])).toEqual(['during', 'during']);
  });

  it('a transaction reads and lists its own writes without asking the server for them', async () => {
    const node = await server();
    node.cluster.seed('default/k/1', 'one');
    const app = await client([node]);
    await app.transaction(async (tx) => {
      const k = tx.collection<string>('k');
      k.set('2', 'two');
      k.delete('1');
      expect(await k.getMany(['1', '2'])).toEqual([undefined, 'two']);
      expect(node.received('read')).toEqual([]);
      expect(await all(k.list())).toEqual([{ key: '2', value: 'two' }]);
    });
    expect(await app.collection('k').get('1')).toBeUndefined();
  });

  it('a transaction is aborted when its function throws, and nothing is written', async () => {
    const node = await server();
    const app = await client([node]);
    const broken = app.transaction(async (tx) => {
      await tx.get('a');
      tx.set('a', 1);
      throw new RangeError('mine');
    });
    await expect(broken).rejects.toThrow(RangeError);
    await node.until(() => node.received('abort').length === 1 && node.openTransactions === 0);
    expect(node.received('commit')).toEqual([]);
    expect(await app.get('a')).toBeUndefined();
  });

  it('a transaction runs its function exactly once, whatever has to be repeated', async () => {
    const node = await server();
    const app = await client([node]);
    let [runs, cut] = [0, false];
    node.script = (frame) => {
      if (frame.type !== 'commit' || cut) return undefined;
      cut = true;
      return 'apply-and-close';
    };
    await app.transaction(async (tx) => {
      runs++;
      await tx.get('a');
      tx.set('a', runs);
    });
    expect(runs).toBe(1);
    expect(node.received('commit').length).toBe(2);
  });

  it('a transaction cannot be used once it has ended', async () => {
    const app = await client([await server()]);
    let leaked: Transaction | undefined;
    await app.transaction((tx) => {
      leaked = tx;
    });
    expect(() => leaked?.set('a', 1)).toThrow(expect.objectContaining({ code: 'TRANSACTION_FINISHED' }));
    expect(await codeOf(leaked!.get('a'))).toBe('TRANSACTION_FINISHED');
  });

  it('a transaction waits for an update that its function did not await, and fails with it', async () => {
    const node = await server(undefined, PATCHES_READ);
    node.cluster.seed('default/a', { n: 1, m: 1 });
    const app = await client([node]);
    await app.transaction((tx) => {
      void tx.update('a', { n: 2 });
    });
    expect(await app.get('a')).toEqual({ n: 2, m: 1 });
    const failing = app.transaction((tx) => {
      tx.set('b', 1);
      const noJson: unknown = { n: 1n };
      tx.update('a', noJson as MergePatch<unknown>).catch(() => undefined);
    });
    expect(await codeOf(failing)).toBe('VALUE_INVALID');
    expect(await app.get('b')).toBeUndefined();
  });

  it('a transaction goes on at another endpoint in the same snapshot when its connection is lost (D8)', async () => {
    const cluster = clusterOf();
    cluster.seed('default/a', 'old');
    const [east, west] = [await server(cluster), await server(cluster, { region: 'oregon' })];
    const roaming = await client([east, west]);
    const [home, other] = roaming.status.region === 'virginia' ? [east, west] : [west, east];
    let snapshot: number | undefined;
    const { write } = await roaming.transaction(async (tx) => {
      expect(await tx.get('a')).toBe('old');
      const { timestamp } = tx;
      snapshot = timestamp;
      cluster.seed('default/a', 'new');
      cluster.seed('default/b', 'new');
      await home.close();
      expect(await tx.getMany(['a', 'b'])).toEqual(['old', undefined]);
      expect(tx.timestamp).toBe(timestamp);
      expect(other.received('start')[0]?.at).toBe(timestamp);
      // A new name on the server, so that the first opening is never found.
      expect(other.received('start')[0]?.tx).not.toBe(home.received('start')[0]?.tx);
      tx.set('c', 1);
    });
    expect(roaming.status.region).toBe(other.region);
    expect(other.received('commit')[0]).toMatchObject({ attemptRegions: [other.region], snapshot });
    expect(await roaming.get('a')).toBe('new');
    expect(write?.timestamp).toBe(cluster.clock);
    await other.until(() => other.openTransactions === 0);
  });

  it("a transaction throws the server's TRANSACTION_EXPIRED and TRANSACTION_ABORTED", async () => {
    const node = await server();
    const app = await client([node]);
    const errors = { read: 'TRANSACTION_EXPIRED', commit: 'TRANSACTION_ABORTED' } as const;
    node.script = (frame) =>
      frame.type === 'read' || frame.type === 'commit'
        ? { type: 'error', id: frame.id, code: errors[frame.type], detail: '', retryable: false }
        : undefined;
    expect(await codeOf(app.transaction((tx) => tx.get('a')))).toBe('TRANSACTION_EXPIRED');
    expect(await codeOf(app.set('a', 1))).toBe('TRANSACTION_ABORTED');
    node.script = () => undefined;
    expect(await app.get('a')).toBeUndefined();
    await app.set('a', 2);
  });

  it('a transaction reads the past exactly, without the own writes that lie above', async () => {
    const node = await server();
    const app = await client([node]);
    const first = await app.set('a', 1);
    await app.set('a', 2);
    node.cluster.stabilise();
    await app.get('a');
    const { result } = await app.transaction((tx) => tx.get('a'), { at: first.timestamp });
    expect(result).toBe(1);
    expect(await app.get('a')).toBe(2);
  });

  it('a transaction ends when its signal fires, and nothing is written', async () => {
    const node = await server();
    const app = await client([node]);
    const controller = new AbortController();
    node.script = (frame) => (frame.type === 'read' ? 'drop' : undefined);
    const reading = app.transaction(
      async (tx) => {
        tx.set('a', 1);
        await tx.get('b');
      },
      { signal: controller.signal },
    );
    await node.until(() => node.received('read').length === 1);
    controller.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    expect(node.received('commit')).toEqual([]);
  });
});

describe('a snapshot', () => {
  it('a snapshot answers every read from one timestamp, until it is closed', async () => {
    const node = await server();
    node.cluster.seed('default/a', 1);
    const app = await client([node]);
    await app.set('own', 'cached');
    const snapshot = await app.snapshot();
    expect(snapshot.timestamp).toBe(node.cluster.ust);
    node.cluster.seed('default/a', 2);
    expect(await snapshot.getMany(['a', 'own'])).toEqual([1, 'cached']);
    expect((await all(snapshot.list())).map(({ key }) => key)).toEqual(['a', 'own']);
    expect(await snapshot.collection('x').get('y')).toBeUndefined();
    expect(node.received('start').length).toBe(1);
    await snapshot.close();
    expect(await codeOf(snapshot.get('a'))).toBe('TRANSACTION_FINISHED');
    await node.until(() => node.openTransactions === 0);
  });

  it('a snapshot is the same in another region at the same timestamp', async () => {
    const cluster = clusterOf();
    const [east, west] = [await server(cluster), await server(cluster, { region: 'oregon' })];
    const [writer, reader] = [await client([east]), await client([west])];
    const { timestamp } = await writer.set('a', 1);
    cluster.stabilise();
    cluster.seed('default/a', 2);
    for (const app of [writer, reader]) {
      const snapshot = await app.snapshot({ at: timestamp });
      expect(await snapshot.get('a')).toBe(1);
    }
  });

  it('a snapshot opens again, at the same timestamp, when the server let it expire', async () => {
    const node = await server();
    node.cluster.seed('default/a', 1);
    const app = await client([node]);
    const snapshot = await app.snapshot();
    node.cluster.seed('default/a', 2);
    let expired = false;
    node.script = (frame) => {
      if (frame.type !== 'read' || expired) return undefined;
      expired = true;
      return { type: 'error', id: frame.id, code: 'TRANSACTION_EXPIRED', detail: '', retryable: false };
    };
    expect(await snapshot.get('a')).toBe(1);
    expect(node.received('start').map(({ at }) => at)).toEqual([undefined, snapshot.timestamp]);
  });

  it('a snapshot rejects with the refusal of its start', async () => {
    const node = await server();
    const app = await client([node]);
    node.script = (frame) =>
      frame.type === 'start'
        ? { type: 'error', id: frame.id, code: 'SNAPSHOT_TOO_OLD', detail: '', retryable: false }
        : undefined;
    expect(await codeOf(app.snapshot({ at: 1 }))).toBe('SNAPSHOT_TOO_OLD');
    expect(await codeOf(app.transaction((tx) => tx.get('a'), { at: 1 }))).toBe('SNAPSHOT_TOO_OLD');
  });
});

describe('cancellation', () => {
  it('cancellation takes back a commit that waits for its turn, but not one that was sent', async () => {
    const node = await server(undefined, UNCHAINED);
    const app = await client([node]);
    const held = deferred();
    node.script = (frame) => (frame.type === 'commit' ? held.promise : undefined);
    const [sent, queued] = [new AbortController(), new AbortController()];
    const first = app.set('a', 1, { signal: sent.signal });
    const second = app.set('b', 1, { signal: queued.signal });
    await node.until(() => node.received('commit').length === 1);
    queued.abort();
    await expect(second).rejects.toMatchObject({ name: 'AbortError' });
    sent.abort();
    await expect(first).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', txId: node.received('commit')[0]?.tx });
    held.resolve();
    // The outcome is received all the same, and later commits follow it.
    await app.set('c', 1);
    expect(await app.getMany(['a', 'b'])).toEqual([1, undefined]);
  });
});
