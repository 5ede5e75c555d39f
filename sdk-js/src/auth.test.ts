import { ANONYMOUS_PRINCIPAL } from '@isochron/core/principal';
import { client, closeAll, clusterOf, deferred, refusal, server } from '../testing/harness.js';

afterEach(closeAll);

/** Counts its calls, and how many are under way. */
function counted(give: (call: number) => string | Promise<string> = (call) => `token-${call}`) {
  const counts = { calls: 0, underWay: 0, most: 0 };
  const auth = async (): Promise<string> => {
    counts.calls++;
    counts.underWay++;
    counts.most = Math.max(counts.most, counts.underWay);
    try {
      return await give(counts.calls);
    } finally {
      counts.underWay--;
    }
  };
  return { auth, counts };
}

describe('auth', () => {
  it('auth is called before the client connects, and its result is part of the greeting alone', async () => {
    const at = await server();
    const app = await client([at], { auth: () => 'token' });
    await app.set('a', 1);
    expect(at.received('hello')).toMatchObject([{ credentials: 'token' }]);
    expect(at.received('authenticate')).toEqual([]);
  });

  it('auth is called again before the credentials expire, and the session goes on with the new ones', async () => {
    const at = await server();
    at.authenticate = (_, done) => done({ ...ANONYMOUS_PRINCIPAL, expiresAt: at.cluster.now + 2000 });
    const { auth, counts } = counted();
    const app = await client([at], { auth });
    await at.until(() => at.received('authenticate').length === 2);
    await app.set('a', 1);
    expect(at.received('authenticate').map(({ credentials }) => credentials)).toEqual(['token-2', 'token-3']);
    expect([counts.most, at.received('hello').length]).toEqual([1, 1]);
  });

  it('auth is called after a refusal, and the refused request is repeated', async () => {
    const at = await server();
    let isExpired = true;
    const app = await client([at], { auth: () => 'token' });
    at.script = (frame) => {
      if (frame.type === 'authenticate') isExpired = false;
      return frame.type === 'commit' && isExpired ? refusal(frame.id, 'UNAUTHENTICATED', false) : undefined;
    };
    await app.set('a', 1);
    expect(new Set(at.received('commit').map(({ tx }) => tx)).size).toBe(1);
    expect(at.received('commit')).toHaveLength(2);
  });

  it('auth is called once for clients with the same function that need it at the same time', async () => {
    const at = await server(clusterOf(), { shared: true });
    const { promise, resolve } = deferred();
    const { auth, counts } = counted(() => promise.then(() => 'token'));
    const clients = Promise.all(Array.from({ length: 5 }, () => client([at], { auth, WebSocket: undefined })));
    setTimeout(resolve, 20);
    await clients;
    expect(counts.calls).toBe(1);
    expect(at.webSockets.size).toBe(1);
    expect(at.received('hello').map(({ credentials }) => credentials)).toEqual(Array(5).fill('token'));
  });

  it('auth that throws, rejects, or gives no text makes connect reject with CREDENTIALS_UNAVAILABLE', async () => {
    const at = await server();
    const cause = new Error('signed out');
    const failures: (() => string | Promise<string>)[] = [
      () => {
        throw cause;
      },
      () => Promise.reject(cause),
      () => '',
    ];
    const outcomes = failures.map((auth) => client([at], { auth, requestTimeoutMs: 100 }).catch((error) => error));
    const [thrown, rejected, empty] = await Promise.all(outcomes);
    expect([thrown, rejected, empty].map(({ code }) => code)).toEqual(Array(3).fill('CREDENTIALS_UNAVAILABLE'));
    expect([thrown.cause, rejected.cause]).toEqual([cause, cause]);
    expect(at.received('hello')).toEqual([]);
  });

  it('auth and credentials exclude each other', async () => {
    const at = await server();
    const both = client([at], { auth: () => 'token', credentials: 'key' });
    await expect(both).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });
});
