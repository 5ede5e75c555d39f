import { client, closeAll, clusterOf, codeOf, deferred, type Reaction, server, UNCHAINED } from '../testing/harness.js';
import { isIsochronError, OutcomeUnknownError } from './index.js';

afterEach(closeAll);

/** Does something to the first frame of a type, and nothing to the others. */
const once = (type: string, scripted: Reaction) => {
  let done = false;
  return (frame: { type: string }): Reaction => {
    if (frame.type !== type || done) return undefined;
    done = true;
    return scripted;
  };
};

describe('a commit whose answer is lost', () => {
  it('a commit without an answer is sent again under the same id with every field unchanged, and happens once', async () => {
    const node = await server();
    node.script = once('commit', 'apply-and-close');
    const app = await client([node]);
    const write = await app.set('a', 1);
    const [first, second] = node.received('commit');
    expect({ ...second, id: 0 }).toEqual({ ...first, id: 0 });
    expect(node.cluster.outcomes.size).toBe(1);
    node.cluster.stabilise();
    expect(node.cluster.versionsOf('default/a')).toHaveLength(1);
    expect(write).toMatchObject({ timestamp: node.cluster.clock, txId: first?.tx });
    expect(app.session.export().hwt).toBe(node.cluster.clock);
  });

  it('a repeated commit keeps its attemptRegions and sentAfter when another region is asked', async () => {
    const cluster = clusterOf();
    cluster.write({ 'default/b': '1' });
    const { ust } = cluster;
    const [east, west] = [await server(cluster), await server(cluster, { region: 'oregon' })];
    const app = await client([east, west]);
    const [home, other] = app.status.region === 'virginia' ? [east, west] : [west, east];
    home.script = (frame) => {
      if (frame.type !== 'commit') return undefined;
      cluster.stabilise();
      return 'apply-and-close';
    };
    await app.transaction(async (tx) => {
      await tx.get('a');
      tx.set('a', 1);
    });
    const [first, second] = [home.received('commit')[0], other.received('commit')[0]];
    expect(second).toMatchObject({
      tx: first?.tx,
      attemptRegions: [home.region],
      sentAfter: first?.sentAfter,
      hwt: first?.hwt,
    });
    // The transaction is not open there: the retry carries the snapshot.
    expect(second?.snapshot).toBe(ust);
    expect(cluster.ust).toBeGreaterThan(ust);
    expect([...cluster.outcomes.keys()].filter((tx) => !tx.startsWith('other'))).toEqual([first?.tx]);
  });

  it('a commit is sent again when the answer does not come in time', async () => {
    const node = await server();
    node.script = once('commit', 'apply-and-drop');
    const app = await client([node], { requestTimeoutMs: 40 });
    await app.set('a', 1);
    expect(new Set(node.received('commit').map(({ tx }) => tx)).size).toBe(1);
    expect(node.received('commit').length).toBe(2);
  });

  it('a commit is OUTCOME_UNKNOWN after its deadline, and is resolved in the background before any later commit is sent', async () => {
    const node = await server(undefined, UNCHAINED);
    node.script = (frame) => (frame.type === 'commit' ? 'drop' : undefined);
    const app = await client([node], { requestTimeoutMs: 100, commitTimeoutMs: 400 });
    const error: unknown = await app.set('a', 1).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(isIsochronError(error, 'OUTCOME_UNKNOWN')).toBe(true);
    const { txId } = error as OutcomeUnknownError;
    expect(await codeOf(app.set('b', 1))).toBe('SESSION_BLOCKED');
    expect(new Set(node.received('commit').map(({ tx }) => tx))).toEqual(new Set([txId]));
    node.script = () => undefined;
    await node.until(() => node.cluster.outcomes.has(txId));
    await app.set('c', 1);
    expect(await app.getMany(['a', 'b', 'c'])).toEqual([1, undefined, 1]);
  });

  it('a commit stays undecided when the cluster refuses the client before the outcome is known', async () => {
    const node = await server();
    let hellos = 0;
    node.script = (frame) => {
      if (frame.type === 'commit') return 'apply-and-close';
      if (frame.type !== 'hello' || ++hellos < 2) return undefined;
      return { type: 'error', code: 'UNAUTHENTICATED', detail: 'revoked', retryable: false };
    };
    const app = await client([node]);
    expect(await codeOf(app.set('a', 1))).toBe('OUTCOME_UNKNOWN');
    expect(await codeOf(app.get('a'))).toBe('UNAUTHENTICATED');
  });
});

describe('refused commits', () => {
  it('waiting commits end one after the other, however many they are, when the cluster refuses the client', async () => {
    const node = await server();
    let hellos = 0;
    node.script = (frame) => {
      if (frame.type === 'read') return 'close';
      if (frame.type !== 'hello' || ++hellos < 2) return undefined;
      return { type: 'error', code: 'UNAUTHENTICATED', detail: 'revoked', retryable: false };
    };
    const app = await client([node]);
    expect(await codeOf(app.get('a'))).toBe('UNAUTHENTICATED');
    const codes = await Promise.all(['a', 'b', 'c'].map((key) => codeOf(app.set(key, 1))));
    expect(codes).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED', 'UNAUTHENTICATED']);
    expect(node.received('commit')).toEqual([]);
  });

  it('refused commits move home when the outcome is pending and the connection has moved to another region', async () => {
    const cluster = clusterOf();
    const [east, west] = [await server(cluster), await server(cluster, { region: 'oregon' })];
    const app = await client([east, west]);
    const [home, other] = app.status.region === 'virginia' ? [east, west] : [west, east];
    home.script = (frame) => (frame.type === 'commit' ? 'close' : undefined);
    other.script = (frame) =>
      frame.type === 'commit' && frame.attemptRegions.length < 2
        ? { type: 'error', id: frame.id, code: 'OUTCOME_PENDING', detail: '', retryable: true }
        : undefined;
    await app.set('a', 1);
    expect(other.received('commit').map(({ attemptRegions }) => attemptRegions.length)).toEqual([1, 2]);
    expect(other.received('commit').at(-1)?.attemptRegions).toEqual([home.region, other.region]);
    expect(new Set(other.received('commit').map(({ tx }) => tx)).size).toBe(1);
  });

  it('commits are sent to another region when the home region does not decide: it may be cut off', async () => {
    const cluster = clusterOf();
    const [neighbour, other] = [
      await server(cluster, { node: 'virginia-2' }),
      await server(cluster, { region: 'oregon' }),
    ];
    const regions = [
      { id: 'virginia', endpoints: [neighbour.url] },
      { id: 'oregon', endpoints: [other.url] },
    ];
    const home = await server(cluster, { regions });
    const app = await client([home]);
    home.script = (frame) =>
      frame.type === 'commit'
        ? { type: 'error', id: frame.id, code: 'OUTCOME_PENDING', detail: '', retryable: true }
        : undefined;
    await app.set('a', 1);
    expect(home.received('commit').map(({ attemptRegions }) => attemptRegions)).toEqual([[home.region]]);
    // The same commit, under the same home: its cohorts can be reached from there.
    expect(other.received('commit').map(({ attemptRegions }) => attemptRegions)).toEqual([[home.region]]);
    expect(neighbour.received('commit')).toEqual([]);
  });

  it('refused commits are tried again under the same id when a cohort has aborted the attempt', async () => {
    const node = await server();
    const app = await client([node]);
    node.script = (frame) =>
      frame.type === 'commit' && frame.attemptRegions.length < 3
        ? { type: 'error', id: frame.id, code: 'TRANSACTION_ABORTED', detail: '', retryable: false }
        : undefined;
    const { txId } = await app.set('a', 1);
    expect(node.received('commit').map(({ tx, attemptRegions }) => [tx, attemptRegions.length])).toEqual(
      [1, 2, 3].map((n) => [txId, n]),
    );
  });

  it.each(['OVERLOADED', 'STORAGE_FULL', 'CLOCK_DRIFT'])(
    'refused commits are retried as new attempts for a while, and then fail with the code of the refusal: %s',
    async (code) => {
      const node = await server();
      const app = await client([node]);
      let refusals = 2;
      node.script = (frame) =>
        frame.type === 'commit' && refusals-- > 0
          ? { type: 'error', id: frame.id, code, detail: 'why', retryable: true }
          : undefined;
      await app.set('a', 1);
      expect(node.received('commit').map(({ attemptRegions }) => attemptRegions.length)).toEqual([1, 2, 3]);
      refusals = Number.POSITIVE_INFINITY;
      // A cohort has durably decided: the next commit need not wait.
      expect(await codeOf(app.set('a', 2))).toBe(code);
      refusals = 0;
      await app.set('a', 3);
      expect(await app.get('a')).toBe(3);
    },
  );

  it('refused commits stay at home while the connection is there', async () => {
    const node = await server();
    let answers = 0;
    node.script = (frame) =>
      frame.type === 'commit' && ++answers < 6
        ? { type: 'error', id: frame.id, code: 'OUTCOME_PENDING', detail: '', retryable: true }
        : undefined;
    const app = await client([node]);
    await app.set('a', 1);
    expect(node.received('commit').every(({ attemptRegions }) => attemptRegions.length === 1)).toBe(true);
  });

  it('commits with their snapshot succeed after the server has dropped the open transaction', async () => {
    const node = await server();
    const { ust } = node.cluster;
    const app = await client([node]);
    node.script = (frame) =>
      frame.type === 'commit' && frame.snapshot === undefined
        ? { type: 'error', id: frame.id, code: 'TRANSACTION_UNKNOWN', detail: '', retryable: false }
        : undefined;
    await app.transaction(async (tx) => tx.set('a', (await tx.get('a')) ?? 1));
    expect(node.received('commit').map(({ snapshot }) => snapshot)).toEqual([undefined, ust]);
  });

  it('refused commits throw the definite code, also one that a newer node has', async () => {
    const node = await server();
    const app = await client([node]);
    for (const code of ['KEYSPACE_UNKNOWN', 'FROM_THE_FUTURE']) {
      node.script = (frame) =>
        frame.type === 'commit' ? { type: 'error', id: frame.id, code, detail: 'why', retryable: false } : undefined;
      await expect(app.set('a', 1)).rejects.toMatchObject({ code, message: 'why' });
    }
    node.script = () => undefined;
    await app.set('a', 1);
  });
});

describe('reads', () => {
  it('reads are repeated on another endpoint when their connection is lost', async () => {
    const cluster = clusterOf();
    cluster.seed('default/a', 1);
    const [east, west] = [await server(cluster), await server(cluster, { region: 'oregon' })];
    const app = await client([east, west]);
    const [home, other] = app.status.region === 'virginia' ? [east, west] : [west, east];
    home.script = (frame) => (frame.type === 'read' ? 'close' : undefined);
    expect(await app.get('a')).toBe(1);
    expect(other.received('read').length).toBe(1);
  });

  it('reads are repeated after a retryable refusal, and fail with a definite one', async () => {
    const node = await server();
    node.cluster.seed('default/a', 1);
    const app = await client([node]);
    let refusals = 0;
    node.script = (frame) =>
      frame.type === 'read' && refusals++ < 4
        ? { type: 'error', id: frame.id, code: 'REPLICA_UNREACHABLE', detail: '', retryable: true }
        : undefined;
    expect(await app.get('a')).toBe(1);
    node.script = (frame) =>
      frame.type === 'read'
        ? { type: 'error', id: frame.id, code: 'SNAPSHOT_TOO_OLD', detail: '', retryable: false }
        : undefined;
    expect(await codeOf(app.get('a'))).toBe('SNAPSHOT_TOO_OLD');
  });

  it('reads never go back behind what the session has seen: a node that lags is asked for that snapshot', async () => {
    const node = await server();
    const before = node.cluster.ust;
    const app = await client([node]);
    node.cluster.seed('default/a', 1);
    expect(await app.get('a')).toBe(1);
    // The node answers from before the write, unless a request or its transaction names a snapshot.
    const isNamed = (): boolean => {
      const [start, read] = [node.received('start').at(-1), node.received('read').at(-1)];
      return (read?.tx === undefined ? read : start)?.at !== undefined;
    };
    node.sends = (frame) => {
      if (isNamed()) return frame;
      if (frame.type === 'values') return { ...frame, snapshot: before, values: [null] };
      return frame.type === 'started' ? { ...frame, snapshot: before } : frame;
    };
    expect(await app.get('a')).toBe(1);
    expect(node.received('read').at(-1)?.at).toBe(node.cluster.ust);
    await app.transaction(async (tx) => expect(await tx.get('a')).toBe(1));
    expect(node.received('start').map(({ at }) => at)).toEqual([undefined, node.cluster.ust]);
    expect(node.connections).toBe(1);
  });

  it('reads fail with OFFLINE when there is no connection within the request timeout', async () => {
    const node = await server();
    const app = await client([node], { requestTimeoutMs: 40 });
    await node.close();
    expect(await codeOf(app.get('a'))).toBe('OFFLINE');
    expect(await codeOf(app.set('a', 1))).toBe('OFFLINE');
    expect(app.status).toMatchObject({ state: 'offline', region: undefined, pendingCommits: 0 });
  });

  it('reads reject with the reason of their signal', async () => {
    const node = await server();
    const app = await client([node]);
    node.script = (frame) => (frame.type === 'read' ? 'drop' : undefined);
    const controller = new AbortController();
    const reading = app.get('a', { signal: controller.signal });
    await node.until(() => node.received('read').length === 1);
    controller.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    await expect(app.get('a', { signal: controller.signal })).rejects.toThrow('enough');
    expect(node.received('read').length).toBe(1);
  });
});

describe('damaged messages of a server', () => {
  const damaged = [
    'not json',
    '[]]',
    '7',
    'null',
    '{}',
    '{"type":"nonsense"}',
    '{"type":"__proto__"}',
    '{"type":"values","id":1}',
    '{"type":"values","id":99,"snapshot":1,"values":[]}',
    '{"type":"ust","ust":-1}',
    '{"type":"goaway"}',
    '{"type":"error","id":"x","code":"A","detail":"b"}',
    '{"type":"welcome"}',
  ];
  it.each(damaged)('damaged messages cost the connection and nothing else: %s', async (text) => {
    const node = await server();
    node.cluster.seed('default/a', 1);
    const app = await client([node]);
    node.sendText(text);
    await node.until(() => node.received('hello').length === 2);
    expect(await app.get('a')).toBe(1);
    expect(app.status.state).toBe('online');
  });

  const answers: [string, (id: number, snapshot: number) => object][] = [
    ['too few values', (id, snapshot) => ({ type: 'values', id, snapshot, values: [] })],
    ['a value that is none', (id, snapshot) => ({ type: 'values', id, snapshot, values: [[1, 5]] })],
    ['bytes that are not base64', (id, snapshot) => ({ type: 'values', id, snapshot, values: [[1, { bytes: '*' }]] })],
    ['the answer of another request', (id) => ({ type: 'pong', id })],
    ['no timestamp', (id) => ({ type: 'values', id, snapshot: 'now', values: [null] })],
  ];
  it.each(answers)('damaged answers end in FRAME_INVALID when they come again and again: %s', async (_name, answer) => {
    const node = await server();
    const app = await client([node]);
    node.script = (frame, socket) => {
      if (frame.type !== 'read') return undefined;
      node.sendText(JSON.stringify(answer(frame.id, node.cluster.ust)), socket);
      return 'drop';
    };
    expect(await codeOf(app.get('a'))).toBe('FRAME_INVALID');
    node.script = () => undefined;
    expect(await app.get('a')).toBeUndefined();
  });

  it('a read is FRAME_INVALID when a document is not JSON', async () => {
    const node = await server();
    node.cluster.seed('default/a', 1);
    node.sends = (frame) => (frame.type === 'values' ? { ...frame, values: [[frame.snapshot, '{']] } : frame);
    expect(await codeOf((await client([node])).get('a'))).toBe('FRAME_INVALID');
  });
});

describe('close', () => {
  it('close rejects pending calls, with another error for undecided commits, and may be called twice', async () => {
    const node = await server(undefined, UNCHAINED);
    const app = await client([node]);
    node.script = (frame) => (frame.type === 'ping' ? undefined : 'drop');
    const outcomes = [app.get('a'), app.set('b', 1), app.set('c', 1), app.transaction((tx) => tx.get('d'))].map(codeOf);
    await node.until(() => node.received('commit').length === 1);
    await Promise.all([app.close(), app.close()]);
    expect(await Promise.all(outcomes)).toEqual(['CLIENT_CLOSED', 'OUTCOME_UNKNOWN', 'CLIENT_CLOSED', 'CLIENT_CLOSED']);
    expect(await codeOf(app.get('a'))).toBe('CLIENT_CLOSED');
    expect(await codeOf(app.set('a', 1))).toBe('CLIENT_CLOSED');
    expect(app.status.state).toBe('closed');
    await node.until(() => node.connections === 0);
  });

  it('close ends a client that is offline', async () => {
    const node = await server();
    const app = await client([node], { random: () => 1 });
    await node.close();
    const reading = codeOf(app.get('a'));
    await app.close();
    expect(await reading).toBe('CLIENT_CLOSED');
  });

  it('an answer that arrives after close has no effect', async () => {
    const node = await server();
    const app = await client([node]);
    const held = deferred();
    node.script = (frame) => (frame.type === 'read' ? held.promise : undefined);
    const reading = codeOf(app.get('a'));
    await node.until(() => node.received('read').length === 1);
    await app.close();
    held.resolve();
    expect(await reading).toBe('CLIENT_CLOSED');
  });
});
