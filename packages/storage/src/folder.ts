import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './failure.js';

/** Only the user of the node reads its data. */
const MODE = 0o700;

/**
 * Makes a folder and those above it, for this user only. Not with `recursive`: where a parent refuses children with
 * `ENOENT` (`/proc` does), Node would try for ever.
 */
export async function makeFolder(location: string): Promise<void> {
  try {
    await mkdir(location, MODE);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') return; // a file of that name is noticed when the folder is used
    if (code !== 'ENOENT' || dirname(location) === location) throw error;
    await makeFolder(dirname(location));
    await mkdirUnlessThere(location);
  }
}

/** Another process may have made it meanwhile. */
async function mkdirUnlessThere(location: string): Promise<void> {
  try {
    await mkdir(location, MODE);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
