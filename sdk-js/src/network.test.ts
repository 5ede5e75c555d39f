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

/** Lets the wall clock, or both clocks, go on without the program. */
function sleepOf(...clocks: readonly { now(): number }[]): void {
  for (const clock of clocks) {
    const now = clock.now.bind(clock);
    jest.spyOn(clock, 'now').mockImplementation(() => now() + 3_600_000);
  }
}

describe('a client on a platform without events of the network', () => {
  afterEach(() => jest.restoreAllMocks());

  it('a client tries its connection when the application reports a change of the network', async () => {
    const node = await server();
    const app = await client([node]);
    const before = node.received('ping').length;
    app.networkChanged();
    await node.until(() => node.received('ping').length > before);
  });

  it.each([
    ['with a steady clock that stood still', [Date]],
    ['with a steady clock that went on', [Date, performance]],
  ])('a client %s during the sleep of the machine tries its connection with its next step', async (_, clocks) => {
    const node = await server();
    const app = await client([node]);
    const before = node.received('ping').length;
    sleepOf(...clocks);
    expect(await app.get('a')).toBeUndefined();
    await node.until(() => node.received('ping').length > before);
  });
});

describe('in a browser', () => {
  afterEach(() => {
    delete (globalThis as { addEventListener?: unknown }).addEventListener;
  });

  it.each(['online', 'offline', 'pageshow', 'visibilitychange', 'focus', 'resume'])(
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
    expect(listening).toHaveLength(6);
    await app.close();
    const before = node.received('ping').length;
    window.dispatchEvent(new Event('online'));
    expect(node.received('ping')).toHaveLength(before);
  });
});
