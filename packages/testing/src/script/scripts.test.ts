/**
 * Plays the scenarios of all protocols: every file of their `testdata` folders. `REWRITE=1` replaces the expected
 * output by the present one: review the difference. `-t wren` plays those of one protocol.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { playScript, scriptDifferences } from './script.js';

const PROTOCOLS = join(__dirname, '../../../protocols/src');

/** The claim of a script: its first paragraph. */
const claimOf = (text: string): string =>
  /^(?:# .*\n)+/
    .exec(text)![0]
    .replace(/^# |\n$/g, '')
    .replaceAll('\n# ', ' ');

const folders = readdirSync(PROTOCOLS).filter((name) => existsSync(join(PROTOCOLS, name, 'testdata')));

describe.each(folders)('%s: scenarios', (protocol) => {
  const folder = join(PROTOCOLS, protocol, 'testdata');
  const scripts = readdirSync(folder)
    .filter((file) => file.endsWith('.txt'))
    .map((file) => ({ file, text: readFileSync(join(folder, file), 'utf8') }));

  it.each(scripts.map(({ file, text }) => [claimOf(text), file, text]))(
    'the scenario shows: %s [%s]',
    (_claim, file, text) => {
      const played = playScript(file, text);
      if (process.env.REWRITE === '1') writeFileSync(join(folder, file), played);
      else expect(scriptDifferences(file, text, played)).toBe('');
    },
  );
});
