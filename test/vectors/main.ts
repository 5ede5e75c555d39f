/** `npm run vectors`: writes the files that all SDKs' sessions must agree with. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { DEFAULTS, type GenerateOptions, generate } from './generate.js';

function whole(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

const { out, ...options } = new Command('vectors')
  .description('Drives the sessions of all protocols at random, and writes their events and states.')
  .option('--out <folder>', 'where to', 'sdk-swift/.vectors')
  .option('--seed <n>', 'seed of all draws', whole, DEFAULTS.seed)
  .option('--sequences <n>', 'number for each protocol', whole, DEFAULTS.sequences)
  .addHelpText('after', '\nExit code: 0 the files are written, 1 a failure or a wrong command line.')
  .parse()
  .opts<GenerateOptions & { out: string }>();

mkdirSync(out, { recursive: true });
// The tests would still read files of an earlier version.
for (const name of readdirSync(out))
  if (/^(sessions|steps|renewals|suspensions)-.+\.json$/.test(name)) rmSync(join(out, name));
const files = generate(options);
for (const { name, text } of files) writeFileSync(join(out, name), text);
const bytes = files.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
process.stdout.write(`${files.length} files, ${(bytes / 1e6).toFixed(1)} MB, in ${out}\n`);
