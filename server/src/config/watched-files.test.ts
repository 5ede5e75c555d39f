import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { watchFiles } from './watched-files.js';

const POLL_MS = 10;

let folder: string;
let stop: () => void = () => undefined;
let changes = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'isochron-watched-'));
  changes = 0;
});
afterEach(() => {
  stop();
  rmSync(folder, { recursive: true, force: true });
});

const watch = async (...names: string[]): Promise<void> => {
  stop = watchFiles(
    names.map((name) => join(folder, name)),
    () => changes++,
    POLL_MS,
  );
  // The first look is what later ones are compared with.
  await delay(5 * POLL_MS);
};

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);

async function seen(count: number): Promise<void> {
  for (let i = 0; i < 500 && changes < count; i++) await delay(POLL_MS);
  expect(changes).toBe(count);
}

describe('watched files', () => {
  it('files that do not change are not reported', async () => {
    write('a', '1');
    await watch('a');
    await delay(10 * POLL_MS);
    expect(changes).toBe(0);
  });

  it('a file that is written, replaced, deleted or made again is reported each time', async () => {
    write('a', '1');
    await watch('a');
    write('a', '2');
    await seen(1);
    write('b', '2');
    renameSync(join(folder, 'b'), join(folder, 'a'));
    await seen(2);
    unlinkSync(join(folder, 'a'));
    await seen(3);
    write('a', '2');
    await seen(4);
  });

  it('a link that is turned to another folder is reported', async () => {
    for (const name of ['one', 'two']) {
      mkdirSync(join(folder, name));
      write(`${name}/a`, name);
    }
    symlinkSync('one', join(folder, 'now'));
    await watch('now/a');
    symlinkSync('two', join(folder, 'next'));
    renameSync(join(folder, 'next'), join(folder, 'now'));
    await seen(1);
  });

  it('files that are replaced one right after the other are reported once', async () => {
    write('a', '1');
    write('b', '1');
    await watch('a', 'b');
    write('a', '2');
    write('b', '2');
    await seen(1);
    await delay(10 * POLL_MS);
    expect(changes).toBe(1);
  });
});
