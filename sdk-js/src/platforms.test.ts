/** Platforms beside browsers and Node: what they lack is not needed, or is named. */
import { isWellFormed } from '@isochron/core/limits';
import { client, closeAll, server } from '../testing/harness.js';
import { isIsochronError } from './index.js';

afterEach(closeAll);

/** Replaces members of objects for as long as the test runs. */
const replaced: (() => void)[] = [];
function replace(object: object, name: string, value: unknown): void {
  const before = Object.getOwnPropertyDescriptor(object, name);
  Object.defineProperty(object, name, { value, configurable: true, writable: true });
  replaced.push(() => {
    if (before === undefined) Reflect.deleteProperty(object, name);
    else Object.defineProperty(object, name, before);
  });
}
afterEach(() => {
  for (const undo of replaced.splice(0).reverse()) undo();
});

describe('a platform as React Native is', () => {
  beforeEach(() => {
    class PartOfUrl {
      get host(): string {
        throw new Error('URL.host is not implemented');
      }
    }
    replace(globalThis, 'URL', PartOfUrl);
    replace(globalThis, 'AggregateError', undefined);
    replace(AbortSignal.prototype, 'throwIfAborted', undefined);
    replace(AbortSignal.prototype, 'reason', undefined);
    replace(String.prototype, 'isWellFormed', undefined);
  });

  it('a client connects, reads and writes without the newer parts of URL, String and AbortSignal', async () => {
    const node = await server();
    const app = await client([node]);
    await app.set('a', 'ä');
    expect(await app.get('a')).toBe('ä');
  });

  it('an aborted signal without a reason rejects with an AbortError', async () => {
    const node = await server();
    const app = await client([node]);
    node.script = () => 'drop';
    const controller = new AbortController();
    const reading = app.get('a', { signal: controller.signal });
    controller.abort();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
    await expect(client([node], { signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('the failures of several endpoints are the errors of the cause', async () => {
    const gone = [await server(), await server()];
    for (const node of gone) await node.close();
    const error: unknown = await client(gone).catch((reason: unknown) => reason);
    expect(isIsochronError(error, 'CONNECTION_LOST')).toBe(true);
    expect((error as { readonly cause: { readonly errors: unknown[] } }).cause.errors).toHaveLength(2);
  });

  it('half surrogates are found without the check of the platform', () => {
    for (const text of ['a\ud83d', '\ude00a', '\ud83d\ud83d\ude00']) expect(isWellFormed(text)).toBe(false);
    for (const text of ['', 'a', 'ä', '\ud83d\ude00', '\uffff']) expect(isWellFormed(text)).toBe(true);
  });
});
