import { wallOf } from '@isochron/core/hlc';
import { client, closeAll, clusterOf, codeOf, idOf, type Reaction, server, statusOf } from '../testing/harness.js';
import type { MemoryServer } from '../testing/memory-server.js';
import { OutcomeUnknownError } from './index.js';

afterEach(closeAll);

const IRELAND = { region: 'ireland', node: 'ireland-1', partition: 'default/3' };

describe('a listener of the status', () => {
  it.each<[string, () => void]>([
    ['throws', () => JSON.parse('mine')],
    ['rejects', async () => JSON.parse('mine')],
  ])(
    'a listener of the status that %s is reported, and takes neither the others nor the process with it',
    async (_how, fails) => {
      const reported = jest.spyOn(console, 'error').mockImplementation(() => {});
      const unhandled = jest.fn();
      process.on('unhandledRejection', unhandled);
      const app = await client([await server()]);
      const listener = jest.fn();
      app.on('status', fails);
      app.on('status', listener);
      await app.set('a', 1);
      expect(listener).toHaveBeenCalled();
      await new Promise((resolve) => setImmediate(resolve));
      expect(String(reported.mock.calls[0]?.[0])).toContain('SyntaxError');
      expect(unhandled).not.toHaveBeenCalled();
      process.off('unhandledRejection', unhandled);
      reported.mockRestore();
    },
  );
});

describe('the status of a transaction', () => {
  it('the status of a transaction is asked by id, for transactions of this client and of any other', async () => {
    const cluster = clusterOf();
    const [node, other] = [await server(cluster), await server(cluster, { region: 'oregon' })];
    const { txId, timestamp } = await (await client([node])).set('a', 1);
    const app = await client([other]);
    expect(await app.transactionStatus(txId)).toEqual({ state: 'committed', timestamp });
    expect(await app.transactionStatus(txId.replace(/.$/, 'z'))).toEqual({ state: 'unknown', timestamp: undefined });
  });

  it.each(['open', 'pending', 'aborted', 'forgotten', 'lost'] as const)(
    'the status of a transaction may be %s',
    async (state) => {
      const node = await server();
      node.script = (frame) =>
        frame.type === 'status' ? { type: 'status', id: frame.id, status: state, ts: null } : undefined;
      const app = await client([node]);
      expect(await app.transactionStatus('abcdefghijklmnopqrstuv.0')).toEqual({ state, timestamp: undefined });
    },
  );

  it('the status of a transaction is asked elsewhere when the connection breaks', async () => {
    const cluster = clusterOf();
    const servers = [await server(cluster), await server(cluster)];
    const app = await client(servers);
    let asked = 0;
    const breaks = (frame: { type: string }): Reaction =>
      frame.type === 'status' && asked++ === 0 ? 'close' : undefined;
    for (const node of servers) node.script = breaks;
    expect((await app.transactionStatus('abcdefghijklmnopqrstuv.0')).state).toBe('unknown');
    expect(asked).toBe(2);
  });

  it('the status of an unknown commit is found with the fields of its error, by another client too', async () => {
    const cluster = clusterOf();
    const [node, other] = [await server(cluster), await server(cluster, { region: 'oregon' })];
    node.script = (frame) => (frame.type === 'commit' ? 'apply-and-drop' : undefined);
    const app = await client([node], { requestTimeoutMs: 30, commitTimeoutMs: 60 });
    const error: unknown = await app.set('a', 1).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    const { txId, sentAfter } = error as OutcomeUnknownError;
    expect(sentAfter).toBe(cluster.ust);
    const kept = JSON.parse(JSON.stringify({ txId, sentAfter })) as { txId: string; sentAfter: number };
    const later = await client([other]);
    expect(await later.transactionStatus(kept)).toEqual({ state: 'committed', timestamp: cluster.clock });
    expect(other.received('status')[0]).toMatchObject({ tx: txId, sentAfter });
  });

  it('the status of a transaction is pending while this client still repeats it, whatever the outcome of the attempt before', async () => {
    const node = await server();
    node.script = (frame) => (frame.type === 'commit' ? 'drop' : undefined);
    const app = await client([node], { requestTimeoutMs: 1000 });
    const write = app.set('a', 1);
    await node.until(() => node.received('commit').length === 1);
    const txId = node.received('commit')[0]!.tx;
    expect(await app.transactionStatus(txId)).toEqual({ state: 'pending', timestamp: undefined });
    node.script = () => undefined;
    const { timestamp } = await write;
    expect(await app.transactionStatus(txId)).toEqual({ state: 'committed', timestamp });
  });
});

describe('staleness', () => {
  it('staleness is counted by the clock of the node, not by this machine’s', async () => {
    const cluster = clusterOf();
    const node = await server(cluster);
    node.aged = { now: Math.ceil(wallOf(cluster.ust)) + 70_000, stalenessMs: 70_000 };
    const app = await client([node]);
    const snapshot = await app.snapshot();
    const { result } = await app.transaction(async (tx) => {
      const before = tx.stalenessMs;
      await tx.get('a');
      return [before, tx.stalenessMs];
    });
    expect(result[0]).toBeUndefined();
    // By this machine's clock, the timestamps of the cluster are more than a year old.
    for (const age of [app.status.stalenessMs, app.session.stalenessMs, snapshot.stalenessMs, result[1]]) {
      expect(age).toBeGreaterThanOrEqual(70_000);
      expect(age).toBeLessThan(130_000);
    }
  });

  it('staleness comes with an event and with `heldBackBy`', async () => {
    const node = await server();
    const app = await client([node]);
    expect(app.status).toMatchObject({ stale: false, heldBackBy: undefined });
    const stale = statusOf(app, (status) => status.stale);
    const freshness = { ...node.freshness(), stale: true, heldBackBy: IRELAND };
    node.push({ type: 'ust', ust: node.cluster.ust, freshness });
    expect(await stale).toMatchObject({ stale: true, heldBackBy: IRELAND, state: 'online' });
    const fresh = statusOf(app, (status) => !status.stale);
    node.push({ type: 'ust', ust: 1001, freshness: node.freshness() });
    expect((await fresh).heldBackBy).toBeUndefined();
  });

  it('staleness is known from the welcome on', async () => {
    const node = await server();
    node.aged = { stale: true, heldBackBy: { region: 'ireland', node: null, partition: null } };
    const app = await client([node]);
    expect(app.status).toMatchObject({ stale: true, heldBackBy: { region: 'ireland', node: null, partition: null } });
  });
});

describe('a client that begins with a token', () => {
  /** The session of another client, which has written, and is closed. */
  async function ofAnother(node: MemoryServer) {
    const app = await client([node]);
    const { timestamp } = await app.set('a', 1);
    await app.close();
    return { session: app.session, timestamp };
  }

  it('a client that begins with a token waits until the writes of that session are visible, as it lacks them (D9)', async () => {
    const cluster = clusterOf();
    const node = await server(cluster);
    const { session, timestamp: ts } = await ofAnother(node);
    node.script = (frame) => {
      if (frame.type === 'stable') cluster.stabiliseEverywhere();
      return undefined;
    };
    const app = await client([node], { token: session.token });
    expect(node.received('stable')[0]).toMatchObject({ ts });
    expect(await app.get('a')).toBe(1);
  });

  it('a client that begins with a token gets SESSION_GAP when that takes too long', async () => {
    const cluster = clusterOf();
    const node = await server(cluster);
    const { session } = await ofAnother(node);
    const options = { token: session.token, requestTimeoutMs: 40 };
    expect(await codeOf(client([node], options))).toBe('SESSION_GAP');
    await node.until(() => node.connections === 0);
  });

  it('a client that begins with a token waits for nothing when it has the writes', async () => {
    const cluster = clusterOf();
    const node = await server(cluster);
    const { session, timestamp } = await ofAnother(node);
    const app = await client([node], { session: session.export() });
    expect(node.answers('welcome').at(-1)?.hwt).toBe(timestamp);
    expect(await app.get('a')).toBe(1);
    expect(node.received('stable')).toEqual([]);
  });
});

describe('a frame with invalid freshness', () => {
  const nonsense: object[] = [
    { now: -1, stalenessMs: 0, stale: false, heldBackBy: null },
    { now: 1, stalenessMs: 'long', stale: false, heldBackBy: null },
    { now: 1, stalenessMs: 0, stale: false, heldBackBy: 7 },
    { now: 1, stalenessMs: 0, stale: false, heldBackBy: { region: 7, node: null, partition: null } },
  ];
  it.each(nonsense)('an invalid frame about freshness costs the connection and nothing else: %j', async (freshness) => {
    const node = await server();
    const app = await client([node]);
    node.sendText(JSON.stringify({ type: 'ust', ust: node.cluster.ust + 5000, freshness }));
    await node.until(() => node.received('hello').length === 2);
    expect(await app.get('a')).toBeUndefined();
    expect(app.session.export().ust).toBe(node.cluster.ust);
  });

  it('an invalid transaction status costs the answer', async () => {
    const node = await server();
    const app = await client([node]);
    node.script = (frame, socket) => {
      if (frame.type !== 'status') return undefined;
      node.sendText(JSON.stringify({ type: 'status', id: idOf(frame), status: 'perhaps', ts: null }), socket);
      return 'drop';
    };
    expect(await codeOf(app.transactionStatus('abcdefghijklmnopqrstuv.0'))).toBe('FRAME_INVALID');
  });
});
