import { client, closeAll, server } from '../testing/harness.js';

afterEach(closeAll);

/** The events of a browser's window, as far as a client uses them. */
function browser() {
  const window = new EventTarget();
  const listening: string[] = [];
  const add = (...args: Parameters<EventTarget['addEventListener']>): void => {
    listening.push(args[0]);
    window.addEventListener(...args);
  };
  Object.assign(globalThis, { addEventListener: add });
  return { window, listening };
}

describe('in a browser', () => {
  afterEach(() => {
    delete (globalThis as { addEventListener?: unknown }).addEventListener;
  });

  it.each(['online', 'offline', 'pageshow', 'visibilitychange'])(
    'a client in a browser tries its connection at %s',
    async (event) => {
      const { window } = browser();
      const node = await server();
      const app = await client([node]);
      const before = node.received('ping').length;
      window.dispatchEvent(new Event(event));
      await node.until(() => node.received('ping').length > before);
      expect(app.status.state).toBe('online');
    },
  );

  it('a closed client in a browser listens no more', async () => {
    const { window, listening } = browser();
    const node = await server();
    const app = await client([node]);
    expect(listening).toHaveLength(4);
    await app.close();
    const before = node.received('ping').length;
    window.dispatchEvent(new Event('online'));
    expect(node.received('ping')).toHaveLength(before);
  });
});
