/** Packages that `npm ci` has installed, for the tests to run or to link. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './processes.js';

/** The folder of an installed package: npm puts it beside the tests, or higher up. */
export function installed(name: string): string {
  const folders = [join(ROOT, 'test/node_modules', name), join(ROOT, 'node_modules', name)];
  const folder = folders.find((candidate) => existsSync(candidate));
  if (folder === undefined) throw new Error(`${name} is not installed`);
  return folder;
}
