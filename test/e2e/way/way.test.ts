import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TIER } from '../../tier.js';
import { cleanUp } from '../harness.js';
import { ROOT, run } from '../processes.js';
import type { Ran } from './coverage.js';
import { added, leadingFiles, pageFindings, stepsOf } from './way.js';

jest.setTimeout(600_000);
afterAll(cleanUp);

/** The pages, in the order in which they are read: each explains what the pages before it do not. */
const PAGES = ['write', 'read', 'replicate', 'live'] as const;
type Measured = Readonly<Record<(typeof PAGES)[number] | 'idle', readonly Ran[]>>;

const pathOf = (page: string) => `docs/way/${page}.md`;
const textOf = (page: string) => readFileSync(join(ROOT, pathOf(page)), 'utf8');

/**
 * What coincides with a step, such as a checkpoint, differs from machine to machine: a page may need a line more or
 * less. So the smaller tiers check the links of the pages alone.
 */
const measuring = TIER === 'all' ? it : (it.skip as jest.It);

describe("the reader's way", () => {
  let measured: Measured;
  beforeAll(async () => {
    if (TIER !== 'all') return;
    const { code, stdout, stderr } = await run(process.execPath, [join(ROOT, 'test/dist/e2e/way/measure.js')], {
      timeoutMs: 500_000,
    });
    if (code !== 0) throw new Error(stderr);
    measured = JSON.parse(stdout) as Measured;
  });

  measuring.each(PAGES)('%s fits a screen, and every file and function of it ran', (page) => {
    expect(stepsOf(textOf(page)).length).toBeGreaterThan(10);
    expect(pageFindings(pathOf(page), textOf(page), Object.values(measured).flat())).toEqual([]);
  });

  measuring.each(PAGES)('%s links the files of each package with the most functions that it adds', (page) => {
    const before = PAGES.slice(0, PAGES.indexOf(page)).flatMap((earlier) => measured[earlier]);
    const leading = leadingFiles(added(measured[page], [...measured.idle, ...before]));
    expect(leading.length).toBeGreaterThan(2);
    const linked = new Set(stepsOf(textOf(page)).map(({ file }) => file));
    expect(leading.filter((file) => !linked.has(file))).toEqual([]);
  });

  it('a link to a file or a function that did not run is found', () => {
    const page = '# A\n\n1. [one.ts](../../a/src/one.ts) `go`,\n   `stop`; [two.ts](../../a/src/two.ts): both.\n';
    expect(stepsOf(page)).toEqual([
      { file: 'a/src/one.ts', functions: ['go', 'stop'] },
      { file: 'a/src/two.ts', functions: [] },
    ]);
    expect(pageFindings('p.md', page, [{ 'a/src/one.ts': ['#go'] }])).toEqual([
      'p.md: stop of a/src/one.ts did not run',
      'p.md: a/src/two.ts did not run',
    ]);
    expect(
      pageFindings('p.md', `${page}${'\n'.repeat(65)}x`, [{ 'a/src/one.ts': ['go', 'stop'], 'a/src/two.ts': ['x'] }]),
    ).toEqual(['p.md: has 70 lines, more than 65', 'p.md: names no function of a/src/two.ts']);
  });

  it('a leading file is found by the functions that ran every time, and only then', () => {
    const names = (...own: string[]) => own;
    const once = {
      'a/src/one.ts': names('b', 'c', 'd', 'e'),
      'a/src/two.ts': names('f'),
      'a/src/odd.ts': names('g', 'h'),
    };
    const again = { 'a/src/one.ts': names('b', 'c', 'd', 'e'), 'a/src/two.ts': names('f', 'i') };
    const functions = added([once, again], [{ 'a/src/one.ts': ['e'] }]);
    expect([...functions]).toEqual(['b', 'c', 'd'].map((name) => `a/src/one.ts ${name}`).concat('a/src/two.ts f'));
    expect(leadingFiles(functions)).toEqual(['a/src/one.ts']);
    expect(leadingFiles(new Set([...functions, 'packages/core/src/x.ts y']))).toEqual(['a/src/one.ts']);
  });
});
