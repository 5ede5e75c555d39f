/** Plays the scenarios of `testdata`. `REWRITE=1` writes what they show now over what they expect: review the difference. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { playScript, scriptDifferences } from '../testing/script.js';

const FOLDER = join(__dirname, 'testdata');
const scripts = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.txt'))
  .map((file) => ({ file, text: readFileSync(join(FOLDER, file), 'utf8') }));

/** The first line of a script says what it shows. */
const claimOf = (text: string): string => text.slice(0, text.indexOf('\n')).replace(/^#\s*/, '');

describe('PaRiS: scenarios', () => {
  it.each(scripts.map(({ file, text }) => [claimOf(text), file, text]))('%s [%s]', (_claim, file, text) => {
    const played = playScript(file, text);
    if (process.env.REWRITE === '1') writeFileSync(join(FOLDER, file), played);
    else expect(scriptDifferences(file, text, played)).toBe('');
  });
});
