import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentialsOf } from './credentials.js';
import { UsageError } from './failures.js';

let folder: string;
const lines: string[] = [];
const warn = (line: string): number => lines.push(line);
const file = (text: string): string => {
  const path = join(folder, 'secret');
  writeFileSync(path, text, { mode: 0o600 });
  return path;
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'isochron-credentials-'));
  lines.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('credentialsOf takes secrets from the environment and from files, without a warning', () => {
  const env = { ISOCHRON_API_KEY: 'key', ISOCHRON_TOKEN: 'token' };
  expect(credentialsOf({}, env, warn)).toEqual({ apiKey: 'key', token: 'token' });
  expect(credentialsOf({ apiKeyFile: file('other\n') }, env, warn)).toEqual({ apiKey: 'other', token: 'token' });
  expect(credentialsOf({ tokenFile: file('t') }, { ISOCHRON_API_KEY: '' }, warn)).toEqual({ token: 't' });
  expect(lines).toEqual([]);
});

it('a file of a key or a token that other users can read is refused', () => {
  const path = file('key');
  chmodSync(path, 0o644);
  for (const options of [{ apiKeyFile: path }, { tokenFile: path }])
    expect(() => credentialsOf(options, {}, warn)).toThrow('has mode 644');
});

it('a secret among the arguments causes a warning that does not repeat it', () => {
  expect(credentialsOf({ apiKey: 'mine', token: 'ours' }, {}, warn)).toEqual({ apiKey: 'mine', token: 'ours' });
  expect(lines).toEqual([
    'warning: other users of this machine can read --api-key; use --api-key-file or ISOCHRON_API_KEY',
    'warning: other users of this machine can read --token; use --token-file or ISOCHRON_TOKEN',
  ]);
});

it('a secret that is given twice is refused', () => {
  expect(() => credentialsOf({ token: 'a', tokenFile: file('b') }, {}, warn)).toThrow(UsageError);
});
