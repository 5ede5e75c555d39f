import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reaching } from './client.js';

it('a file with credentials is read each time when the client needs some, so that a newer token is found', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'credentials-'));
  try {
    const apiKeyFile = join(folder, 'token');
    const { auth, credentials } = reaching({ apiKey: 'first', apiKeyFile });
    expect(credentials).toBeUndefined();
    for (const token of ['first', 'second']) {
      writeFileSync(apiKeyFile, `${token}\n`, { mode: 0o600 });
      expect(await auth!()).toBe(token);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('credentials of the environment are given as they are', () => {
  expect(reaching({ apiKey: 'key', ca: 'pem' })).toEqual({ credentials: 'key', ca: 'pem' });
  expect(reaching({})).toEqual({});
});
