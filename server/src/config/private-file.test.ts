import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openToOthers, readPrivate } from './private-file.js';

describe('a file with a secret', () => {
  const folder = mkdtempSync(join(tmpdir(), 'isochron-private-'));
  const path = join(folder, 'secret');
  const isRoot = process.getuid?.() === 0;
  beforeAll(() => {
    writeFileSync(path, 'text');
    if (isRoot) chownSync(path, 1, 1);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([0o600, 0o400])('a file with a secret that its owner alone can read is read: mode %i', (mode) => {
    chmodSync(path, mode);
    expect(readPrivate(path, (reason) => new Error(reason))).toBe('text');
  });

  it.each([
    [0o644, '644'],
    [0o640, '640'],
    [0o604, '604'],
    [0o602, '602'],
    [0o660, '660'],
  ])('a file with a secret that others can use is refused, with its mode and what to do: mode %i', (mode, shown) => {
    chmodSync(path, mode);
    const reason = `${path} has mode ${shown}, so that other users of this machine can use it: chmod 600 ${path}`;
    expect(openToOthers(path)).toBe(reason);
    expect(() => readPrivate(path, (text) => new Error(text))).toThrow(reason);
  });

  (isRoot ? it : it.skip)('the group may read a file of root, as of a mounted secret with a group', () => {
    chownSync(path, 0, 1);
    for (const mode of [0o440, 0o640]) {
      chmodSync(path, mode);
      expect(openToOthers(path)).toBeUndefined();
    }
    for (const mode of [0o444, 0o460]) {
      chmodSync(path, mode);
      expect(openToOthers(path)).toContain('chmod 600');
    }
  });

  it('a pipe or a device is no file of others', () => {
    expect(openToOthers('/dev/null')).toBeUndefined();
  });
});
