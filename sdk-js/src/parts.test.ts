/** Files of the client that are fetched on demand. */
import { FakeLive } from '../testing/fake-live.js';
import { watchOf } from './api/watch.js';
import { type IsochronError, isIsochronError } from './index.js';
import { part } from './parts.js';

jest.mock('./live/readers.js', () => {
  throw new TypeError('Failed to fetch dynamically imported module');
});

describe('parts of the client', () => {
  it('a file that could not be fetched is a retryable error with a code and its cause', async () => {
    const cause = new TypeError('Failed to fetch dynamically imported module');
    const error: unknown = await part(Promise.reject(cause)).catch((reason: unknown) => reason);
    expect(isIsochronError(error, 'CODE_UNAVAILABLE')).toBe(true);
    expect(error).toMatchObject({ retryable: true, cause, message: expect.stringContaining(cause.message) });
  });

  it('a watch whose code could not be fetched ends with CODE_UNAVAILABLE, subscribed or iterated', async () => {
    const watch = () => watchOf(new FakeLive(), { keyspace: 'default', prefix: '' }, {});
    const error = await new Promise<IsochronError>((resolve) => watch().subscribe(() => {}, resolve));
    expect(error.code).toBe('CODE_UNAVAILABLE');
    await expect(watch()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'CODE_UNAVAILABLE' });
  });
});
