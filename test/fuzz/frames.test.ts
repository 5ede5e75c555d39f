/** The decoder of frames from a link: any bytes give a frame of the declared shape or `MalformedMessage`. */
import { MalformedMessage } from '@isochron/core';
import { SAMPLE_CONTEXT, transactionSamples } from '@isochron/testing/samples';
import { FrameCodec } from '@isochron/wire';
import { pack, unpack } from '@isochron/wire/msgpack';
import fc from 'fast-check';
import { type NodeMessage, nodeSchema } from '../../server/src/node/messages.js';
import { servedProtocol } from '../../server/src/node/protocols.js';
import { largestAllocation } from './allocations.js';
import { damaged, damages, GIANT_HEADERS } from './damage.js';
import { fuzz } from './fuzz.js';
import { hostileValue, nested, place, replaced } from './hostile.js';

const codec = new FrameCodec<NodeMessage>(nodeSchema(servedProtocol('paris')));
const { now: NOW } = SAMPLE_CONTEXT;
const paris = transactionSamples(SAMPLE_CONTEXT);
const entry = { key: 'default/a', ct: NOW, txId: 'abcdefghijklmnopqrstuv.0', value: '1' };
const sessions: readonly NodeMessage[] = [
  { type: 'SessionCacheReq', ref: 1, session: 'abcdefghijklmnopqrstuv' },
  {
    type: 'SessionCacheResp',
    ref: 1,
    found: true,
    gapped: false,
    complete: 5,
    ust: NOW,
    hwt: NOW,
    entries: [entry, { ...entry, value: null }],
  },
];
const messages: readonly NodeMessage[] = [...Object.values(paris), ...sessions];

/** A frame of one to five messages. */
const frames = fc.array(fc.constantFrom(...messages), { minLength: 1, maxLength: 5 }).map((chosen) => ({
  hlc: NOW,
  envelopes: chosen.map((message) => ({ to: 'replica/0', from: 'coordinator', message })),
}));

/** Whether the bytes are refused; the only error allowed is `MalformedMessage`. */
function refuses(bytes: Uint8Array): boolean {
  try {
    codec.decode(bytes);
    return false;
  } catch (error) {
    if (error instanceof MalformedMessage) return true;
    throw error;
  }
}

/** A frame that is not refused has the declared shape: encoding and decoding it gives an equal frame. */
function refusesOrDecodes(bytes: Uint8Array): void {
  if (refuses(bytes)) return;
  const frame = codec.decode(bytes);
  expect(codec.decode(codec.encode(frame))).toEqual(frame);
}

describe('frames', () => {
  it.each(messages.map((message) => [message.type, message] as const))(
    'a frame of %s is decoded as it was encoded',
    (_, message) => {
      const frame = { hlc: NOW, envelopes: [{ to: 'a', from: 'b', message }] };
      expect(codec.decode(codec.encode(frame))).toEqual(frame);
    },
  );

  fuzz('random bytes are refused, or decode to a frame', 2000, [fc.uint8Array({ maxLength: 300 })], (bytes) => {
    refusesOrDecodes(bytes);
  });

  fuzz(
    'damaged frames are refused, or decode to a frame of the declared shape',
    2000,
    [frames, damages],
    (frame, changes) => {
      refusesOrDecodes(damaged(codec.encode(frame), changes));
    },
  );

  fuzz(
    'frames with a hostile part are refused, or decode to a frame of the declared shape',
    2000,
    [frames, fc.array(fc.tuple(place, hostileValue), { minLength: 1, maxLength: 3 })],
    (frame, parts) => {
      const raw = unpack(codec.encode(frame));
      refusesOrDecodes(pack(parts.reduce((spoilt, [at, value]) => replaced(spoilt, at, () => value), raw)));
    },
  );

  fuzz(
    'a declared length is refused before its memory is allocated',
    1000,
    [frames, fc.nat({ max: 1 << 20 }), fc.constantFrom(...GIANT_HEADERS)],
    (frame, at, header) => {
      const bytes = damaged(codec.encode(frame), [{ kind: 'overwrite', at, bytes: header }]);
      expect(largestAllocation(() => refuses(bytes))).toBeLessThanOrEqual(bytes.length);
    },
  );

  it.each(GIANT_HEADERS.map((header) => [Buffer.from(header).toString('hex'), header] as const))(
    'the header %s alone allocates no memory',
    (_, header) => {
      expect(largestAllocation(() => expect(refuses(header)).toBe(true))).toBeLessThanOrEqual(header.length);
    },
  );

  it('the allocation counter counts allocations', () => {
    const makers = [() => new Array(5e6), () => new Uint8Array(5e6), () => Buffer.alloc(5e6), () => Array(5e6)];
    for (const make of makers) expect(largestAllocation(make)).toBe(5e6);
  });

  it.each([1000, 20_000, 500_000])('an array %i levels deep is refused', (depth) => {
    const bytes = new Uint8Array(depth + 1).fill(0x91);
    bytes[depth] = 0;
    expect(refuses(bytes)).toBe(true);
    expect(refuses(pack([NOW, 0, nested(500)]))).toBe(true);
  });

  it('a reference is refused, so that 500 bytes never become millions of parts', () => {
    const doubled = [0xdc, 0, 26, 0xd6, 0x69, 0, 0, 0, 0, 0x90];
    for (let i = 1; i < 26; i++) doubled.push(0xd6, 0x69, 0, 0, 0, i, 0x92, ...reference(i - 1), ...reference(i - 1));
    for (const bytes of [Uint8Array.from(doubled), Uint8Array.from([...doubled, 0xc0])]) {
      expect(() => codec.decode(bytes)).toThrow('extension');
    }
  });

  fuzz(
    'every MessagePack extension is refused',
    500,
    [fc.nat({ max: 255 }), fc.constantFrom(0xc7, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8), fc.uint8Array({ maxLength: 20 })],
    (type, header, content) => {
      const length = header === 0xc7 ? [content.length] : [];
      const bytes = Uint8Array.from([0x93, 0, 0, header, ...length, type, ...content]);
      expect(refuses(bytes)).toBe(true);
    },
  );

  it('data after a value is not printed in the error that refuses it', () => {
    const json = jest.spyOn(JSON, 'stringify');
    try {
      expect(() => codec.decode(Uint8Array.from([...pack([NOW, 0, []]), 1, 2]))).toThrow('2 bytes too many');
      expect(json).not.toHaveBeenCalled();
    } finally {
      json.mockRestore();
    }
  });

  it('a field name from a peer never reaches the prototype of an object', () => {
    const map = [0x81, 0xa9, ...Buffer.from('__proto__'), 0x81, 0xa5, ...Buffer.from('admin'), 0xc3];
    const value = unpack(Uint8Array.from(map));
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect('admin' in {}).toBe(false);
    expect(refuses(Uint8Array.from([0x93, 0, 0, ...map]))).toBe(true);
  });
});

const reference = (id: number): number[] => [0xd6, 0x70, 0, 0, 0, id];
