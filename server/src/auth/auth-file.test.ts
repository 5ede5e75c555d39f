import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IsochronError } from '@isochron/core';
import fc from 'fast-check';
import { codeBlocks } from '../../../test/tidy/pages.js';
import { AuthFile, parseAuthFile } from './auth-file.js';

const HASH = 'a'.repeat(64);
const GOOD = `issuers:
  - issuer: https://login.example
    audience: isochron
    jwks: https://login.example/jwks.json
keys:
  - { principal: billing, hash: ${HASH}, roles: [reader], expires: 2030-01-31 }
`;

function refusal(text: string): string {
  try {
    parseAuthFile(text, 'auth.yaml');
  } catch (error) {
    if (error instanceof IsochronError && error.code === 'CONFIG_INVALID') return error.message;
    throw error;
  }
  throw new Error('the file was accepted');
}

describe('a file of credentials', () => {
  it('a file of credentials is read with every default filled in', () => {
    const { issuers, keys } = parseAuthFile(GOOD, 'auth.yaml');
    expect(issuers).toMatchObject([{ clockToleranceS: 5, rolesClaim: undefined }]);
    expect(issuers[0]!.algorithms).not.toContain('HS256');
    expect(keys).toMatchObject([{ principal: 'billing', expiresAt: Date.UTC(2030, 0, 31), claims: {} }]);
  });

  const bad = (what: string, find: string, replace: string, message: string): [string, string, string] => [
    what,
    GOOD.replace(find, replace),
    message,
  ];
  it.each([
    bad(
      'an unknown field',
      'audience:',
      'jwk: x\n    audience:',
      ':3: unknown field "jwk"; known here: issuer, audience',
    ),
    bad('no audience', '    audience: isochron\n', '', ':2: "issuers.0.audience" is missing'),
    bad('keys over plain HTTP', 'https://login.example/jwks', 'http://login.example/jwks', ':4: "http://login'),
    bad('no keys of an issuer', '    jwks: https://login.example/jwks.json\n', '', ':2: an issuer has either "jwks"'),
    bad('a symmetric algorithm', 'audience:', 'algorithms: [HS256]\n    audience:', ':3: "issuers.0.algorithms.0"'),
    bad('the algorithm none', 'audience:', 'algorithms: [none]\n    audience:', ':3: "issuers.0.algorithms.0"'),
    bad('a key instead of its hash', HASH, 'isochron_secret', ':6: "keys.0.hash" is not valid: expected SHA-256'),
    bad('an unknown role', '[reader]', '[admin]', ':6: "keys.0.roles.0" is not valid: expected role: operator'),
    bad('a date that is none', '2030-01-31', 'soon', ':6: "soon" is not valid: expected a date'),
    bad('a principal with #', 'billing', '"a#b"', ':6: "keys.0.principal" is not valid'),
    bad('an issuer with #', 'issuer: https://login.example', 'issuer: "https://a#b"', ':2: "issuers.0.issuer" is not'),
    bad(
      'a private key',
      'jwks: https://login.example/jwks.json',
      'keys: [{ kty: EC, d: x }]',
      ':4: "issuers.0.keys.0.d"',
    ),
    bad('a secret key', 'jwks: https://login.example/jwks.json', 'keys: [{ kty: oct, k: x }]', ':4: "issuers.0.keys.0'),
    bad(
      'roles in the subject',
      'audience:',
      'rolesClaim: sub\n    audience:',
      ':3: "sub" is not valid: expected the name',
    ),
    bad('roles in no claim', 'audience:', 'rolesClaim: realm..roles\n    audience:', ':3: "realm..roles" is not valid'),
    bad('broken YAML', 'keys:', 'keys: [', ':'),
  ])('a file of credentials is refused, with its line and the reason, for this fault: %s', (_what, text, message) => {
    expect(text).not.toBe(GOOD);
    expect(refusal(text)).toContain(`auth.yaml${message}`);
  });

  it('a file of credentials is refused where it has an issuer or a hash twice', () => {
    expect(refusal(`${GOOD}  - { principal: other, hash: ${HASH}, roles: [] }\n`)).toContain(':7: the hash');
  });

  it('the file of docs/security.md is read', () => {
    const page = 'docs/security.md';
    const block = codeBlocks(page, readFileSync(page, 'utf8')).find(({ kind }) => kind === 'auth')!;
    const { issuers, keys } = parseAuthFile(block.code, page);
    expect([issuers.length, keys.length]).toEqual([1, 1]);
  });

  it('any text is read as a file of credentials or refused with its line', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom('issuers:', 'keys:', '\n', '  - ', ' hash: ', '{', '}', '&a', '*a'),
    );
    fc.assert(
      fc.property(
        fc.array(piece).map((pieces) => pieces.join('')),
        (text) => {
          try {
            parseAuthFile(text, 'auth.yaml');
          } catch (error) {
            expect(error).toMatchObject({
              code: 'CONFIG_INVALID',
              message: expect.stringMatching(/^auth\.yaml:\d+: ./),
            });
          }
        },
      ),
    );
  });
});

describe('a file of credentials that changes', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'isochron-auth-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it('a changed file is in use within a moment, and a bad one leaves the former in use', async () => {
    const path = join(dir, 'auth.yaml');
    writeFileSync(path, GOOD);
    const errors: unknown[] = [];
    const file = new AuthFile(path, { info: () => undefined, error: (fields: unknown) => void errors.push(fields) });
    const versions: number[] = [];
    file.onChange(({ keys }) => void versions.push(keys.length));
    file.watch(5);
    const until = async (holds: () => boolean): Promise<void> => {
      while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    await new Promise((resolve) => setTimeout(resolve, 30));
    writeFileSync(path, `${GOOD}  - { principal: other, hash: ${'b'.repeat(64)}, roles: [] }\n`);
    await until(() => versions.length === 1);
    writeFileSync(path, 'keys: what');
    await until(() => file.counts.failures === 1);
    expect(file.current.keys).toHaveLength(2);
    expect(file.counts).toEqual({ failures: 1, reloads: 1 });
    expect(errors).toMatchObject([{ err: { code: 'CONFIG_INVALID' } }]);
    rmSync(path);
    await until(() => file.counts.failures === 2);
    expect(versions).toEqual([2]);
    file.close();
  });

  it('a file that is missing at the start is refused', () => {
    const quiet = { info: () => undefined, error: () => undefined };
    expect(() => new AuthFile(join(dir, 'none'), quiet)).toThrow('cannot be read');
  });
});
