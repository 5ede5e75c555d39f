/** Merge patches (RFC 7396) on stored values. */
import { IsochronError } from '@isochron/core/errors';
import { DEFAULT_LIMITS } from '@isochron/core/limits';
import { applyMergePatch } from '@isochron/sdk/documents';
import { valueOut } from '../outward.js';

/** The examples of the RFC, and cases where JavaScript and Swift might differ. */
const CASES: readonly (readonly [string | Uint8Array | null, string])[] = [
  ['{"a":"b"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}'],
  ['{"a":"b"}', '{"a":null}'],
  ['{"a":"b","b":"c"}', '{"a":null}'],
  ['{"a":["b"]}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]'],
  ['{"a":"foo"}', 'null'],
  ['{"a":"foo"}', '"bar"'],
  ['{"e":null}', '{"a":1}'],
  ['[1,2]', '{"a":"b","c":null}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}'],
  [null, '{"a":{"b":null,"c":1}}'],
  [null, 'null'],
  ['{}', '{"__proto__":{"a":1}}'],
  ['{"__proto__":1,"b":2}', '{"__proto__":null}'],
  ['{"caf\u00e9":1}', '{"cafe\u0301":2}'],
  ['{"caf\u00e9":1,"cafe\u0301":2}', '{"cafe\u0301":null}'],
  ['{"a":1,"a":2}', '{"b":3}'],
  ['{"b":1,"a":2}', '{"c":3,"b":4}'],
  ['{"z":1,"y":{"x":2}}', '{"y":{"w":3}}'],
  ['{"a":9007199254740991,"b":-0.5,"c":1e21}', '{"d":true}'],
  ['{"a":"\\u2028\\ud834\\udd1e\\n\\"\\\\/"}', '{"b":"\\u0000"}'],
  [new Uint8Array([1]), '{"a":1}'],
];

/** `value` is null when the key has no value; `result`, or `refused` in its place, is the outcome of the patch. */
export const patches = (): object => ({
  patches: CASES.map(([value, patch]) => ({ value: valueOut(value), patch, ...patched(value, patch) })),
});

function patched(value: string | Uint8Array | null, patch: string): object {
  try {
    return { result: valueOut(applyMergePatch(value, JSON.parse(patch), DEFAULT_LIMITS)) };
  } catch (error) {
    if (error instanceof IsochronError) return { refused: error.code };
    throw error;
  }
}
