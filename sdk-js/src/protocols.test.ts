import { TRANSACTION_PROTOCOLS } from '@isochron/protocols';
import type { TransactionName } from '@isochron/protocols/session-rules';
import { connect } from '../src/index.js';
import { all, client, closeAll, clusterOf, codeOf, server } from '../testing/harness.js';

afterEach(closeAll);

/** The highest of both, entry by entry. */
const highest = (a: readonly number[], b: readonly number[]) => a.map((entry, i) => Math.max(entry, b[i]!));
const cure = () => clusterOf({ protocol: 'cure' });

describe('the protocol of the cluster', () => {
  it.each(Object.keys(TRANSACTION_PROTOCOLS) as TransactionName[])(
    'the protocol %s has a session of its own',
    async (protocol) => {
      const app = await client([await server(clusterOf({ protocol }))]);
      await app.set('a', 1);
      expect(app.status.state).toBe('online');
    },
  );

  it.each(['raft', 'toString', ''])('a protocol that this client does not support is refused: %j', async (protocol) => {
    const node = await server();
    node.sends = (frame) => (frame.type === 'welcome' ? { ...frame, protocol } : frame);
    expect(await codeOf(client([node]))).toBe('NOT_SUPPORTED_BY_PROTOCOL');
  });

  it('the protocol does not change under a client: an endpoint that runs another one is not used', async () => {
    const cluster = clusterOf();
    const west = await server(cluster, { region: 'oregon' });
    west.sends = (frame) => (frame.type === 'welcome' ? { ...frame, protocol: 'bpr' } : frame);
    const east = await server(cluster, { regions: [{ id: 'oregon', endpoints: [west.url] }] });
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
    const cluster = cure();
    const node = await server(cluster);
    const app = await client([node]);
    let newer: readonly number[] | undefined;
    node.sends = (frame) => (frame.type === 'welcome' && newer ? { ...frame, deps: newer } : frame);
    await app.transaction(async (tx) => {
      await tx.get('a');
      newer = node.answers('started')[0]!.deps!.map((entry) => entry + 1);
      node.cut();
      await tx.get('b');
      tx.set('c', 1);
    });
    const { snapshot, deps } = node.answers('started')[0]!;
    expect(node.received('start').map(({ at, deps }) => [at, deps])).toEqual([
      [undefined, undefined],
      [snapshot, deps],
    ]);
    // It is no longer open under its own name: the commit names what it depends on, the new welcome's entries too.
    expect(node.received('commit')).toMatchObject([{ snapshot, deps: newer }]);
  });

  it('a commit names what its session has written since its transaction began, also where that is open', async () => {
    const cluster = cure();
    const node = await server(cluster);
    const app = await client([node]);
    const write = node.until(() => node.received('start').length === 1).then(() => app.set('b', 1));
    await app.transaction(async (tx) => {
      await tx.get('a');
      await write;
      tx.set('c', 1);
    });
    const [read, written] = [node.answers('started')[0]!.deps!, node.answers('committed')[0]!.deps!];
    expect(written[0]).toBeGreaterThan(read[0]!);
    expect(node.received('commit').at(-1)).toMatchObject({ deps: highest(read, written) });
  });

  it('a commit that was sent behind another one names, when it is sent again, what that one has depended on', async () => {
    const cluster = cure();
    const node = await server(cluster);
    let isFirst = true;
    node.script = (frame) => {
      if (frame.type !== 'commit' || frame.after === undefined || !isFirst) return undefined;
      isFirst = false;
      return { type: 'error', id: frame.id, code: 'SESSION_BLOCKED', detail: 'not begun', retryable: true };
    };
    const app = await client([node]);
    await app.get('a');
    await Promise.all([app.set('b', 1), app.set('c', 1)]);
    const sent = node.received('commit').map(({ deps, after }) => [after !== undefined, deps]);
    const [before, after] = [node.answers('values')[0]!.deps, node.answers('committed')[0]!.deps];
    expect(after).not.toEqual(before);
    expect(sent).toEqual([
      [false, before],
      [true, before],
      [false, after],
    ]);
  });

  it('two snapshots are the same only when every entry is', async () => {
    const cluster = cure();
    const node = await server(cluster);
    const app = await client([node], { requestTimeoutMs: 200 });
    const snapshot = await app.snapshot();
    const { snapshot: ts, deps: entries } = node.answers('started')[0]!;
    const deps = entries!.map((entry, i) => (i === 1 ? entry + 1 : entry));
    node.script = (frame) =>
      frame.type === 'read' ? { type: 'values', id: frame.id, snapshot: ts, deps, values: [null] } : undefined;
    expect(await codeOf(snapshot.get('a'))).toBe('SNAPSHOT_UNAVAILABLE');
  });

  it('a snapshot may be named by its timestamp alone, and is pinned by the entries of the first answer', async () => {
    const cluster = cure();
    const node = await server(cluster);
    const app = await client([node]);
    const at = cluster.ust - 1;
    const snapshot = await app.snapshot({ at });
    cluster.seed('default/x', 1);
    expect(snapshot.timestamp).toBe(at);
    node.cut();
    await snapshot.get('a');
    const { deps } = node.answers('started')[0]!;
    expect(deps).toHaveLength(3);
    expect(node.received('start').map((start) => [start.at, start.deps])).toEqual([
      [at, undefined],
      [at, deps],
    ]);
  });

  it('one-shot writes carry a snapshot of all that the session has seen, with its own commits', async () => {
    const node = await server(cure());
    const app = await client([node]);
    await app.get('a');
    const { snapshot: ust, deps } = node.answers('values')[0]!;
    const { timestamp } = await app.set('a', 1);
    await app.set('a', 2);
    expect(node.received('commit').map(({ snapshot, deps }) => [snapshot, deps])).toEqual([
      [ust, deps],
      [timestamp, highest(deps!, node.answers('committed')[0]!.deps!)],
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
    expect(Object.keys(app.session.export())).toEqual(['version', 'token', 'ust', 'hwt', 'writes', 'commits']);
  });

  it.each([
    ['no list', 7],
    ['no timestamps', [1, -1]],
  ])('a snapshot that is %s is a damaged frame', async (_what, deps) => {
    const node = await server(cure());
    const app = await client([node], { requestTimeoutMs: 300 });
    node.script = (frame) =>
      frame.type === 'read'
        ? ({ type: 'values', id: frame.id, snapshot: node.cluster.ust, deps, values: [null] } as never)
        : undefined;
    expect(await codeOf(app.get('a'))).toBe('FRAME_INVALID');
  });
});

describe('a session of another protocol than PaRiS', () => {
  it('a session of another protocol is exported with its protocol and state, and goes on where that runs', async () => {
    const cluster = cure();
    const [east, west] = [await server(cluster), await server(cluster, { region: 'oregon' })];
    cluster.write({ 'default/x': '1' });
    cluster.stabilise('virginia');
    const first = await client([east]);
    await first.get('a');
    const exported = first.session.export();
    const { snapshot, deps } = east.answers('values')[0]!;
    expect(deps).toHaveLength(3);
    expect(exported).toMatchObject({ protocol: 'cure', ust: snapshot, deps });
    const second = await client([west], { session: JSON.stringify(exported) });
    await second.set('a', 1);
    expect(west.received('commit')[0]).toMatchObject({ snapshot, deps });
  });

  it('a session is refused by a cluster of another protocol before any request is sent', async () => {
    const cluster = cure();
    const [node, paris, lenient] = [await server(cluster), await server(), await server(cluster)];
    // The node takes the session's token: the client finds the protocol in the welcome.
    lenient.sends = (frame) => (frame.type === 'welcome' ? { ...frame, protocol: 'paris' } : frame);
    const exported = (await client([node])).session.export();
    for (const { url } of [paris, lenient]) {
      const refused = await connect({ endpoints: [url], session: exported }).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: 'TOKEN_INVALID', message: expect.stringContaining('protocol cure') });
    }
    expect([paris, lenient].map((one) => one.answers('welcome').length)).toEqual([0, 1]);
    const unnamed = { ...exported, protocol: undefined, deps: undefined };
    expect(await codeOf(client([node], { session: JSON.stringify(unnamed) }))).toBe('TOKEN_INVALID');
    expect([...paris.received('read'), ...lenient.received('read')]).toEqual([]);
  });

  it.each([
    ['a protocol that is no name', { protocol: 7 }],
    ['entries that are no list', { deps: 'x' }],
    ['entries that are no timestamps', { deps: [0.5] }],
  ])('a session of another protocol is damaged with %s', async (_what, fields) => {
    const node = await server(cure());
    const exported = (await client([node])).session.export();
    expect(await codeOf(client([node], { session: JSON.stringify({ ...exported, ...fields }) }))).toBe('TOKEN_INVALID');
  });

  it('a write counts as everywhere at the stable time, not at the state that the session has seen itself', async () => {
    const cluster = clusterOf({ protocol: 'bpr' });
    const node = await server(cluster);
    const app = await client([node]);
    const write = await app.set('a', 1);
    expect(app.status.ust).toBe(write.timestamp);
    expect(await codeOf(write.stable({ timeoutMs: 5 }))).toBe('STABLE_TIMEOUT');
    cluster.stabiliseEverywhere();
    await write.stable();
    // The client has stored this by now.
    const asked = node.received('stable').length;
    await write.stable();
    expect(node.received('stable')).toHaveLength(asked);
  });

  it('a new session sends commits that are not older than the stable time of its node (D5)', async () => {
    const node = await server(clusterOf({ protocol: 'wren' }));
    const stable = node.cluster.ust;
    node.sends = (frame) => (frame.type === 'welcome' ? { ...frame, ust: 0, stable } : frame);
    const app = await client([node]);
    await app.set('a', 1);
    expect(node.received('commit')[0]).toMatchObject({ snapshot: 0, sentAfter: stable });
  });
});

describe('a protocol without snapshots', () => {
  const nocc = () => clusterOf({ protocol: 'nocc' });

  it('a client under a protocol without snapshots gives none', async () => {
    const app = await client([await server(nocc())]);
    expect(await codeOf(app.snapshot())).toBe('NOT_SUPPORTED_BY_PROTOCOL');
  });

  it('transactions under a protocol without snapshots go on elsewhere without asking for one', async () => {
    const cluster = nocc();
    const node = await server(cluster);
    const app = await client([node]);
    await app.transaction(async (tx) => {
      await tx.get('a');
      cluster.seed('default/b', 'new');
      node.cut();
      expect(await tx.get('b')).toBe('new');
    });
    expect(node.received('start').map((frame) => 'at' in frame)).toEqual([false, false]);
  });
});
