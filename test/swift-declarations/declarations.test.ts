/**
 * The Swift declarations that are generated from the TypeScript declarations. `REWRITE=1` writes the files: review the
 * difference.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clientFrames } from './client-frames.js';
import { clientTimes, timeOptions } from './client-times.js';
import { errorCodes } from './error-codes.js';
import { limits } from './limits.js';
import { serverFrames } from './server-frames.js';
import { filled } from './swift.js';

const ROOT = join(__dirname, '../..');
const FILES = [errorCodes(), limits(), clientTimes(), timeOptions(), serverFrames(), clientFrames()];

describe('the generated Swift declarations', () => {
  it.each(FILES.map(({ path, text }) => [path, text]))('%s agrees with the TypeScript declarations', (path, text) => {
    if (process.env.REWRITE === '1') writeFileSync(join(ROOT, path), text);
    else expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text);
  });

  it('the folders of generated declarations have no other file', () => {
    const folders = new Set(FILES.map(({ path }) => dirname(path)));
    const present = [...folders].flatMap((folder) =>
      readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`),
    );
    expect(present.sort()).toEqual(FILES.map(({ path }) => path).sort());
  });

  it('comments fill lines of at most 120 characters, and break between words', () => {
    const words = Array.from({ length: 50 }, (_, i) => 'x'.repeat(1 + (i % 9))).join(' ');
    const lines = filled('    /// ', words);
    expect(lines.map((line) => line.slice('    /// '.length)).join(' ')).toBe(words);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120);
    expect(lines.length).toBe(Math.ceil((words.length + 1) / 113));
  });
});
