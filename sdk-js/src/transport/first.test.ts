import { IsochronError } from '@isochron/core/errors';
import { deferred } from '../../testing/harness.js';
import { type Endpoint, Endpoints } from './endpoints.js';
import { firstOf } from './first.js';

const endpoints = new Endpoints(['ws://a', 'ws://b', 'ws://c']).all;
const nobody = () => {
  throw new Error('nobody is to be refused');
};

/** A connection that knows only whether it was closed. */
class FakeConnection {
  closed = false;
  close(): void {
    this.closed = true;
  }
}

describe('firstOf', () => {
  it('tries one after the other, until one opens', async () => {
    const tried: string[] = [];
    const there = new FakeConnection();
    const open = async ({ url }: Endpoint) => {
      tried.push(url[5]!);
      if (url.includes('a')) throw new IsochronError('CONNECTION_LOST', 'refused');
      return there;
    };
    expect(await firstOf(endpoints, open, nobody)).toBe(there);
    expect(tried).toEqual(['a', 'b']);
  });

  it('does not wait for one that says nothing, and closes it when it opens after all', async () => {
    const late = deferred();
    const [slow, fast] = [new FakeConnection(), new FakeConnection()];
    const open = ({ url }: Endpoint) => (url.includes('a') ? late.promise.then(() => slow) : Promise.resolve(fast));
    expect(await firstOf(endpoints, open, nobody)).toBe(fast);
    late.resolve();
    await late.promise;
    await Promise.resolve();
    expect([slow.closed, fast.closed]).toEqual([true, false]);
  });

  it('refuses for good only when nobody takes the client', async () => {
    const refused = async ({ url }: Endpoint): Promise<FakeConnection> => {
      if (url.includes('c')) throw new IsochronError('CONNECTION_LOST', 'away');
      throw new IsochronError('UNAUTHENTICATED', url);
    };
    const refusals: string[] = [];
    expect(await firstOf(endpoints, refused, ({ message }) => refusals.push(message))).toBeUndefined();
    expect(refusals).toHaveLength(1);
    const there = new FakeConnection();
    const taken = async (endpoint: Endpoint) => (endpoint.url.includes('c') ? there : refused(endpoint));
    expect(await firstOf(endpoints, taken, nobody)).toBe(there);
  });

  it('finds nothing in nothing', async () => {
    expect(await firstOf([], nobody, nobody)).toBeUndefined();
  });
});
