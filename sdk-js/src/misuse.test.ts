import { setTimeout as sleep } from 'node:timers/promises';
import { client, closeAll, codeOf, deferred, server, statusOf } from '../testing/harness.js';
import { type ClientStatus, connect, type IsochronClient } from './index.js';

afterEach(closeAll);

describe("a write of the client inside of a transaction's function", () => {
  const writes: [string, (app: IsochronClient) => Promise<unknown>][] = [
    ['set', (app) => app.set('a', 1)],
    ['delete', (app) => app.keyspace('eu').delete('a')],
    ['update', (app) => app.collection('todos').update('a', {})],
    ['claim', (app) => app.claim('a', {})],
  ];

  /** As if the tests ran in this version of Node. */
  async function inNode(version: string, run: () => Promise<void>): Promise<void> {
    const { version: before } = process;
    Object.defineProperty(process, 'version', { value: version });
    try {
      await run();
    } finally {
      Object.defineProperty(process, 'version', { value: before });
    }
  }

  it.each(writes)("a write of the client inside of a transaction's function is refused: %s", async (_name, write) => {
    await inNode('v24.0.0', async () => {
      const node = await server();
      const app = await client([node]);
      const codes: string[] = [];
      await app.transaction(async (tx) => {
        codes.push(await codeOf(write(app)));
        await tx.get('b');
        codes.push(await codeOf(write(app)));
      });
      expect(codes).toEqual(['INVALID_REQUEST', 'INVALID_REQUEST']);
      expect(node.received('commit')).toEqual([]);
    });
  });

  it("a write inside of a transaction's function is refused until the function first waits, where tracking costs too much", async () => {
    await inNode('v22.21.1', async () => {
      const node = await server();
      const app = await client([node]);
      await app.transaction(async (tx) => {
        expect(await codeOf(app.set('a', 1))).toBe('INVALID_REQUEST');
        await tx.get('b');
        await app.set('a', 2);
      });
      expect(node.received('commit').length).toBe(1);
    });
  });

  it('a write is no misuse where another client makes it, or the transaction has ended', async () => {
    await inNode('v24.0.0', async () => {
      const node = await server();
      const [app, other] = [await client([node]), await client([node])];
      let later: Promise<unknown> | undefined;
      const ended = deferred();
      await app.transaction(async () => {
        await other.set('a', 1);
        later = ended.promise.then(() => app.set('b', 1));
      });
      ended.resolve();
      await later;
      expect(node.received('commit').length).toBe(2);
    });
  });
});

describe('an id', () => {
  it('an id has no slash: it would be one of another collection', async () => {
    const app = await client([await server()]);
    const notes = app.collection('notes');
    expect(await codeOf(notes.set('a/b', 1))).toBe('KEY_INVALID');
    expect(await codeOf(notes.get('a/b'))).toBe('KEY_INVALID');
    expect(await codeOf(app.transaction((tx) => tx.collection('notes').delete('a/b')))).toBe('KEY_INVALID');
    await app.collection('notes/a').set('b', 1);
    expect(await app.get('notes/a/b')).toBe(1);
  });
});

describe('an unknown option', () => {
  it('an unknown option is refused, with its name', async () => {
    const node = await server();
    const app = await client([node]);
    const wrong = { singal: undefined } as object;
    const written = await app.set('a', 1);
    const calls: (() => unknown)[] = [
      () => connect({ endpoints: [node.url], ...wrong }),
      () => app.get('a', wrong),
      () => app.getMany(['a'], wrong),
      () => app.set('a', 1, wrong),
      () => app.delete('a', wrong),
      () => app.update('a', {}, wrong),
      () => app.list(wrong),
      () => app.snapshot(wrong),
      () => app.transaction(() => 1, wrong),
      () => app.transaction((tx) => tx.get('a', wrong)),
      () => app.transaction((tx) => tx.update('a', {}, wrong)),
      () => app.transactionStatus(written.txId, wrong),
      () => written.stable(wrong),
    ];
    for (const call of calls)
      await expect((async () => call())()).rejects.toThrow(
        expect.objectContaining({
          code: 'INVALID_REQUEST',
          message: expect.stringContaining('singal') as string,
        }),
      );
  });
});

describe('the value of an option', () => {
  it('a value that an option cannot have is refused before anything is sent, in every call', async () => {
    const node = await server();
    const app = await client([node]);
    const written = await app.set('a', 1);
    const wrong = (options: object) => options as never;
    const calls: [option: string, call: () => unknown][] = [
      ...[60_001, -1, Number.NaN, '5', null].flatMap((timeoutMs): [string, () => unknown][] => [
        ['timeoutMs', () => app.claim('a', 1, wrong({ timeoutMs }))],
        ['timeoutMs', () => written.stable(wrong({ timeoutMs }))],
      ]),
      ['signal', () => app.get('a', wrong({ signal: {} }))],
      ['signal', () => app.set('a', 1, wrong({ signal: 'now' }))],
      ['signal', () => app.transaction((tx) => tx.set('a', 1), wrong({ signal: {} }))],
      ['id', () => app.set('a', 1, wrong({ id: 7 }))],
      ['id', () => app.claim('a', 1, wrong({ id: null }))],
      ['at', () => app.transaction((tx) => tx.set('a', 1), wrong({ at: 1.5 }))],
      ['at', () => app.snapshot(wrong({ at: -1 }))],
      ['at', () => app.changes(wrong({ at: '1' }))],
      ['since', () => app.changes(wrong({ since: 1 }))],
      ['prefix', () => app.list(wrong({ prefix: 1 }))],
      ['start', () => app.list({ start: '\ud800' })],
      ['limit', () => app.list({ limit: -1 })],
      ['pageSize', () => app.list({ pageSize: 1001 })],
      ['sentAfter', () => app.transactionStatus({ txId: written.txId, sentAfter: Number.NaN })],
      ['requestTimeoutMs', () => connect({ endpoints: [node.url], requestTimeoutMs: Number.NaN })],
      ['commitTimeoutMs', () => connect({ endpoints: [node.url], commitTimeoutMs: -1 })],
    ];
    const { length } = node.frames;
    for (const [option, call] of calls)
      await expect((async () => call())()).rejects.toThrow(
        expect.objectContaining({
          code: 'INVALID_REQUEST',
          message: expect.stringContaining(`option ${option} `) as string,
        }),
      );
    expect(node.frames.slice(length)).toEqual([]);
  });
});

describe('the status', () => {
  it('the status is one object until it changes', async () => {
    const app = await client([await server()]);
    await statusOf(app, ({ rttMs }) => rttMs !== undefined);
    const before = app.status;
    expect(app.status).toBe(before);
    await sleep(5);
    expect(app.status).toBe(before);
    const seen: ClientStatus[] = [];
    app.on('status', (status) => seen.push(status));
    await app.set('a', 1);
    expect(app.status).not.toBe(before);
    expect(seen).toContain(app.status);
  });

  it('the ages in the status grow with time', async () => {
    const node = await server();
    const held = deferred();
    node.script = (frame) => (frame.type === 'commit' ? held.promise : undefined);
    const app = await client([node]);
    const write = app.set('a', 1);
    const status = await statusOf(app, ({ pendingCommits }) => pendingCommits === 1);
    const { oldestPendingCommitMs: first = 0, stalenessMs = 0 } = status;
    await sleep(20);
    expect(status.oldestPendingCommitMs).toBeGreaterThan(first);
    expect(status.stalenessMs).toBeGreaterThanOrEqual(stalenessMs);
    held.resolve();
    await write;
  });
});
