import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CHILD_ENV, childScript } from '@isochron/testing/storage/child-script';
import { testFolder } from '@isochron/testing/storage/folder';
import type { MemoryRound } from '@isochron/testing/storage/memory-child';

jest.setTimeout(300_000);

const LIMIT = 64 * 2 ** 20;
const ROUNDS = 3;

describe('the memory of keys', () => {
  it('keys of all sizes that come, change and go take no more memory than the limit, within a tenth', async () => {
    const location = await testFolder('memory');
    const seed = Number(process.env.SEED ?? randomInt(2 ** 31));
    console.log(`keys by seed ${seed}; SEED=${seed} repeats them`);
    const script = await childScript('memory-child.ts', location);
    const args = ['--expose-gc', script, join(location, 'data'), String(seed), String(LIMIT), String(ROUNDS)];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: CHILD_ENV });
    await rm(location, { recursive: true });
    const rounds = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as MemoryRound);
    console.table(rounds);
    expect(rounds.length).toBe(ROUNDS);
    for (const { grown, counted, limit } of rounds) {
      // Not all keys fit.
      expect(counted).toBeGreaterThan(0.95 * limit);
      expect(grown).toBeLessThan(1.1 * limit);
      // What the store counts is what is there.
      expect(Math.abs(grown - counted)).toBeLessThan(0.1 * limit);
    }
  });
});
