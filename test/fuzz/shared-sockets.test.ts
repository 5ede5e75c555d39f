/**
 * Shared sockets: any client data ends the socket or the channel with one of our codes, or is accepted; the node and
 * others continue.
 */
import { ENTRY, EntryWriter, SHARED_SUBPROTOCOL } from '@isochron/wire/channels/entries';
import { SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import fc from 'fast-check';
import { SessionClient } from '../../server/testing/session-client.js';
import { SharedClient } from '../../server/testing/shared-client.js';
import { startApi, type TestApi } from '../../server/testing/test-api.js';
import { damaged, damages } from './damage.js';
import { fuzz } from './fuzz.js';

const HELLO = '{"type":"hello"}';
const READ = '{"type":"read","id":1,"keys":["default/canary"]}';
const PAYLOADS = [SESSION_SUBPROTOCOLS.json, HELLO, READ, '', '\u0003\u00e8', '\u0000\u0001\u0000\u0000'];
const entry = fc.tuple(
  fc.constantFrom(...Object.values(ENTRY)),
  fc.integer({ min: 1, max: 5 }),
  fc.constantFrom(...PAYLOADS).map((text) => Buffer.from(text, 'latin1')),
);
const entries = fc.array(entry, { maxLength: 12 });
const messageOf = (list: readonly (readonly [number, number, Uint8Array])[]): Uint8Array => {
  const writer = new EntryWriter();
  for (const [kind, channel, payload] of list) writer.bytes(kind, channel, payload);
  return writer.take();
};
/** The messages of a correct client: three sessions that read. */
const GOOD = messageOf(
  [1, 2, 3].flatMap((channel): [number, number, Uint8Array][] => [
    [ENTRY.open, channel, Buffer.from(SESSION_SUBPROTOCOLS.json)],
    [ENTRY.text, channel, Buffer.from(HELLO)],
    [ENTRY.text, channel, Buffer.from(READ)],
  ]),
);

describe('shared sockets', () => {
  let api: TestApi;
  let other: SharedClient;
  let session: Awaited<ReturnType<SharedClient['greeted']>>;
  let lastId = 0;
  beforeAll(async () => {
    api = await startApi();
    api.cluster.put('default/canary', '"alive"');
    api.cluster.stabilise();
    other = await SharedClient.open(api.url);
    session = await other.greeted();
  });
  afterAll(() => api.close());

  /** Sends messages and a last one that ends the socket, and checks the close code. */
  async function send(messages: readonly Uint8Array[]): Promise<void> {
    const client = await SessionClient.open(api.url, SHARED_SUBPROTOCOL).catch(() => undefined);
    if (client === undefined) throw new Error('no socket');
    client.socket.removeAllListeners('message');
    for (const message of messages) client.socket.send(message);
    client.close();
    expect([1000, 1005, 1009, 4400]).toContain(await client.closed);
    session.send({ type: 'read', id: ++lastId, keys: ['default/canary'] });
    expect(await session.answer(lastId)).toMatchObject({ values: [[expect.any(Number), '"alive"']] });
  }

  fuzz(
    'shared sockets survive bytes of any kind',
    60,
    [fc.array(fc.uint8Array({ maxLength: 100 }), { maxLength: 4 })],
    send,
  );

  fuzz('shared sockets survive entries of any kind', 150, [fc.array(entries.map(messageOf), { maxLength: 5 })], send);

  fuzz('shared sockets survive damaged messages', 150, [damages], async (changes) => {
    await send([damaged(Buffer.from(GOOD), changes), GOOD]);
  });

  it('shared sockets have released all that they held', async () => {
    while (api.app.sessionCounts().sockets > 1) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(api.app.sessionCounts()).toEqual({ sockets: 1, sharedSockets: 1, sessions: 1 });
    session.close();
  });
});
