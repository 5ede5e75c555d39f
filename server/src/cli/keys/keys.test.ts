import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeBlocks } from '../../../../test/tidy/pages.js';
import { digestOf } from '../../auth/api-keys.js';
import { parseAuthFile } from '../../auth/auth-file.js';
import { runCli } from '../program.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'isochron-keys-'));
  file = join(folder, 'auth.yaml');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function run(...args: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const spies = [process.stdout, process.stderr].map((stream) => jest.spyOn(stream, 'write').mockReturnValue(true));
  try {
    const exitCode = await runCli(args);
    const [stdout, stderr] = spies.map((spy) => spy.mock.calls.map(([text]) => String(text)).join(''));
    return { exitCode, stdout: stdout!, stderr: stderr! };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
const keys = (...args: string[]) => run('keys', ...args, '--file', file);
const keysInFile = () => parseAuthFile(readFileSync(file, 'utf8'), file).keys;

describe('isochron keys', () => {
  it('keys add prints a new key alone, and writes its hash to a file for its user alone', async () => {
    const { stdout } = await keys('add', 'billing', '--roles', 'reader', '--expires', '2030-01-31');
    const apiKey = stdout.trim();
    expect(stdout).toBe(`${apiKey}\n`);
    expect(keysInFile()).toMatchObject([
      { principal: 'billing', hash: digestOf(apiKey), expiresAt: Date.UTC(2030, 0, 31) },
    ]);
    expect(readFileSync(file, 'utf8')).not.toContain(apiKey);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['auth.yaml']);
  });

  it('keys add keeps all else in the file, with its comments, and a link to it', async () => {
    const target = join(folder, 'real.yaml');
    const issuers =
      '# People sign in here.\nissuers:\n  - { issuer: "https://a", audience: b, jwks: "https://a/k" } # ours\n';
    writeFileSync(target, issuers);
    symlinkSync(target, file);
    await keys('add', 'billing');
    await keys('add', 'billing');
    const text = readFileSync(target, 'utf8');
    for (const comment of ['# People sign in here.', '# ours']) expect(text).toContain(comment);
    expect(keysInFile()).toHaveLength(2);
    expect(parseAuthFile(text, file).issuers).toHaveLength(1);
  });

  it('keys list prints each key by its hash, with its roles and whether its time is over', async () => {
    expect((await keys('add', 'billing', '--expires', '2020-01-31')).exitCode).toBe(0);
    const { stdout } = await keys('list');
    for (const text of [keysInFile()[0]!.hash.slice(0, 8), 'billing', 'reader, writer', '2020-01-31', '(over)'])
      expect(stdout).toContain(text);
    expect(stdout).not.toContain(keysInFile()[0]!.hash);
  });

  it('keys revoke removes the key with this hash, or all of a principal, and no other', async () => {
    for (const principal of ['a', 'b', 'b', 'c', 'a']) await keys('add', principal);
    const [first, , , , last] = keysInFile();
    expect((await keys('revoke', first!.hash.slice(0, 8))).stdout).toContain(`revoked ${first!.hash.slice(0, 8)} of a`);
    expect(keysInFile().map(({ principal }) => principal)).toEqual(['b', 'b', 'c', 'a']);
    await keys('revoke', 'b');
    expect(keysInFile().map(({ hash }) => hash)).toEqual([expect.any(String), last!.hash]);
  });

  it.each([
    ['a principal that is none', ['add', 'a#b'], 1, 'name of the principal'],
    ['a role that is none', ['add', 'a', '--roles', 'admin'], 2, 'Expected some of operator, reader, writer'],
    ['a date that is none', ['add', 'a', '--expires', 'soon'], 1, 'expected a date'],
    ['a file that is missing', ['list'], 1, 'ENOENT'],
  ])('keys is refused with the reason for %s, and writes nothing', async (_what, args, exitCode, stderr) => {
    expect(await keys(...args)).toMatchObject({ exitCode, stderr: expect.stringContaining(stderr), stdout: '' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('keys revoke is refused for a key that the file does not have', async () => {
    await keys('add', 'a');
    for (const name of ['b', '00000000'])
      expect(await keys('revoke', name)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('has no key') });
    expect(keysInFile()).toHaveLength(1);
  });

  it('the commands of docs/security.md work on its file', async () => {
    const page = 'docs/security.md';
    const blocks = codeBlocks(page, readFileSync(page, 'utf8'));
    const codeOf = (kind: string): string => blocks.find((block) => block.kind === kind)!.code;
    writeFileSync(file, codeOf('auth'));
    for (const line of codeOf('keys').split('\n')) {
      const [, ...args] = line.replace('--file auth.yaml', `--file ${file}`).split(' ');
      expect(await run(...args)).toMatchObject({ exitCode: 0 });
    }
    expect(keysInFile()).toHaveLength(1);
  });
});
