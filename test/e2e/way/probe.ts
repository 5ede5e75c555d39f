/**
 * Counts the calls of functions in this process, and writes the functions that ran since the last time to a file, at
 * every SIGUSR2. Loaded with `--import` into the processes of nodes.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Coverage } from './coverage.js';

const folder = process.env.ISOCHRON_WAY_FOLDER;
if (folder === undefined) throw new Error('ISOCHRON_WAY_FOLDER names the folder of the files');
const coverage = new Coverage();
let taken = 0;
process.on('SIGUSR2', () => {
  const file = join(folder, `${process.pid}-${taken++}.json`);
  writeFileSync(`${file}.part`, JSON.stringify(coverage.take()));
  renameSync(`${file}.part`, file);
});
