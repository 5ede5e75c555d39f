/** Documents and updates at random. As texts: a spelling that JSON allows matters as much as a value. */
import { readDocument } from '@isochron/core/read-document';
import fc from 'fast-check';

/** Names with a meaning of their own in JavaScript, in pointers or in Unicode. Few, so that paths meet members. */
const NAMES = [
  ...['a', 'b', 'n', 't', '', '0', '1', '10', '2', '01', '-', '4294967294', '4294967295', '1e3', '-1'],
  ...['__proto__', 'constructor', 'toString', 'toJSON', 'length', 'a/b', '~', '~1', '"\\\n\u0001\u007f'],
  ...['\u00e9', 'e\u0301', '\u0301', '\ud834\udd1e', '\uffff', '\u2028'],
];

const NUMBERS = [
  ...['0', '-0', '1', '1.0', '-1', '2', '0.1', '0.2', '0.30000000000000004', '1E2', '1e+2', '100e-2', '-2.50'],
  ...['9007199254740991', '9007199254740992', '-9007199254740991', '9007199254740990', '123456789012345680'],
  ...['9223372036854776000', '1e20', '1e21', '123456789012345680000', '1e-6', '1e-7', '9007199254740993.5'],
  ...['1.7e308', '-1.7e308', '1.7976931348623157e308', '5e-324', '2.2250738585072014e-308', '4.35', '0.000001'],
];
/** Values that no door takes (F8). */
const REFUSED = [
  ...[
    '1e400',
    '-1E999',
    `1${'0'.repeat(400)}`,
    '1e-400',
    '9007199254740993',
    '-9007199254740993.0',
    '123456789012345678',
  ],
  ...['9223372036854775807', '9223372036854775808', '1152921504606846976', '90071992547409930e-1'],
  ...[
    '"\\ud800"',
    '"\\udc00\\ud834"',
    '"\\ud834\\ud834\\udd1e"',
    '{"\\udfff":1}',
    '{"a":1,"a":2}',
    '{"\u00e9":1,"\\u00e9":2}',
  ],
];

const TEXTS = [
  '""',
  '"x"',
  '"1"',
  '"\\u0041\\/\\n"',
  '"\\ud834\\udd1e"',
  '"caf\u00e9"',
  '"cafe\u0301"',
  '"\\\\ud800 1e400"',
];

const name = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...NAMES) }, fc.string({ maxLength: 3, unit: 'binary' }));

const number = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc.integer({ min: -5, max: 5 }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.maxSafeInteger().map(String),
);

const leaf = fc.oneof(
  number,
  fc.constantFrom('null', 'true', 'false', ...TEXTS),
  fc.string({ maxLength: 4, unit: 'binary' }).map((text) => JSON.stringify(text)),
);

const space = fc.constantFrom('', '', '', '', ' ', '\n\t');

type Member = [before: string, name: string, after: string, value: string];

const memberText = ([before, named, after, value]: Member): string =>
  `${before}${JSON.stringify(named)}${after}:${value}`;

/** Texts of JSON values whose leaves are of `leaves`. */
function json(leaves: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const { value } = fc.letrec<{ value: string; member: Member }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      { weight: 3, arbitrary: leaves },
      { weight: 2, arbitrary: fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join()}]`) },
      {
        weight: 4,
        arbitrary: fc
          .uniqueArray(tie('member'), { maxLength: 5, selector: ([, named]) => named })
          .map((members) => `{${members.map(memberText).join()}}`),
      },
    ),
    member: fc.tuple(space, name, space, tie('value')),
  }));
  return value;
}

const clean = json(leaf);
/** Texts of documents and of what no door takes, in any spelling. */
export const given = json(fc.oneof({ weight: 30, arbitrary: leaf }, fc.constantFrom(...REFUSED)));

/** The normal form of a text; the text itself where no door takes it: no replica should have it then. */
function stored(text: string): string {
  try {
    return readDocument(text).text;
  } catch {
    return text;
  }
}

const pointer = fc
  .array(name, { maxLength: 4, size: 'small' })
  .map((names) => names.map((one) => `/${one.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''));

const items = fc.array(clean, { maxLength: 4 }).map((all) => `[${all.join()}]`);
const path = pointer.map((one) => `"path":${JSON.stringify(one)}`);

const kind = (op: string, ...members: fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
  fc.tuple(...members).map((all) => `{${[`"op":"${op}"`, ...all].join()}}`);

const named = (member: string, value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  value.map((text) => `"${member}":${text}`);

const operation = fc.oneof(
  { weight: 4, arbitrary: kind('set', path, named('value', clean)) },
  { weight: 2, arbitrary: kind('remove', path) },
  { weight: 3, arbitrary: kind('mergePatch', path, named('patch', clean)) },
  { weight: 3, arbitrary: kind('increment', path, named('by', number)) },
  { weight: 2, arbitrary: kind('max', path, named('value', number)) },
  { weight: 2, arbitrary: kind('min', path, named('value', number)) },
  { weight: 3, arbitrary: kind('arrayUnion', path, named('items', items)) },
  { weight: 3, arbitrary: kind('arrayRemove', path, named('items', items)) },
  { weight: 2, arbitrary: kind('append', path, named('items', items)) },
  { weight: 1, arbitrary: kind('serverTimestamp', path) },
  { weight: 2, arbitrary: kind('init', named('value', clean)) },
);

/** An operation whose path leads to a member of the document, which small ones often miss otherwise. */
const shallow = fc
  .tuple(fc.constantFrom('/a', '/n', '/t', '/0', '/a/b', '/__proto__', ''), operation)
  .map(([place, text]) => text.replace(/"path":"(?:[^"\\]|\\.)*"/, `"path":"${place}"`));

const operations = fc
  .array(fc.oneof(operation, shallow), { minLength: 1, maxLength: 4 })
  .map((all) => stored(`[${all.join()}]`));

/** A document, and the operations of the updates that follow it. */
export interface DrawnFold {
  readonly base: string | Uint8Array | null;
  readonly updates: readonly string[];
}

const base = fc.oneof(
  { weight: 20, arbitrary: given.map(stored) },
  { weight: 1, arbitrary: given },
  { weight: 6, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom('', 'text', '{"a":1', '{"a":01}', '[1,]', '"\t"') },
);

const fold: fc.Arbitrary<DrawnFold> = fc.record({
  base,
  updates: fc.array(operations, { minLength: 1, maxLength: 4 }),
});

export const drawFolds = (seed: number, numRuns: number): DrawnFold[] => fc.sample(fold, { seed, numRuns });
