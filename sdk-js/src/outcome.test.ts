import type { RequestFrame } from '@isochron/wire/session-frames';
import { client, closeAll, codeOf, type Reaction, server } from '../testing/harness.js';
import type { OutcomeUnknownError } from './index.js';

afterEach(closeAll);

const TIMES = { requestTimeoutMs: 30, commitTimeoutMs: 60 };
const silent = (): Reaction => 'drop';
const refusal =
  (code: string) =>
  ({ id }: RequestFrame): Reaction => ({ type: 'error', id, code, detail: code, retryable: false });

/** A node with a script for commits. */
async function nodeWith(script: (frame: RequestFrame) => Reaction) {
  const node = await server();
  const commits = (act: (frame: RequestFrame) => Reaction) => {
    node.script = (frame) => (frame.type === 'commit' ? act(frame) : undefined);
  };
  commits(script);
  return { node, commits };
}

/** The rejection of a write with an unknown outcome. */
async function unknown(script: (frame: RequestFrame) => Reaction) {
  const { node, commits } = await nodeWith(script);
  const app = await client([node], TIMES);
  const error: unknown = await app.set('a', 1).catch((reason: unknown) => reason);
  return { app, node, commits, error: error as OutcomeUnknownError };
}

describe('a commit whose outcome is not known', () => {
  it('a commit with an unknown outcome is not retryable: another call would be another transaction', async () => {
    const { error } = await unknown(silent);
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: false });
  });

  it('the outcome of an unknown commit is that it was committed, once that is known', async () => {
    const { node, commits, error } = await unknown(() => 'apply-and-drop');
    commits(() => undefined);
    expect(await error.outcome).toEqual({ state: 'committed', timestamp: node.cluster.clock });
    expect([...node.cluster.outcomes]).toEqual([[error.txId, node.cluster.clock]]);
  });

  it.each([
    ['TRANSACTION_ABORTED', 'aborted'],
    ['OUTCOME_FORGOTTEN', 'forgotten'],
    ['OUTCOME_LOST', 'forgotten'],
    // It is about the last sending only.
    ['VALUE_INVALID', 'unknown'],
  ])('the outcome of an unknown commit is, once it ends with %s, that it is %s', async (code, state) => {
    const { commits, error } = await unknown(silent);
    commits(refusal(code));
    expect(await error.outcome).toEqual({ state, timestamp: undefined });
  });

  it('the outcome of an unknown commit stays unknown where its first repetition is refused for good', async () => {
    const { node, commits } = await nodeWith(() => 'apply-and-drop');
    const app = await client([node], { ...TIMES, commitTimeoutMs: 10_000 });
    const write = app.set('a', 1).catch((reason: unknown) => reason as OutcomeUnknownError);
    await node.until(() => node.received('commit').length > 0);
    commits(refusal('VALUE_INVALID'));
    const error = (await write) as OutcomeUnknownError;
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { code: 'VALUE_INVALID' } });
    expect((await error.outcome).state).toBe('unknown');
  });

  it.each(['before', 'after'])(
    'the outcome of an unknown commit stays unknown where the client is closed %s it is thrown',
    async (when) => {
      const { node } = await nodeWith(silent);
      const app = await client([node], when === 'after' ? TIMES : {});
      const write = app.set('a', 1).catch((reason: unknown) => reason as OutcomeUnknownError);
      await node.until(() => node.received('commit').length > 0);
      if (when === 'after') await write;
      await app.close();
      expect(await ((await write) as OutcomeUnknownError).outcome).toEqual({ state: 'unknown', timestamp: undefined });
    },
  );
});

describe('a write with an id', () => {
  it('a write with an id that has happened is not done again: its receipt is returned', async () => {
    const node = await server();
    const app = await client([node]);
    const first = await app.set('a', 1, { id: 'order 7' });
    expect(await app.set('a', 2, { id: 'order 7' })).toMatchObject({ txId: first.txId, timestamp: first.timestamp });
    await app.delete('b', { id: 'order 8' });
    await app.update('c', { n: 1 }, { id: 'order 9' });
    await app.update('c', { n: 2 }, { id: 'order 9' });
    expect(await app.getMany(['a', 'c'])).toEqual([1, { n: 1 }]);
    expect(node.cluster.outcomes.size).toBe(3);
  });

  it('a write with an id that is called again while it is under way is sent once', async () => {
    const node = await server();
    const app = await client([node]);
    const [a, b] = await Promise.all([app.set('a', 1, { id: 'once' }), app.set('a', 1, { id: 'once' })]);
    expect(a.txId).toBe(b.txId);
    expect(node.received('commit')).toHaveLength(1);
  });

  it('a write with an id rejects with the same error while its outcome is unknown, then returns the receipt', async () => {
    const { node, commits } = await nodeWith(() => 'apply-and-drop');
    const app = await client([node], TIMES);
    const write = () => app.set('a', 1, { id: 'once' });
    const error = await write().catch((reason: unknown) => reason as OutcomeUnknownError);
    await expect(write()).rejects.toBe(error);
    commits(() => undefined);
    await (error as OutcomeUnknownError).outcome;
    expect(await write()).toMatchObject({ txId: (error as OutcomeUnknownError).txId, timestamp: node.cluster.clock });
    expect(node.cluster.outcomes.size).toBe(1);
  });

  it('a write with an id is done again where it had no effect', async () => {
    const { node, commits } = await nodeWith(refusal('VALUE_INVALID'));
    const app = await client([node]);
    expect(await codeOf(app.set('a', 1, { id: 'once' }))).toBe('VALUE_INVALID');
    commits(() => undefined);
    await app.set('a', 1, { id: 'once' });
    expect(await app.get('a')).toBe(1);
  });
});

describe('a transaction with an id', () => {
  it('a transaction with an id that was undecided and has committed gives its result, and does not run again', async () => {
    const { node, commits } = await nodeWith(() => 'apply-and-drop');
    const app = await client([node], TIMES);
    let runs = 0;
    const transfer = () =>
      app.transaction(
        (tx) => {
          runs++;
          tx.set('a', runs);
          return `run ${runs}`;
        },
        { id: 'transfer 7' },
      );
    const error = await transfer().catch((reason: unknown) => reason as OutcomeUnknownError);
    commits(() => undefined);
    await (error as OutcomeUnknownError).outcome;
    const { result, write } = await transfer();
    expect([result, write?.txId, runs]).toEqual(['run 1', (error as OutcomeUnknownError).txId, 1]);
    expect(node.cluster.outcomes.size).toBe(1);
  });

  it('a transaction with an id that has failed runs again', async () => {
    const app = await client([await server()]);
    const fails = () => app.transaction(() => Promise.reject(new Error('mine')), { id: 'x' });
    await expect(fails()).rejects.toThrow('mine');
    expect((await app.transaction(() => 'done', { id: 'x' })).result).toBe('done');
  });
});
