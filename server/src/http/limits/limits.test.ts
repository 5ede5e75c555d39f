import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_NODE_LIMITS, isLimit } from './limits.js';

/** Their defaults depend on the machine. */
const MEMORY = ['heapBytes', 'rssBytes'];

it('the page about HTTP names every limit with its default', () => {
  const page = readFileSync(join(__dirname, '../README.md'), 'utf8');
  const rows = [...page.matchAll(/^\| ((?:`[A-Za-z]+`(?:, )?)+) +\| ([^|]+?) +\|/gm)].map(([, names, defaults]) => ({
    names: [...names!.matchAll(/[A-Za-z]+/g)].map(([name]) => name),
    defaults: defaults!.split(', ').map(Number),
  }));
  const limits = rows.filter(({ names }) => names.every(isLimit));
  const documented = limits.flatMap(({ names, defaults }) => names.map((name, i) => [name, defaults[i]] as const));
  const fixed = ([name]: readonly [string, unknown]) => !MEMORY.includes(name);
  expect(documented.map(([name]) => name).sort()).toEqual(Object.keys(DEFAULT_NODE_LIMITS).sort());
  expect(Object.fromEntries(documented.filter(fixed))).toEqual(
    Object.fromEntries(Object.entries(DEFAULT_NODE_LIMITS).filter(fixed)),
  );
});
