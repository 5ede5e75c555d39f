import { client, closeAll, clusterOf, type Reaction, server, statusOf, UNCHAINED } from '../testing/harness.js';
import type { MemoryServer } from '../testing/memory-server.js';
import { type IsochronClient, type OutcomeUnknownError, SessionBlockedError } from './index.js';

afterEach(closeAll);

const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );

const TIMES = { requestTimeoutMs: 400, commitTimeoutMs: 800 };

/** A node that answers no commit of this key. */
const silentAbout =
  (key: string) =>
  (frame: Parameters<MemoryServer['script']>[0]): Reaction =>
    frame.type === 'commit' && frame.writes[0]?.key === `default/${key}` ? 'drop' : undefined;

async function inDoubt(options = TIMES): Promise<{ node: MemoryServer; app: IsochronClient; write: Promise<unknown> }> {
  const node = await server(undefined, UNCHAINED);
  const app = await client([node], options);
  await app.set('before', 1);
  node.script = silentAbout('a');
  const write = caught(app.set('a', 1));
  await node.until(() => node.received('commit').length > 1);
  return { node, app, write };
}

describe('a session behind a commit whose outcome is not known', () => {
  it('a blocked session reports SESSION_BLOCKED with the transaction that blocks, for writes that were not sent', async () => {
    const { node, app, write } = await inDoubt();
    const blocked = await caught(app.set('b', 1));
    expect(blocked).toBeInstanceOf(SessionBlockedError);
    const { txId, sentAfter } = (await write) as OutcomeUnknownError;
    expect(blocked).toMatchObject({ code: 'SESSION_BLOCKED', retryable: true, blockedBy: txId, sentAfter });
    expect(node.received('commit').every(({ writes }) => writes[0]?.key !== 'default/b')).toBe(true);
  });

  it('the status of a blocked session has the number of pending commits, and the age of the oldest one', async () => {
    const { app, write } = await inDoubt();
    const behind = caught(app.set('b', 1));
    expect(app.status.pendingCommits).toBe(2);
    await write;
    expect(app.status.oldestPendingCommitMs).toBeGreaterThanOrEqual(TIMES.commitTimeoutMs - 5);
    await behind;
    expect(app.status.pendingCommits).toBe(1);
  });

  it('the status has no age where no commit is pending', async () => {
    const app = await client([await server()]);
    await app.set('a', 1);
    expect(app.status).toMatchObject({ pendingCommits: 0, oldestPendingCommitMs: undefined });
  });
});

describe('detach', () => {
  it('detach lets later writes go on in a session that has seen everything and does not follow the undecided commit', async () => {
    const { node, app, write } = await inDoubt({ requestTimeoutMs: 10_000, commitTimeoutMs: 10_000 });
    const waiting = app.set('b', 1);
    const [, sent] = node.received('commit');
    expect(app.detach()).toBe(sent?.tx);
    const { timestamp, txId } = await waiting;
    expect(txId.split('.')[0]).not.toBe(sent?.tx.split('.')[0]);
    expect(node.received('commit').at(-1)).toMatchObject({ hwt: sent?.hwt });
    // Own writes from before are still read from the cache; the undecided one is not there.
    expect(await app.getMany(['before', 'a', 'b'])).toEqual([1, undefined, 1]);
    expect(app.status.pendingCommits).toBe(1);
    expect(app.session.export().hwt).toBe(timestamp);
    void write;
  });

  it('after detach the client resolves the undecided commit, and the session does not follow it', async () => {
    const { node, app } = await inDoubt({ requestTimeoutMs: 60, commitTimeoutMs: 10_000 });
    app.detach();
    const { timestamp } = await app.set('b', 1);
    node.script = () => undefined;
    await statusOf(app, ({ pendingCommits }) => pendingCommits === 0);
    expect(node.cluster.outcomes.size).toBe(3);
    expect(app.session.export().hwt).toBe(timestamp);
    expect(await app.getMany(['a'])).toEqual([undefined]);
    node.cluster.stabilise();
    expect(await app.getMany(['a'])).toEqual([1]);
  });

  it('detach leaves the promise of the undecided commit to resolve', async () => {
    const node = await server(undefined, UNCHAINED);
    const app = await client([node], { requestTimeoutMs: 60, commitTimeoutMs: 10_000 });
    node.script = silentAbout('a');
    const write = app.set('a', 1);
    await node.until(() => node.received('commit').length === 1);
    expect(app.detach()).toBe(node.received('commit')[0]?.tx);
    node.script = () => undefined;
    expect((await write).timestamp).toBe(node.cluster.clock);
    expect(app.detach()).toBeUndefined();
  });

  it('detach changes nothing where no commit is undecided', async () => {
    const node = await server(undefined, UNCHAINED);
    const app = await client([node]);
    expect(app.detach()).toBeUndefined();
    const [first, second] = [await app.set('a', 1), await app.set('a', 2)];
    expect(first.txId.split('.')[0]).toBe(second.txId.split('.')[0]);
  });

  it('detach works under protocols of single operations, too', async () => {
    const node = await server(clusterOf({ protocol: 'contrarian' }));
    const app = await client([node], { requestTimeoutMs: 10_000 });
    node.script = (frame) => (frame.type === 'put' && frame.key === 'default/a' ? 'drop' : undefined);
    void caught(app.set('a', 1));
    await node.until(() => node.received('put').length === 1);
    const waiting = app.set('b', 1);
    expect(app.detach()).toBe(node.received('put')[0]?.tx);
    await waiting;
    expect(node.received('put').at(-1)?.key).toBe('default/b');
  });
});
