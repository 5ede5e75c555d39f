import fc from 'fast-check';
import { MAX_TIMESTAMP } from './hlc.js';
import {
  boolean,
  content,
  count,
  type Infer,
  type Kind,
  list,
  MalformedMessage,
  type MessageOf,
  type MessageSchema,
  message,
  newestTimestamp,
  nullable,
  object,
  oneOf,
  optional,
  struct,
  text,
  timestamp,
  uint,
  value,
} from './schema.js';
import { Update } from './updates/update.js';

interface Inner {
  readonly at: number;
  readonly name: string | undefined;
}

interface Outer {
  readonly flag: boolean;
  readonly state: 'open' | 'closed';
  readonly items: readonly Inner[];
  readonly value: string | Uint8Array | null;
  readonly last: number | undefined;
}

const inner = struct<Inner>({ at: timestamp, name: optional(text(10)) });
const outer = struct<Outer>({
  flag: boolean,
  state: oneOf('open', 'closed'),
  items: list(inner, 5),
  value: nullable(value),
  last: optional(timestamp),
});

const anyTimestamp = fc.integer({ min: 0, max: MAX_TIMESTAMP });
const anyOuter: fc.Arbitrary<Outer> = fc.record({
  flag: fc.boolean(),
  state: fc.constantFrom('open', 'closed'),
  items: fc.array(fc.record({ at: anyTimestamp, name: fc.option(fc.string({ maxLength: 10 }), { nil: undefined }) }), {
    maxLength: 5,
  }),
  value: fc.oneof(fc.string(), fc.uint8Array(), fc.constant(null)),
  last: fc.option(anyTimestamp, { nil: undefined }),
});

test('what is encoded comes back as it was', () => {
  fc.assert(fc.property(anyOuter, (object) => expect(outer.decode(outer.encode(object))).toEqual(object)));
});

test('optional fields that are absent at the end take no place', () => {
  expect(inner.encode({ at: 1, name: undefined })).toEqual([1]);
  expect(inner.decode([1])).toEqual({ at: 1 });
  expect(inner.decode([1, null])).toEqual({ at: 1 });
});

test('an update is encoded as a list of one text, its operations', () => {
  const update = new Update('[{"op":"increment","path":"/n","by":1}]');
  expect(content.encode(update)).toEqual([update.operations]);
  expect(content.decode(content.encode(update))).toEqual(update);
  for (const raw of [[], [1], ['a', 'b'], {}]) expect(() => content.decode(raw)).toThrow(MalformedMessage);
});

test('fields that a newer version appends are ignored', () => {
  expect(inner.decode([1, 'a', 'new'])).toEqual({ at: 1, name: 'a' });
});

test('whatever comes from outside is decoded to the declared shape or refused as malformed', () => {
  fc.assert(
    fc.property(fc.anything({ withTypedArray: true }), (raw) => {
      for (const kind of [outer, inner, list(inner), oneOf('a', 'b'), uint, count, timestamp] as Kind<unknown>[]) {
        try {
          const decoded = kind.decode(raw);
          expect(kind.decode(kind.encode(decoded))).toEqual(decoded);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedMessage);
        }
      }
    }),
  );
});

test.each<[string, Pick<Kind<unknown>, 'decode'>, unknown]>([
  ['a negative timestamp', timestamp, -1],
  ['a timestamp above the limit', timestamp, MAX_TIMESTAMP + 1],
  ['a fraction', count, 0.5],
  ['an integer of more than 32 bits', uint, 2 ** 32],
  ['a text that is too long', text(3), 'abcd'],
  ['a number as a value', value, 1],
  ['a position outside of the list', oneOf('a'), 1],
  ['the name in place of the position', oneOf('a'), 'a'],
  ['a list that is too long', list(uint, 2), [1, 2, 3]],
  ['an object in place of fields', inner, { at: 1 }],
  ['a missing field', inner, []],
])('%s is malformed', (_name, kind, raw) => {
  expect(() => kind.decode(raw)).toThrow(MalformedMessage);
});

test('the message of a malformed field names the field', () => {
  expect(() => outer.decode([true, 0, [[-1]], null])).toThrow('items: at: expected a timestamp');
});

test('the newest timestamp of a message is the highest one anywhere in it, and 0 where it has none', () => {
  type Message =
    | { readonly type: 'dated'; readonly outer: Outer; readonly at: number }
    | { readonly type: 'plain'; readonly n: number };
  const newest = newestTimestamp<Message>({
    dated: { tag: 1, fields: { outer, at: timestamp } },
    plain: { tag: 2, fields: { n: count } },
  });
  fc.assert(
    fc.property(anyOuter, anyTimestamp, (object, at) => {
      const all = [at, object.last ?? 0, ...object.items.map((item) => item.at)];
      expect(newest({ type: 'dated', outer: object, at })).toBe(Math.max(...all));
    }),
  );
  expect(newest({ type: 'plain', n: 5 })).toBe(0);
});

/** Whether two types are the same, in what they have and in what they allow to be absent or written. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

describe('a message that is declared once', () => {
  const Part = object({ at: timestamp, name: optional(text(10)) });
  type Part = Infer<typeof Part>;
  const Ask = message('Ask', 1, { ref: uint, parts: list(Part, 5), note: optional(text(5)) });
  type Ask = Infer<typeof Ask>;
  const Forward = message('Forward', 2, { request: Ask });
  const messages = { Ask, Forward };
  type Any = MessageOf<typeof messages>;

  it('a message that is declared once has the type that its fields give: those that may be undefined may be absent', () => {
    const part: Same<Part, { readonly at: number; readonly name?: string | undefined }> = true;
    const ask: Same<
      Ask,
      {
        readonly type: 'Ask';
        readonly ref: number;
        readonly parts: readonly Part[];
        readonly note?: string | undefined;
      }
    > = true;
    const any: Same<Any, Ask | { readonly type: 'Forward'; readonly request: Ask }> = true;
    expect([part, ask, any]).toEqual([true, true, true]);
  });

  it('a message that is declared once is part of a schema under the name of its type only', () => {
    const whole: typeof messages extends MessageSchema<Any> ? true : false = true;
    const short: { Ask: typeof Ask } extends MessageSchema<Any> ? true : false = false;
    const swapped: { Ask: typeof Forward; Forward: typeof Ask } extends MessageSchema<Any> ? true : false = false;
    expect([whole, short, swapped]).toEqual([true, false, false]);
  });

  it('a message is encoded as the field of another by its mark and its fields, and keeps its newest timestamp', () => {
    const ask: Ask = { type: 'Ask', ref: 7, parts: [{ at: 5, name: 'a' }, { at: 9 }] };
    const raw = Ask.encode(ask);
    expect(raw).toEqual([0, 7, [[5, 'a'], [9]]]);
    expect(Ask.decode(raw)).toEqual(ask);
    expect(() => Ask.decode([1, 7, []])).toThrow('type: expected one of Ask');
    expect(newestTimestamp<Any>(messages)({ type: 'Forward', request: ask })).toBe(9);
  });
});
