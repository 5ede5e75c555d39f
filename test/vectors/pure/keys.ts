/** Names: qualified keys, their order and limits, transaction ids, timestamps. */
import { IsochronError } from '@isochron/core/errors';
import { isTimestamp, MAX_TIMESTAMP, wallOf } from '@isochron/core/hlc';
import { isTxId, qualify, txIdOf, unqualify } from '@isochron/core/ids';
import { DEFAULT_LIMITS } from '@isochron/core/limits';
import { compareKeys } from '@isochron/core/versions';
import { checkKey } from '@isochron/sdk/documents';

/**
 * The same word in two spellings, an accent on its own, characters beyond the basic plane, and those around the
 * surrogates.
 */
const TEXTS = [
  'a',
  'A',
  'todos/1',
  'a//b',
  '/',
  ' ',
  'caf\u00e9',
  'cafe\u0301',
  '\u0301',
  '\u0301/x',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\u{10000}',
  '\u{10ffff}',
  '\u{1d11e}a',
  '\u0000',
  'a\u0000',
  '\u1112\u1161\u11ab',
  '\ud55c',
  '\u{1f469}\u200d\u{1f680}',
] as const;

const TX_IDS = [
  'AAAAAAAAAAAAAAAAAAAAAA.0',
  'abcdefghijklmnop.z',
  'abcdefghijklmno.z',
  `${'x'.repeat(64)}.00000000000`,
  `${'x'.repeat(65)}.0`,
  `${'x'.repeat(64)}.000000000000`,
  'AAAAAAAAAAAAAAAA.',
  'AAAAAAAAAAAAAAAA',
  'AAAAAAAAAAAAAAAA.A',
  'AAAAAAAAAAAAAAAA.0.0',
  'AAAAAAAAAAAAAAA+.0',
  'AAAAAAAAAAAAAA_-.0',
  'AAAAAAAAAAAAAAA\u00e9.0',
  'AAAAAAAAAAAAAAAA.0\u0301',
  'AAAAAAAAAAAAAAAA.0\n',
  ' AAAAAAAAAAAAAAAA.0',
  '',
  '.',
];

const TIMESTAMPS = [0, 1, -1, 4096, MAX_TIMESTAMP - 1, MAX_TIMESTAMP, MAX_TIMESTAMP + 1, 2 ** 53 - 1];

export function keys(): object {
  return {
    qualified: ['default', 'notes'].flatMap((keyspace) => TEXTS.map((key) => qualifiedOf(keyspace, key))),
    order: TEXTS.flatMap((a) => TEXTS.map((b) => ({ a, b, order: Math.sign(compareKeys(a, b)) }))),
    prefixes: TEXTS.flatMap((text) => TEXTS.map((prefix) => ({ text, prefix, has: text.startsWith(prefix) }))),
    limits: limits(),
    txIds: [...TX_IDS, ...TEXTS].map((text) => ({ text, isTxId: isTxId(text) })),
    madeTxIds: [0, 9, 10, 35, 36, 1295, 1296, 2 ** 53 - 1].map((counter) =>
      madeTxId('AAAAAAAAAAAAAAAAAAAAAA', counter),
    ),
    timestamps: TIMESTAMPS.map((number) => ({ number, isTimestamp: isTimestamp(number) })),
    walls: TIMESTAMPS.filter(isTimestamp).map((timestamp) => ({ timestamp, wallMs: wallOf(timestamp) })),
  };
}

function qualifiedOf(keyspace: string, key: string): object {
  const qualified = qualify(keyspace, key);
  return { keyspace, key, qualified, unqualified: unqualify(qualified) };
}

const madeTxId = (session: string, counter: number): object => ({ session, counter, id: txIdOf(session, counter) });

/** `problem` is absent for a valid key. */
function limits(): object[] {
  const keysOf = (count: number) => ['a', '\u00e9', 'e\u0301', '\u{1d11e}'].map((text) => text.repeat(count));
  return ['', ...[1, 2, 3, 4].flatMap(keysOf)].flatMap((key) =>
    [1, 2, 3, 4, 8, 1024].map((maxKeyBytes) => ({ key, maxKeyBytes, ...problemOf(key, maxKeyBytes) })),
  );
}

function problemOf(key: string, maxKeyBytes: number): { problem?: 'empty' | 'tooLong' } {
  try {
    checkKey(key, { ...DEFAULT_LIMITS, maxKeyBytes });
    return {};
  } catch (error) {
    if (!(error instanceof IsochronError)) throw error;
    return { problem: key === '' ? 'empty' : 'tooLong' };
  }
}
