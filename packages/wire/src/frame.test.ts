import {
  boolean,
  list,
  MAX_TIMESTAMP,
  MalformedMessage,
  type MessageSchema,
  nullable,
  oneOf,
  struct,
  type Timestamp,
  text,
  timestamp,
  uint,
  type Value,
  value,
} from '@isochron/core';
import fc from 'fast-check';
import { Packr } from 'msgpackr/index-no-eval';
import { type Frame, FrameCodec } from './frame.js';

interface Write {
  key: string;
  value: Value | null;
}
type Message =
  | { type: 'Ping'; n: number }
  | { type: 'Stop' }
  | {
      type: 'Store';
      ts: Timestamp;
      writes: readonly Write[];
      mode: 'fast' | 'safe';
      urgent: boolean;
      note: string | null;
    };

const schema: MessageSchema<Message> = {
  Ping: { tag: 1, fields: { n: uint } },
  Stop: { tag: 2, fields: {} },
  Store: {
    tag: 7,
    fields: {
      ts: timestamp,
      writes: list(struct<Write>({ key: text(20), value: nullable(value) }), 10),
      mode: oneOf('fast', 'safe'),
      urgent: boolean,
      note: nullable(text(20)),
    },
  },
};

const codec = new FrameCodec<Message>(schema, { maxEnvelopes: 40 });
const packr = new Packr({ useRecords: false });
const frameOf = (...envelopes: unknown[]) => packr.pack([5, envelopes]);
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const fixed: Frame<Message> = {
  hlc: 123_456_789_012_345,
  envelopes: [
    { to: 'replica/3', from: 'coordinator', message: { type: 'Ping', n: 300 } },
    { to: 'client', from: 'replica/3', message: { type: 'Stop' } },
    {
      to: 'replica/3',
      from: 'replica/3',
      message: {
        type: 'Store',
        ts: 123_456_789_000_000,
        writes: [
          { key: 'default/é', value: '{"a":1}' },
          { key: 'k', value: Uint8Array.of(0, 255, 7) },
          { key: 'gone', value: null },
        ],
        mode: 'safe',
        urgent: true,
        note: null,
      },
    },
  ],
};

const writeOf: fc.Arbitrary<Write> = fc.record({
  key: fc.string({ unit: 'grapheme', maxLength: 10 }).filter((key) => key.length <= 20),
  value: fc.option(fc.oneof(fc.string({ maxLength: 300 }), fc.uint8Array({ maxLength: 300 }))),
});
const tsOf = fc.oneof(fc.nat(), fc.integer({ min: 0, max: MAX_TIMESTAMP }));
const messageOf: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ type: fc.constant('Ping' as const), n: fc.integer({ min: 0, max: 2 ** 32 - 1 }) }),
  fc.record({ type: fc.constant('Stop' as const) }),
  fc.record({
    type: fc.constant('Store' as const),
    ts: tsOf,
    writes: fc.array(writeOf, { maxLength: 10 }),
    mode: fc.constantFrom('fast' as const, 'safe' as const),
    urgent: fc.boolean(),
    note: fc.option(fc.string({ maxLength: 20 })),
  }),
);
const nameOf = fc.string({ minLength: 1, maxLength: 64 });
const anyFrame = fc.record({
  hlc: tsOf,
  envelopes: fc.array(fc.record({ to: nameOf, from: nameOf, message: messageOf }), { maxLength: 40 }),
});

/** Decodes, and passes only if the bytes are a frame or cause the typed error. */
function decodesOrRefuses(bytes: Uint8Array): void {
  try {
    codec.decode(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(MalformedMessage);
  }
}

describe('FrameCodec', () => {
  it('FrameCodec keeps its format: these bytes are what older nodes send and newer nodes read', () => {
    const golden =
      '92cb42dc12218377de409394a97265706c6963612f33ab636f6f7264696e61746f7201cd012c93a6636c69656e74a97265' +
      '706c6963612f330298a97265706c6963612f33a97265706c6963612f3307cb42dc1221836bd0009392aa64656661756c742f' +
      'c3a9a77b2261223a317d92a16bc40300ff0792a4676f6e65c001c3c0';
    expect(hex(codec.encode(fixed))).toBe(golden);
    expect(codec.decode(Buffer.from(golden, 'hex'))).toEqual(fixed);
  });

  it('FrameCodec decodes every frame to what it encoded', () => {
    fc.assert(fc.property(anyFrame, (frame) => expect(codec.decode(codec.encode(frame))).toEqual(frame)));
  });

  it('FrameCodec decodes random bytes to a frame or to MalformedMessage', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), decodesOrRefuses), { numRuns: 5000 });
  });

  it('FrameCodec decodes damaged bytes to a frame or to MalformedMessage', () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(anyFrame, damage, fc.nat(), (frame, changes, cut) => {
        const bytes = Uint8Array.from(codec.encode(frame));
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
        decodesOrRefuses(bytes);
        decodesOrRefuses(bytes.subarray(0, cut % bytes.length));
      }),
      { numRuns: 1000 },
    );
  });

  it('FrameCodec decodes well-formed MessagePack of another shape to MalformedMessage', () => {
    const inside = fc.anything({ withDate: true, withMap: true, withTypedArray: true, withBigInt: false });
    fc.assert(
      fc.property(fc.array(fc.array(inside, { maxLength: 8 })), inside, (envelopes, other) => {
        decodesOrRefuses(frameOf(...envelopes));
        decodesOrRefuses(frameOf(['to', 'from', 7, ...(envelopes[0] ?? [])]));
        decodesOrRefuses(packr.pack(other));
      }),
      { numRuns: 1000 },
    );
  });

  it.each<[string, unknown, string]>([
    ['an unknown tag', ['a', 'b', 99], 'unknown message tag 99'],
    ['a tag that is not a number', ['a', 'b', '1'], 'unknown message tag of type string'],
    ['a missing field', ['a', 'b', 1], 'Ping.n: expected an unsigned integer'],
    ['a field of another kind', ['a', 'b', 1, 'x'], 'Ping.n: expected an unsigned integer'],
    ['a timestamp above the limit', ['a', 'b', 7, MAX_TIMESTAMP + 1], 'Store.ts: expected a timestamp'],
    ['a bad part of a nested field', ['a', 'b', 7, 1, [['k', 5]]], 'Store.writes: value: expected a value'],
    ['a machine name over 64 characters', ['a'.repeat(65), 'b', 2], 'expected a machine name'],
    ['an empty machine name', ['a', '', 2], 'expected a machine name'],
    ['an envelope that is not an array', { 0: 'a' }, 'expected a message'],
  ])('FrameCodec refuses %s', (_what, envelope, detail) => {
    const decode = () => codec.decode(frameOf(envelope));
    expect(decode).toThrow(MalformedMessage);
    expect(decode).toThrow(detail);
  });

  it.each<[string, unknown]>([
    ['something that is not an array', { hlc: 5 }],
    ['a clock that is not a timestamp', ['5', []]],
    ['envelopes that are not an array', [5, 'x']],
  ])('FrameCodec refuses %s as a frame', (_what, raw) => {
    expect(() => codec.decode(packr.pack(raw))).toThrow(MalformedMessage);
  });

  it('FrameCodec refuses a frame with more messages than the limit, and does not make one', () => {
    const stop = ['a', 'b', 2];
    expect(codec.decode(frameOf(...Array(40).fill(stop))).envelopes).toHaveLength(40);
    expect(() => codec.decode(frameOf(...Array(41).fill(stop)))).toThrow('at most 40 messages');
    const envelope = { to: 'a', from: 'b', message: { type: 'Stop' } } as const;
    expect(() => codec.encode({ hlc: 1, envelopes: Array(41).fill(envelope) })).toThrow('41 messages');
  });

  it('FrameCodec ignores fields that a newer minor version appended, to messages and to frames', () => {
    const raw = packr.pack([5, [['a', 'b', 1, 42, 'new', { more: true }]], 'newer']);
    expect(codec.decode(raw)).toEqual({
      hlc: 5,
      envelopes: [{ to: 'a', from: 'b', message: { type: 'Ping', n: 42 } }],
    });
  });

  it('FrameCodec reads an optional last field that an older minor version does not send as null', () => {
    const [envelope] = codec.decode(frameOf(['a', 'b', 7, 1, [], 0, false])).envelopes;
    expect(envelope?.message).toEqual({ type: 'Store', ts: 1, writes: [], mode: 'fast', urgent: false, note: null });
  });

  it('FrameCodec does not keep the bytes it decoded', () => {
    const bytes = codec.encode(fixed);
    const frame = codec.decode(bytes);
    bytes.fill(0);
    expect(frame).toEqual(fixed);
  });

  it('FrameCodec is not built over a schema that uses a tag twice', () => {
    const twice = { Ping: { tag: 1, fields: { n: uint } }, Pong: { tag: 1, fields: { n: uint } } };
    expect(() => new FrameCodec<{ type: 'Ping'; n: number } | { type: 'Pong'; n: number }>(twice)).toThrow(
      'tag 1 is used by Ping and by Pong',
    );
  });
});
