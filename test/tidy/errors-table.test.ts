import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_ADVICE } from '@isochron/core/error-advice';
import { type ErrorCode, HTTP_STATUS } from '@isochron/core/error-codes';
import { ERROR_CODES } from '@isochron/core/retryable-codes';
import { type ErrorFacts, errorTableFindings, parseErrorTable } from './errors-table.js';

const CODE_NAMES = Object.keys(ERROR_CODES) as ErrorCode[];
const FACTS = Object.fromEntries(
  CODE_NAMES.map((code) => [
    code,
    { status: HTTP_STATUS[code], retryable: ERROR_CODES[code], advice: ERROR_ADVICE[code] },
  ]),
);
const CODES: Readonly<Record<string, ErrorFacts>> = {
  KEY_INVALID: { status: 400, retryable: false, advice: 'Choose another key.' },
  OVERLOADED: { status: 503, retryable: true, advice: 'Try again.' },
};
const KEY_ROW = '| `KEY_INVALID` | 400 | no | Choose another key. |\n';
const LOAD_ROW = '| `OVERLOADED` | 503 | yes | Try again. |\n';

describe('ERRORS.md', () => {
  const document = readFileSync(join(__dirname, '../../ERRORS.md'), 'utf8');

  it("ERRORS.md documents exactly the codes that exist, with their status, whether to try again, and the node's advice", () => {
    expect(parseErrorTable(document).length).toBeGreaterThan(40);
    expect(errorTableFindings(document, FACTS)).toEqual([]);
  });

  it('ERRORS.md has its rows in the order of the code', () => {
    expect(parseErrorTable(document).map((row) => row.code)).toEqual(CODE_NAMES);
  });
});

describe('the comparison', () => {
  it('a table of errors that agrees with the code has no findings', () => {
    expect(errorTableFindings(KEY_ROW + LOAD_ROW, CODES)).toEqual([]);
  });

  it.each([
    ['a missing code', KEY_ROW, 'ERRORS.md: OVERLOADED is missing'],
    [
      'a code that does not exist',
      `${KEY_ROW}${LOAD_ROW}| \`GONE\` | 410 | no | x |`,
      'ERRORS.md: GONE does not exist',
    ],
    ['another status', KEY_ROW + LOAD_ROW.replace('503', '500'), 'ERRORS.md: the status of OVERLOADED is 503'],
    ['another retryable', KEY_ROW + LOAD_ROW.replace('yes', 'no'), 'ERRORS.md: retryable of OVERLOADED is true'],
    [
      'another advice',
      KEY_ROW + LOAD_ROW.replace('Try again.', 'Go away.'),
      'ERRORS.md: the advice of OVERLOADED is: Try again.',
    ],
    ['two rows of one code', KEY_ROW + KEY_ROW + LOAD_ROW, 'ERRORS.md: a code has two rows'],
  ])('a table of errors is found to have %s', (_what, table, finding) => {
    expect(errorTableFindings(table, CODES)).toEqual([finding]);
  });
});
