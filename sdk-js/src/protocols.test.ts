import { TRANSACTION_PROTOCOLS } from '@isochron/protocols';
import { connect } from '../src/index.js';
import { FakeStore } from '../testing/fake-server.js';
import { all, client, closeAll, codeOf, server } from '../testing/harness.js';

afterEach(closeAll);

const SNAPSHOTS = ['transactions', 'list', 'stable', 'snapshots', 'read-past'];
const CURE = { protocol: 'cure', capabilities: SNAPSHOTS };

/** A store whose snapshots are vectors of two entries. */
function vectors(deps: readonly number[] = [1000, 900]): FakeStore {
  const store = new FakeStore();
  store.deps = deps;
  return store;
}

describe('the protocol of the cluster', () => {
  it.each(Object.keys(TRANSACTION_PROTOCOLS))('the protocol %s has a session of its own', async (protocol) => {
    const app = await client([await server(undefined, { protocol, capabilities: SNAPSHOTS })]);
    await app.set('a', 1);
    expect(app.status.state).toBe('online');
  });

  it.each(['raft', 'toString', ''])('a protocol that this client does not support is refused: %j', async (protocol) => {
    const node = await server(undefined, { protocol });
    expect(await codeOf(client([node]))).toBe('NOT_SUPPORTED_BY_PROTOCOL');
  });

  it('the protocol does not change under a client: an endpoint that runs another one is not used', async () => {
    const store = new FakeStore();
    const west = await server(store, { region: 'oregon', protocol: 'bpr' });
    const east = await server(store, { regions: [{ id: 'oregon', endpoints: [west.url] }] });
    const app = await client([east], { requestTimeoutMs: 500 });
    await app.get('a');
    await east.close();
    expect(await codeOf(app.get('a'))).toBe('OFFLINE');
    expect(west.received('hello').length).toBeGreaterThan(0);
    expect(west.received('read')).toEqual([]);
  });
});

describe('a snapshot with more than a timestamp', () => {
  it('a snapshot with entries is asked for whole wherever the transaction goes on, and committed with', async () => {
    const store = vectors();
    const node = await server(store, CURE);
    const app = await client([node]);
    await app.transaction(async (tx) => {
      await tx.get('a');
      store.deps = [1500, 1500];
      node.cut();
      await tx.get('b');
      tx.set('c', 1);
    });
    expect(node.received('start').map(({ at, deps }) => [at, deps])).toEqual([
      [undefined, undefined],
      [1000, [1000, 900]],
    ]);
    // It is no longer open under its own name: the commit names what it depends on, the new welcome's entries too.
    expect(node.received('commit')).toMatchObject([{ snapshot: 1000, deps: [1500, 1500] }]);
  });

  it('a commit names what its session has written since its transaction began, also where that is open', async () => {
    const store = vectors();
    const node = await server(store, CURE);
    const app = await client([node]);
    let write: Promise<unknown> | undefined;
    const isOpen = new Promise<void>((resolve) => {
      setTimeout(() => {
        store.deps = [1000, 1600];
        write = app.set('b', 1);
        resolve();
      }, 50);
    });
    await app.transaction(async (tx) => {
      await tx.get('a');
      await isOpen;
      await write;
      tx.set('c', 1);
    });
    expect(node.received('commit').at(-1)).toMatchObject({ deps: [1000, 1600] });
  });

  it('a commit that was sent behind another one names, when it is sent again, what that one has depended on', async () => {
    const store = vectors();
    const node = await server(store, { ...CURE, capabilities: [...SNAPSHOTS, 'chained-commits'] });
    let isFirst = true;
    node.script = (frame) => {
      if (frame.type !== 'commit' || frame.after === undefined || !isFirst) return undefined;
      isFirst = false;
      return { type: 'error', id: frame.id, code: 'SESSION_BLOCKED', detail: 'not begun', retryable: true };
    };
    const app = await client([node]);
    await app.get('a');
    store.deps = [1000, 1600];
    await Promise.all([app.set('b', 1), app.set('c', 1)]);
    const sent = node.received('commit').map(({ deps, after }) => [after !== undefined, deps]);
    expect(sent).toEqual([
      [false, [1000, 900]],
      [true, [1000, 900]],
      [false, [1000, 1600]],
    ]);
  });

  it('two snapshots are the same only when every entry is', async () => {
    const store = vectors();
    const node = await server(store, CURE);
    const app = await client([node], { requestTimeoutMs: 200 });
    const snapshot = await app.snapshot();
    node.script = (frame) =>
      frame.type === 'read'
        ? { type: 'values', id: frame.id, snapshot: 1000, deps: [1000, 901], values: [null] }
        : undefined;
    expect(await codeOf(snapshot.get('a'))).toBe('SNAPSHOT_UNAVAILABLE');
  });

  it('a snapshot may be named by its timestamp alone, and is pinned by the entries of the first answer', async () => {
    const store = vectors();
    const node = await server(store, CURE);
    const app = await client([node]);
    const snapshot = await app.snapshot({ at: 700 });
    store.deps = [1, 1];
    expect(snapshot.timestamp).toBe(700);
    node.cut();
    await snapshot.get('a');
    expect(node.received('start').map(({ at, deps }) => [at, deps])).toEqual([
      [700, undefined],
      [700, [1000, 900]],
    ]);
  });

  it('one-shot writes carry a snapshot of all that the session has seen, with its own commits', async () => {
    const node = await server(vectors(), CURE);
    const app = await client([node]);
    const { timestamp } = await app.set('a', 1);
    await app.set('a', 2);
    expect(node.received('commit').map(({ snapshot, deps }) => [snapshot, deps])).toEqual([
      [1000, [1000, 900]],
      [timestamp, [1000, 900]],
    ]);
  });

  it('the frames of a session of PaRiS never have entries of a snapshot', async () => {
    const node = await server();
    const app = await client([node]);
    await app.transaction(async (tx) => {
      await tx.get('a');
      tx.set('a', 1);
    });
    await all(app.list());
    expect(JSON.stringify(node.frames)).not.toContain('deps');
    expect(Object.keys(app.session.export())).toEqual(['version', 'token', 'ust', 'hwt', 'writes']);
  });

  it.each([
    ['no list', 7],
    ['no timestamps', [1, -1]],
  ])('a snapshot that is %s is a damaged frame', async (_what, deps) => {
    const node = await server(vectors(), CURE);
    const app = await client([node], { requestTimeoutMs: 300 });
    node.script = (frame) =>
      frame.type === 'read'
        ? ({ type: 'values', id: frame.id, snapshot: 1000, deps, values: [null] } as never)
        : undefined;
    expect(await codeOf(app.get('a'))).toBe('FRAME_INVALID');
  });
});

describe('a session of another protocol than PaRiS', () => {
  it('a session of another protocol is exported with its protocol and state, and goes on where that runs', async () => {
    const store = vectors();
    const [east, west] = [await server(store, CURE), await server(store, { ...CURE, region: 'oregon' })];
    const exported = (await client([east])).session.export();
    expect(exported).toMatchObject({ protocol: 'cure', ust: 1000, deps: [1000, 900] });
    store.deps = [5, 5];
    const second = await client([west], { session: JSON.stringify(exported) });
    await second.set('a', 1);
    expect(west.received('commit')[0]).toMatchObject({ snapshot: 1000, deps: [1000, 900] });
  });

  it('a session is refused by a cluster of another protocol before any request is sent', async () => {
    const [cure, paris] = [await server(vectors(), CURE), await server()];
    const exported = (await client([cure])).session.export();
    const refused = await connect({ endpoints: [paris.url], session: exported }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'TOKEN_INVALID', message: expect.stringContaining('protocol cure') });
    const unnamed = { ...exported, protocol: undefined, deps: undefined };
    expect(await codeOf(client([cure], { session: JSON.stringify(unnamed) }))).toBe('TOKEN_INVALID');
    expect(paris.received('read')).toEqual([]);
  });

  it.each([
    ['a protocol that is no name', { protocol: 7 }],
    ['entries that are no list', { deps: 'x' }],
    ['entries that are no timestamps', { deps: [0.5] }],
  ])('a session of another protocol is damaged with %s', async (_what, fields) => {
    const node = await server(vectors(), CURE);
    const exported = (await client([node])).session.export();
    expect(await codeOf(client([node], { session: JSON.stringify({ ...exported, ...fields }) }))).toBe('TOKEN_INVALID');
  });

  it('a write counts as everywhere at the stable time, not at the state that the session has seen itself', async () => {
    const store = new FakeStore();
    const node = await server(store, { protocol: 'bpr', capabilities: SNAPSHOTS });
    const app = await client([node]);
    const write = await app.set('a', 1);
    expect(app.status.ust).toBe(write.timestamp);
    expect(await codeOf(write.stable({ timeoutMs: 5 }))).toBe('STABLE_TIMEOUT');
    store.stabilise();
    await write.stable();
    // The client has stored this by now.
    const asked = node.received('stable').length;
    await write.stable();
    expect(node.received('stable')).toHaveLength(asked);
  });

  it('a new session sends commits that are not older than the stable time of its node (D5)', async () => {
    const node = await server(new FakeStore(), { protocol: 'wren', capabilities: SNAPSHOTS });
    node.script = (frame) => (frame.type === 'hello' ? { ...node.welcomeFrame(), ust: 0, stable: 1000 } : undefined);
    const app = await client([node]);
    await app.set('a', 1);
    expect(node.received('commit')[0]).toMatchObject({ snapshot: 0, sentAfter: 1000 });
  });
});

describe('a protocol without snapshots', () => {
  const NOCC = { protocol: 'nocc', capabilities: ['transactions', 'list', 'stable'] };

  it('a client under a protocol without snapshots gives none', async () => {
    const app = await client([await server(undefined, NOCC)]);
    expect(await codeOf(app.snapshot())).toBe('NOT_SUPPORTED_BY_PROTOCOL');
  });

  it('transactions under a protocol without snapshots go on elsewhere without asking for one', async () => {
    const store = new FakeStore();
    const node = await server(store, NOCC);
    const app = await client([node]);
    await app.transaction(async (tx) => {
      await tx.get('a');
      store.seed('default/b', 'new');
      node.cut();
      expect(await tx.get('b')).toBe('new');
    });
    expect(node.received('start').map((frame) => 'at' in frame)).toEqual([false, false]);
  });
});
