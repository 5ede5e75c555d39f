/** Sessions over WebSocket: every message gets a response with one of our codes, or ends the connection with one. */
import { isErrorCode } from '@isochron/core';
import { sampleOf } from '@isochron/testing/wire/sample-frames';
import { pack } from '@isochron/wire/msgpack';
import { SESSION_CLOSE, SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import {
  CommitFrame,
  HelloFrame,
  ListFrame,
  OriginFrame,
  REQUEST_FRAMES,
  ReadFrame,
  StableFrame,
} from '@isochron/wire/session-frames/requests';
import fc from 'fast-check';
import { SessionClient } from '../../server/testing/session-client.js';
import { startApi, type TestApi } from '../../server/testing/test-api.js';
import { damaged, damages, GIANT_HEADERS } from './damage.js';
import { fuzz } from './fuzz.js';
import { hostileValue, jsonOf, nested, place, replaced } from './hostile.js';
import { ALL_OPERATIONS } from './operations.js';
import { closeFrame, exchangeFrames, GIANT_FRAME, maskedFrame } from './sockets.js';

const { get: _get, rot: _rot, put: _put, ...requests } = REQUEST_FRAMES;
/** A write of every kind. */
const writes = [
  { key: 'default/a', value: '{"a":1}' },
  { key: 'default/b', value: null },
  { key: 'default/c', value: { bytes: 'AAEC' } },
  { key: 'default/d', value: { operations: JSON.stringify(ALL_OPERATIONS) } },
];
/** Correct frames. */
const GOOD: readonly object[] = [
  ...Object.values(requests).map((kind) => sampleOf<object>(kind, 'no optional field')),
  { ...sampleOf(CommitFrame, 'no optional field'), snapshot: 0, hwt: 0, sentAfter: 0, writes },
  { ...sampleOf(ReadFrame, 'no optional field'), keys: ['default/a', 'default/b'] },
  { ...sampleOf(ListFrame, 'no optional field'), prefix: 'a', limit: 3 },
  { ...sampleOf(OriginFrame), at: 1 },
  { ...sampleOf(StableFrame), ts: 1, timeoutMs: 1 },
];
const HELLO = { ...sampleOf(HelloFrame), token: 'A'.repeat(70) };
const good = fc.constantFrom(...GOOD);
const anyFrame = fc.constantFrom(HELLO, ...GOOD);
const encoding = fc.constantFrom(SESSION_SUBPROTOCOLS.json, SESSION_SUBPROTOCOLS.msgpack);
const parts = fc.array(fc.tuple(place, hostileValue), { minLength: 1, maxLength: 3 });

const CLOSES: readonly number[] = [...Object.values(SESSION_CLOSE), 1000, 1002, 1003, 1007];

describe('sessions', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startApi();
    api.cluster.put('default/canary', '"alive"');
    api.cluster.stabilise();
  });
  afterEach(async () => {
    const client = await SessionClient.open(api.url);
    await client.hello();
    client.send({ type: 'read', id: 1, keys: ['default/canary'] });
    expect(await client.answer(1)).toMatchObject({ type: 'values', values: [[expect.any(Number), '"alive"']] });
    client.close();
  });
  afterAll(() => api.close());

  const port = () => Number(new URL(api.url).port);

  /**
   * Sends messages, and then a ping. Every refusal carries a code; a connection that ended has a close code, and one
   * that is open answers the ping.
   */
  async function converse(
    protocol: string,
    messages: readonly (string | Uint8Array)[],
    greet = true,
  ): Promise<SessionClient> {
    const client = await SessionClient.open(api.url, protocol);
    if (greet) await client.hello();
    for (const message of messages) client.socket.send(message);
    client.send({ type: 'ping', id: Number.MAX_SAFE_INTEGER });
    const pong = client.next((frame) => frame.id === Number.MAX_SAFE_INTEGER).catch(() => undefined);
    const answer = await Promise.race([pong, client.closed]);
    for (const frame of client.frames) {
      if (frame.type !== 'error') continue;
      if (!isErrorCode(frame.code)) throw new Error(`no code of ours: ${JSON.stringify(frame)}`);
      expect(['INTERNAL', 'STORAGE_FAILED']).not.toContain(frame.code);
    }
    if (typeof answer === 'number') expect(CLOSES).toContain(answer);
    else client.close();
    return client;
  }

  const encoded = (protocol: string, value: unknown): string | Uint8Array =>
    protocol === SESSION_SUBPROTOCOLS.json ? jsonOf(value) : pack(value);

  it.each(GOOD.map((frame) => [JSON.stringify(frame), frame] as const))('a session answers %s', async (_, frame) => {
    for (const protocol of Object.values(SESSION_SUBPROTOCOLS)) await converse(protocol, [encoded(protocol, frame)]);
  });

  fuzz(
    'a session survives bytes of any kind',
    60,
    [encoding, fc.uint8Array({ maxLength: 200 }), fc.boolean()],
    async (protocol, bytes, greet) => {
      await converse(protocol, [bytes], greet);
    },
  );

  fuzz(
    'a session survives text of any kind',
    60,
    [encoding, fc.string({ unit: 'binary' }), fc.boolean()],
    async (protocol, text, greet) => {
      await converse(protocol, [text], greet);
    },
  );

  fuzz(
    'a session survives damaged frames',
    120,
    [encoding, anyFrame, damages, fc.boolean()],
    async (protocol, frame, changes, greet) => {
      const whole = encoded(protocol, frame);
      const bytes = damaged(Buffer.from(whole), changes);
      await converse(protocol, [typeof whole === 'string' ? Buffer.from(bytes).toString('utf8') : bytes], greet);
    },
  );

  fuzz(
    'a session survives frames with a hostile part',
    200,
    [encoding, anyFrame, parts, fc.boolean()],
    async (protocol, frame, spoilt, greet) => {
      const value = spoilt.reduce<unknown>((part, [at, by]) => replaced(part, at, () => by), frame);
      await converse(protocol, [encoded(protocol, value)], greet);
    },
  );

  fuzz(
    'a session survives many frames in one message',
    30,
    [encoding, fc.array(good, { maxLength: 40 })],
    async (protocol, frames) => {
      const numbered = frames.map((frame, i) => ({ ...frame, id: i + 1 }));
      const client = await converse(protocol, [encoded(protocol, numbered)]);
      for (let id = 1; id <= frames.length; id++)
        expect(client.frames.filter((frame) => frame.id === id)).toHaveLength(1);
    },
  );

  it.each([1000, 50_000])('a session survives values %i levels deep', async (depth) => {
    const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    await converse(SESSION_SUBPROTOCOLS.json, [deep, `{"type":"read","id":1,"keys":${deep}}`]);
    const bytes = new Uint8Array(depth).fill(0x91);
    await converse(SESSION_SUBPROTOCOLS.msgpack, [bytes, pack({ type: 'read', id: 1, keys: nested(500) })]);
  });

  it.each(GIANT_HEADERS.map((header) => [Buffer.from(header).toString('hex'), header] as const))(
    'a session survives a value that declares more than it holds: %s',
    async (_, header) => {
      await converse(SESSION_SUBPROTOCOLS.msgpack, [header]);
    },
  );

  it('a session is not delayed by 500 bytes that stand for millions of parts', async () => {
    const reference = (id: number) => [0xd6, 0x70, 0, 0, 0, id];
    const bytes = [0xdc, 0, 26, 0xd6, 0x69, 0, 0, 0, 0, 0x90];
    for (let i = 1; i < 26; i++) bytes.push(0xd6, 0x69, 0, 0, 0, i, 0x92, ...reference(i - 1), ...reference(i - 1));
    const client = await converse(SESSION_SUBPROTOCOLS.msgpack, [Uint8Array.from([...bytes, 0xc0])], false);
    expect(client.frames).toMatchObject([{ type: 'error', code: 'FRAME_INVALID' }]);
  });

  it.each(['{"type":"ping","id":1}', '{"type":"x","id":2}', '{"type":"ping"}', '0'])(
    'a session answers a message of very many frames %s with one refusal',
    async (frame) => {
      const { maxRequestBytes } = api.node.config.settings.limits;
      for (const count of [1000, Math.floor(maxRequestBytes / (frame.length + 1)) - 1]) {
        const client = await converse(SESSION_SUBPROTOCOLS.json, [`[${Array(count).fill(frame).join(',')}]`]);
        expect(client.frames.slice(1)).toMatchObject([{ type: 'error', code: 'FRAME_INVALID' }]);
        expect(await client.closed).toBe(SESSION_CLOSE.protocolError);
      }
    },
  );

  fuzz(
    'a session survives data that is not WebSocket',
    60,
    [fc.uint8Array({ minLength: 1, maxLength: 100 }), fc.boolean()],
    async (bytes, masked) => {
      await exchangeFrames(port(), '/v1/session', masked ? maskedFrame(bytes) : bytes);
    },
  );

  it('a session ends a connection whose message declares 4 GB, before its payload arrives', async () => {
    const answer = await exchangeFrames(port(), '/v1/session', GIANT_FRAME);
    expect(answer.subarray(0, 4)).toEqual(closeFrame(SESSION_CLOSE.tooLarge));
  });
});
