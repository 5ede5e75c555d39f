/** Folds at the edges, made by hand. */
import { MAX_FOLDED_BYTES } from '@isochron/core/updates/fold';
import { MAX_OPERATIONS } from '@isochron/core/updates/operations';
import type { DrawnFold } from './draw.js';

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const filled = (bytes: number, rest = ''): string => `{"a":"${'x'.repeat(bytes - 8 - rest.length)}"${rest}}`;
const append = (text: string): string => `[{"op":"append","path":"/l","items":["${text}"]}]`;
const set = (path: string, value: string): string => `[{"op":"set","path":${JSON.stringify(path)},"value":${value}}]`;
const LIMIT = MAX_FOLDED_BYTES;

/** At the limit of a document. They take most of the time of a replay. */
export const LARGE: readonly DrawnFold[] = [
  { base: filled(LIMIT - 6), updates: [set('/b', '1'), set('/c', '1')] },
  { base: filled(LIMIT - 6), updates: [set('/b', '10'), set('/b', '1')] },
  { base: filled(LIMIT - 10), updates: [set('/b', '"\u20ac"')] },
  { base: filled(LIMIT - 9), updates: [set('/b', '"\u20ac"')] },
  { base: filled(LIMIT - 10), updates: [set('/b', '"\u20ac"'), append('x')] },
  { base: filled(LIMIT - 12), updates: [set('/b', '"\\n"'), set('/c', '"\\u0001"')] },
  { base: filled(LIMIT - 16, ',"n":1'), updates: [append('xxx'), append(''), append(''), append('')] },
  {
    base: filled(LIMIT, ',"n":9'),
    updates: ['[{"op":"increment","path":"/n","by":1},{"op":"increment","path":"/n","by":-1}]'],
  },
  {
    base: filled(LIMIT + 100, ',"n":1'),
    updates: ['[{"op":"increment","path":"/n","by":1},{"op":"remove","path":"/a"}]'],
  },
  {
    base: filled(LIMIT + 100, ',"n":1'),
    updates: ['[{"op":"mergePatch","path":"","patch":{"a":null,"b":{}}}]', append('y')],
  },
  {
    base: filled(LIMIT - 20, ',"n":1'),
    updates: ['[{"op":"mergePatch","path":"","patch":{"n":null,"b":"123456789012345678901234"}}]'],
  },
  {
    base: filled(LIMIT - 20, ',"n":1'),
    updates: ['[{"op":"mergePatch","path":"","patch":{"n":null,"b":"1234567890123456789"}}]'],
  },
  {
    base: `[${'100000000000000000000,'.repeat(60_000)}1]`,
    updates: ['[{"op":"append","path":"","items":[1]},{"op":"arrayRemove","path":"","items":[100000000000000000000]}]'],
  },
  { base: '{}', updates: [set('', filled(LIMIT + 1)), set('/b', '1')] },
  { base: null, updates: [`[{"op":"init","value":${filled(LIMIT + 1)}}]`] },
  { base: '{}', updates: [set('/a', `"${'x'.repeat(LIMIT - 8)}"`), set('/b', '1')] },
  { base: '{}', updates: [set('/a', `"${'x'.repeat(LIMIT - 7)}"`), set('/b', '1')] },
  { base: Uint8Array.from({ length: 3000 }, () => 7), updates: [set('/a', '1')] },
];

const DEEP: readonly DrawnFold[] = [
  { base: nested(128), updates: ['[{"op":"set","path":"/0/0","value":1}]'] },
  { base: nested(129), updates: ['[{"op":"remove","path":"/0"}]', '[{"op":"init","value":1}]', set('/a', '1')] },
  { base: '{}', updates: [set('/a'.repeat(128), '1'), `[{"op":"remove","path":"${'/a'.repeat(128)}"}]`] },
  { base: '{}', updates: [set('/a'.repeat(129), '1')] },
  { base: '{}', updates: [set('/a', nested(127)), set('/b', nested(128))] },
  { base: '{}', updates: [`[{"op":"append","path":"/a","items":[${nested(126)}]}]`] },
  { base: '{}', updates: [`[{"op":"append","path":"/a","items":[${nested(127)}]}]`] },
  { base: '{}', updates: [`[{"op":"mergePatch","path":"","patch":{"a":${nested(127)}}}]`] },
  { base: '{}', updates: [`[{"op":"mergePatch","path":"","patch":{"a":${nested(128)}}}]`] },
];

/** Numbers at the end of their range, items that are equal in another order, and texts that no door takes (F8). */
const EQUAL: readonly DrawnFold[] = [
  { base: '{"n":1.7e+308}', updates: ['[{"op":"increment","path":"/n","by":1.7e+308}]'] },
  { base: '{"n":-1.7e+308}', updates: ['[{"op":"increment","path":"/n","by":-1.7e+308}]'] },
  ...[1, -1, 0.5, -0.5, 9007199254740991].map((by) => ({
    base: '[9007199254740991,-9007199254740991,9007199254740992,1e+300]',
    updates: [0, 1, 2, 3].map((i) => `[{"op":"increment","path":"/${i}","by":${by}}]`),
  })),
  { base: '{"l":[{"a":1,"b":[2]}]}', updates: ['[{"op":"arrayUnion","path":"/l","items":[{"b":[2],"a":1}]}]'] },
  { base: '{"l":[{"a":1,"b":2},1]}', updates: ['[{"op":"arrayRemove","path":"/l","items":[{"b":2,"a":1},"1"]}]'] },
  ...[
    ...[' {}', '{"n":1.0}', '{"b":1,"1":2}', '{"a":1,"a":1}', '{"n":-0}', '{"n":9007199254740993}', '{"n":1e400}'],
    ...['{"t":"\\ud800"}', '{"\\udc00":1}', '"\\ud800"', '1e400', '9007199254740993', '-0'],
  ].map((base) => ({ base, updates: ['[{"op":"remove","path":"/x"}]', '[{"op":"increment","path":"/a","by":1}]'] })),
];

/** Texts that are no update, or one at a limit. */
const INVALID: readonly string[] = [
  ...[
    '',
    'null',
    '{}',
    '[]',
    '[',
    '[1]',
    '[[]]',
    '[{}]',
    '[{"op":null}]',
    '[{"op":"toString","path":""}]',
    '[{"op":"init"}]',
  ],
  '[{"op":"init","path":"","value":1}]',
  '[{"op":"set","path":"/a"}]',
  '[{"op":"set","path":"/a","value":1,"by":1}]',
  '[{"op":"set","path":"a","value":1}]',
  '[{"op":"set","path":"/~","value":1}]',
  '[{"op":"set","path":"/~2","value":1}]',
  '[{"op":"set","path":["a"],"value":1}]',
  '[{"op":"increment","path":"/a","by":"1"}]',
  '[{"op":"increment","path":"/a","by":null}]',
  '[{"op":"increment","path":"/a","by":1e400}]',
  '[{"op":"max","path":"/a","value":true}]',
  '[{"op":"min","path":"/a"}]',
  '[{"op":"append","path":"/a","items":1}]',
  '[{"op":"arrayUnion","path":"/a","items":{"length":1}}]',
  '[{"op":"set","path":"/a","value":"\\ud800"}]',
  '[{"op":"set","path":"/a","value":{"\\udc00":1}}]',
  '[{"op":"set","path":"/\\ud800","value":1}]',
  '[{"op":"set","path":"/a","value":[-1e999]}]',
  '[{"op":"set","path":"/a","value":1},{"op":"unknown","path":""}]',
  '[{"op":"set","path":"/b","path":"/a","value":0,"value":1}]',
  ' [ { "value" : 1 , "path" : "/a" , "op" : "set" } ] ',
  `[${'{"op":"increment","path":"/n","by":1},'.repeat(MAX_OPERATIONS - 1)}{"op":"increment","path":"/n","by":1}]`,
  `[${'{"op":"increment","path":"/n","by":1},'.repeat(MAX_OPERATIONS)}{"op":"increment","path":"/n","by":1}]`,
  `[${'['.repeat(1000)}`,
];

export const EDGES: readonly DrawnFold[] = [
  ...DEEP,
  ...EQUAL,
  ...INVALID.map((operations) => ({ base: '{"a":0}', updates: [operations] })),
];
