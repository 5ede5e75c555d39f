/** Queries, and the documents that change under them, at random. */
import fc from 'fast-check';

/** A condition or an order as the file has it: the value is JSON text. */
export interface DrawnCondition {
  readonly path: string;
  readonly op: string;
  readonly value: string;
}

export interface DrawnOrder {
  readonly path: string;
  readonly direction: 'asc' | 'desc';
}

/** A new state of a key: its document as JSON text, bytes as numbers, null without one. */
export interface DrawnState {
  readonly key: string;
  readonly value: string | readonly number[] | null;
  readonly pending: boolean;
}

export interface DrawnQuery {
  readonly where: readonly DrawnCondition[];
  readonly orderBy: readonly DrawnOrder[];
  readonly limit: number | null;
  readonly reverse: boolean;
  /** Named keys in their order; null for a range. */
  readonly named: readonly string[] | null;
  /** Each changes keys once. */
  readonly steps: readonly (readonly DrawnState[])[];
}

/** Few names, keys and values, so that paths meet members and documents meet conditions. */
const NAMES = ['a', 'b', '0', '1', '01', '', '__proto__', 'a/b', '~', '\u00e9', 'e\u0301', '/\u0301'];
const KEYS = ['a', 'b', 'c', 'd', 'e/f', '\u00e9', 'e\u0301', '\uffee', '\u{1f600}', 'ab'];
const LEAVES = [
  ...['null', 'true', 'false', '0', '-0', '1', '1.0', '2', '10', '-1', '0.5', '1e2', '9007199254740993', '1e300'],
  ...['""', '"a"', '"b"', '"1"', '"\\u0061"', '"\\ud83d\\ude00"', '"\uffee"', '"\u00e9"', '"e\u0301"', '"true"'],
];

const name = fc.oneof({ weight: 6, arbitrary: fc.constantFrom('a', 'b') }, fc.constantFrom(...NAMES));
/** Of few values, so that documents meet conditions. */
const common = fc.constantFrom('1', '2', '"a"', '"b"', 'true', 'null');
const leaf = fc.oneof({ weight: 3, arbitrary: common }, { weight: 2, arbitrary: fc.constantFrom(...LEAVES) });

const { value } = fc.letrec<{ value: string; member: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    { weight: 6, arbitrary: leaf },
    { weight: 3, arbitrary: fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join()}]`) },
    { weight: 1, arbitrary: fc.array(tie('member'), { maxLength: 3 }).map((members) => `{${members.join(', ')}}`) },
  ),
  member: fc.tuple(name, tie('value')).map(([named, member]) => `${JSON.stringify(named)}:${member}`),
}));

const member = fc.tuple(name, value).map(([named, text]) => `${JSON.stringify(named)}:${text}`);
const document = fc.oneof(
  { weight: 8, arbitrary: fc.array(member, { maxLength: 4 }).map((members) => `{${members.join()}}`) },
  { weight: 2, arbitrary: value },
);

const escaped = (one: string): string => `/${one.replaceAll('~', '~0').replaceAll('/', '~1')}`;
const path = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('/a', '/b', '/a', '') },
  { weight: 2, arbitrary: fc.array(name, { maxLength: 2 }).map((names) => names.map(escaped).join('')) },
);

const condition = fc.oneof(
  fc.record({
    path,
    op: fc.constantFrom('==', '!=', 'array-contains', 'array-contains'),
    value: fc.oneof({ weight: 4, arbitrary: common }, value),
  }),
  fc.record({
    path,
    op: fc.constantFrom('<', '<=', '>', '>='),
    value: leaf.filter((text) => text !== 'null'),
  }),
  fc.record({
    path,
    op: fc.constant('in'),
    value: fc.array(value, { maxLength: 5 }).map((items) => `[${items.join()}]`),
  }),
);

const order = fc.record({ path, direction: fc.constantFrom('asc' as const, 'desc' as const) });

const state = fc.record({
  key: fc.constantFrom(...KEYS),
  value: fc.oneof(
    { weight: 12, arbitrary: document },
    { weight: 3, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 3 }) },
  ),
  pending: fc.boolean(),
});

const states = (minLength: number, maxLength: number) =>
  fc.uniqueArray(state, { minLength, maxLength, selector: ({ key }) => key });

const query: fc.Arbitrary<DrawnQuery> = fc.record({
  where: fc.oneof(
    { weight: 1, arbitrary: fc.constant([]) },
    { weight: 3, arbitrary: fc.array(condition, { minLength: 1, maxLength: 2 }) },
  ),
  orderBy: fc.array(order, { maxLength: 2 }),
  limit: fc.option(fc.integer({ min: 1, max: 6 })),
  reverse: fc.boolean(),
  named: fc.oneof(
    { weight: 5, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.shuffledSubarray(KEYS, { minLength: 1 }) },
  ),
  steps: fc
    .tuple(states(6, KEYS.length), fc.array(states(1, 4), { minLength: 1, maxLength: 5 }))
    .map(([first, later]) => [first, ...later]),
});

export const drawQueries = (seed: number, numRuns: number): DrawnQuery[] => fc.sample(query, { seed, numRuns });
