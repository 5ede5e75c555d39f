/** The expected contents of an HTTP answer, and their check. */
import { type ValueRule, verify } from './values.js';

export type Expected =
  /** The document of the key. */
  | { readonly of: 'value'; readonly key: string }
  /** `values`, one for each key, in order. */
  | { readonly of: 'values'; readonly keys: readonly string[] }
  /** `count` entries, each with its key. */
  | { readonly of: 'entries'; readonly count: number }
  /** The `timestamp` of a commit. */
  | { readonly of: 'commit' }
  | { readonly of: 'nothing' };

interface Answer {
  readonly values?: readonly ({ readonly value: unknown } | null)[];
  readonly entries?: readonly { readonly key: string; readonly value: unknown }[];
  readonly timestamp?: unknown;
}

/** @throws Error for an answer with other contents */
export function checkAnswer(rule: ValueRule, expected: Expected, body: string): void {
  const answer = body === '' ? undefined : (JSON.parse(body) as Answer);
  switch (expected.of) {
    case 'nothing':
      expectThat(answer === undefined, expected, body);
      break;
    case 'value':
      verify(rule, expected.key, answer);
      break;
    case 'commit':
      expectThat(Number.isSafeInteger(answer?.timestamp), expected, body);
      break;
    case 'entries':
      expectThat(answer?.entries?.length === expected.count, expected, body);
      for (const { key, value } of answer?.entries ?? []) verify(rule, key, value);
      break;
    case 'values':
      expectThat(answer?.values?.length === expected.keys.length, expected, body);
      for (const [i, key] of expected.keys.entries()) verify(rule, key, answer?.values?.[i]?.value);
  }
}

function expectThat(holds: boolean, expected: Expected, body: string): void {
  if (!holds) throw new Error(`expected ${JSON.stringify(expected).slice(0, 200)}, got ${body.slice(0, 200)}`);
}
