import { IsochronError } from '@isochron/core';
import { startApi, type TestApi } from '../../../testing/test-api.js';

const CLAIM = '/v1/keyspaces/default/keys/names%2Fann/claim';

let api: TestApi;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

/** Claims, and makes the claim stable while it waits. */
async function claim(body: unknown, headers: Record<string, string> = {}) {
  const answer = api.call('POST', CLAIM, { body, headers });
  const timer = setInterval(() => api.cluster.stabilise(), 5);
  try {
    return await answer;
  } finally {
    clearInterval(timer);
  }
}

describe('POST …/claim', () => {
  it('the first claim wins, and a later one is answered with its document', async () => {
    const first = await claim({ user: 1 });
    expect(first).toMatchObject({ status: 200 });
    expect(first.json()).toEqual({
      transaction: expect.any(String),
      timestamp: Number(first.headers['isochron-commit-timestamp']),
      won: true,
      value: { user: 1 },
    });
    expect((await claim({ user: 2 })).json()).toMatchObject({ won: false, value: { user: 1 } });
  });

  it('a claim of a key that holds bytes has lost to them', async () => {
    api.cluster.put('default/names/ann', Uint8Array.of(1, 2));
    const answer = (await claim({ user: 1 })).json();
    expect(answer).toMatchObject({ won: false, bytes: 'AQI=' });
    expect(answer).not.toHaveProperty('value');
  });

  it('the token of a claim names the snapshot that decided it', async () => {
    const answer = await claim({ user: 1 });
    const headers = { 'isochron-session': String(answer.headers['isochron-session']) };
    const read = await api.call('GET', '/v1/keyspaces/default/keys/names%2Fann', { headers });
    expect(Number(read.headers['isochron-snapshot'])).toBeGreaterThanOrEqual(
      Number(answer.headers['isochron-commit-timestamp']),
    );
  });

  it('a claim that is not decided in time names its transaction, and is the same claim when it is repeated', async () => {
    const late = await api.call('POST', CLAIM, { body: { user: 1 }, headers: { prefer: 'wait=0' } });
    expect(late.json()).toMatchObject({ code: 'STABLE_TIMEOUT', retryable: true, transaction: expect.any(String) });
    const { transaction } = late.json() as { transaction: string };
    const again = await claim({ user: 1 }, { 'idempotency-key': transaction });
    expect(again.json()).toMatchObject({ transaction, won: true });
    const third = await claim({ user: 1 }, { 'idempotency-key': transaction });
    expect(third.json()).toEqual(again.json());
  });

  it('a claim whose document cannot be read names its transaction, and is the same claim when it is repeated', async () => {
    api.node.handlers.ReadReq = (_request, done) => done(new IsochronError('REPLICA_UNREACHABLE', 'cut off'));
    const failed = await claim({ user: 1 });
    expect(failed.json()).toMatchObject({ code: 'REPLICA_UNREACHABLE', transaction: expect.any(String) });
    delete api.node.handlers.ReadReq;
    const { transaction } = failed.json() as { transaction: string };
    const again = await claim({ user: 1 }, { 'idempotency-key': transaction });
    expect(again.json()).toMatchObject({ transaction, won: true });
  });

  it.each<[string, Record<string, string>, string, string]>([
    ['a document that is not JSON', {}, '{', 'VALUE_INVALID'],
    ['a document in another media type', { 'content-type': 'text/plain' }, '1', 'UNSUPPORTED_MEDIA_TYPE'],
    ['no body', {}, '', 'VALUE_INVALID'],
    ['a condition', { 'if-none-match': '*' }, '1', 'CONDITIONAL_WRITE_UNSUPPORTED'],
  ])('a claim with %s is refused', async (_what, headers, body, code) => {
    const all = { 'content-type': 'application/json', ...headers };
    const answer = await api.call('POST', CLAIM, { body: Buffer.from(body), headers: all });
    expect(answer.json()).toMatchObject({ code });
    expect(api.cluster.outcomes.size).toBe(0);
  });
});
