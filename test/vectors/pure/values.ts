/** Bytes as text, and back. */

import { fromBase64, toBase64 } from '@isochron/client/encoding';
import type { Random } from '@isochron/core';

/** Unusual texts that `atob` accepts, and texts that it refuses. */
const TEXTS = [
  '',
  'QQ==',
  'QQ',
  'QQ=',
  'Q',
  'Q===',
  'QQ===',
  'QR==',
  'QUI=',
  'QUI',
  'QUJD',
  ' Q U\tJ\nD\r\f',
  'QUJD====',
  'QU=D',
  '=QUJ',
  '====',
  '==',
  '=',
  'QUJ-',
  'QUJ_',
  '+/+/',
  'QUJ\u00e9',
  'QUJD\u00a0',
  'QUJD\u0000',
  'QUJ\u0301',
  'AAAAAAAAAAAA\u000b',
];

export function values(random: Random): object {
  const drawn = Array.from({ length: 40 }, (_, length) => Array.from({ length }, () => random.below(256)));
  return {
    encoded: drawn.map((bytes) => ({ bytes, base64: toBase64(Uint8Array.from(bytes)) })),
    /** `bytes` is absent for a text that is not base64. */
    decoded: TEXTS.map((base64) => ({ base64, ...decoded(base64) })),
  };
}

function decoded(base64: string): { bytes?: number[] } {
  try {
    return { bytes: [...fromBase64(base64)] };
  } catch (error) {
    // Of another realm in Jest: `instanceof` is false for every class here.
    if (/^InvalidCharacterError/.test(String(error))) return {};
    throw error;
  }
}
